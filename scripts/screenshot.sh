#!/bin/sh
# Pictures of a built report for a look: every PDF page and the HTML. usage: screenshot.sh REPORT_FOLDER OUT_FOLDER
set -eu
mkdir -p "$2"
pdftoppm -r 70 -png "$1/report.pdf" "$2/page"
profile=$(mktemp -d)
trap 'rm -rf "$profile"' EXIT
for scheme in light dark; do
  dark=''
  [ $scheme = dark ] && dark='--blink-settings=preferredColorScheme=0'
  chromium --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update \
    --disable-sync --hide-scrollbars --user-data-dir="$profile" $dark --window-size=1100,3600 \
    --screenshot="$2/$scheme.png" "file://$(realpath "$1")/report.html" >/dev/null 2>&1
done
ls "$2"
