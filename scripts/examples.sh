#!/bin/sh
# Writes the demo's logs again from their scenarios. usage: examples.sh RLREPORT
set -eu
for run in qwen3-30b/r48 qwen3-30b/r32; do
  "$1" simulate "examples/$run.yaml" -o "examples/$run"
done
