#!/bin/sh
# Sets up everything for the two commands of the README: system libraries, a virtual environment, the locked dependencies.
# usage: setup.sh VENV
set -eu
venv=$1

say() { printf 'setup: %s\n' "$*"; }

# What the PDF needs from the system, and a font that the pages are drawn with.
packages=''
need() { packages="$packages $1"; }
has_library() { ldconfig -p 2>/dev/null | grep -q "$1" || ls /usr/lib/*/"$1"* >/dev/null 2>&1; }
PATH=$PATH:/usr/sbin:/sbin
has_library libpango-1.0.so.0 || need libpango-1.0-0
has_library libpangoft2-1.0.so.0 || need libpangoft2-1.0-0
has_library libharfbuzz-subset.so.0 || need libharfbuzz-subset0
ls /usr/share/fonts/*/inter /usr/share/fonts/*/*/Inter* >/dev/null 2>&1 || need fonts-inter
ls /usr/share/fonts/truetype/dejavu/DejaVuSans.ttf >/dev/null 2>&1 || need fonts-dejavu-core
# Labels in Chinese are common; this is a small font that has their characters.
ls /usr/share/fonts/truetype/wqy /usr/share/fonts/opentype/noto/NotoSansCJK* >/dev/null 2>&1 || need fonts-wqy-microhei

python=''
for candidate in python3.13 python3.12 python3.11 python3 python3.14; do
  if command -v "$candidate" >/dev/null 2>&1 &&
    "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    python=$candidate
    break
  fi
done
if [ -z "$python" ]; then
  say "Python 3.11 or newer is needed and was not found: apt-get install python3 python3-venv" >&2
  exit 1
fi
"$python" -c 'import ensurepip, venv' 2>/dev/null || need "$("$python" -c 'import sys; print(f"python{sys.version_info[0]}.{sys.version_info[1]}-venv")')"

if [ -n "$packages" ]; then
  as_root=''
  if [ "$(id -u)" != 0 ]; then
    if command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then as_root='sudo -n'; else as_root=no; fi
  fi
  if [ "$as_root" = no ] || ! command -v apt-get >/dev/null 2>&1; then
    say "system packages are missing and may not be installed by this user; ask for: apt-get install$packages" >&2
  else
    say "installing$packages"
    $as_root apt-get update -q >/dev/null
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -q --no-install-recommends $packages >/dev/null
  fi
fi

[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
say "installing the locked dependencies into $venv"
"$venv/bin/python" -m pip install -q --disable-pip-version-check --require-hashes -r requirements.lock
"$venv/bin/python" -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
touch "$venv/.ready"
