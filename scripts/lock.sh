#!/bin/sh
# Writes requirements.lock from pyproject.toml. usage: lock.sh BIN
set -eu
"$1/python" -m pip install -q pip-tools
CUSTOM_COMPILE_COMMAND='make lock' "$1/pip-compile" -q --strip-extras --allow-unsafe --generate-hashes --extra dev --no-emit-index-url \
  --no-emit-find-links --no-emit-trusted-host --output-file requirements.lock pyproject.toml
