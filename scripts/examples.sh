#!/bin/sh
# Writes the demo's logs again from their scenarios. usage: examples.sh RLREPORT
set -eu
for run in qwen3-30b/r48 qwen3-30b/r32 qwen3-omni/r8t8 qwen3-omni/r8t16-wu2 qwen3-omni/r8t16-wu2-tok30k \
  qwen3.5-35b/s03 qwen3.5-35b/s05 qwen3.5-35b/s07; do
  "$1" simulate "examples/$run.yaml" -o "examples/$run"
done
