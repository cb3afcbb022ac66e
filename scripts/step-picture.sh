#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes docs/step-in-time.png: the page of a simulated step of DeepSeek-V3 671B, from the YAML as it
# is, as headless Chromium shows it; and docs/memory-page.png, the page about the memory of that step.
# usage: scripts/step-picture.sh [YAML] [PICTURE] [PICTURE OF THE MEMORY]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
yaml=${1:-test/data/mindformers/yamls/pretrain_deepseek3_671b.yaml}
picture=$(realpath -m "${2:-docs/step-in-time.png}")
memory_picture=$(realpath -m "${3:-docs/memory-page.png}")

scripts/setup.sh tests
scripts/build.sh mf-translate mf-opt mf-run
PATH=$PWD/build/bin:$PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

name=$(basename "${yaml%%@*}" .yaml)
mf-translate --import-mindformers "$yaml" -o "$work/model.mlir"
mf-opt --quiet --recompute-config="$yaml" "$work/model.mlir" -o "$work/$name.mlir"
mf-run --simulate --target=atlas-800t-a2 "$work/$name.mlir" --html "$work/page.html"
chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --force-device-scale-factor=1.5 \
  --virtual-time-budget=10000 --window-size=1400,1085 --user-data-dir="$work/profile" \
  --screenshot="$picture" "file://$work/page.html" 2>"$work/log" || { cat "$work/log" >&2; exit 1; }
echo "wrote $picture"

mf-run --simulate --target=atlas-800t-a2 --memory-html "$work/memory.html" "$work/$name.mlir" >"$work/log"
chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --virtual-time-budget=10000 \
  --window-size=1000,1180 --user-data-dir="$work/profile" --screenshot="$memory_picture" \
  "file://$work/memory.html" 2>"$work/log" || { cat "$work/log" >&2; exit 1; }
echo "wrote $memory_picture"
