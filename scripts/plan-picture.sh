#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes docs/plan-page.png: the page of mf-plan about an example, as headless Chromium shows it.
# usage: scripts/plan-picture.sh [YAML] [PICTURE]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
yaml=${1:-examples/planning/llama_4_stages.yaml}
picture=$(realpath -m "${2:-docs/plan-page.png}")

scripts/setup.sh tests
scripts/build.sh mf-plan
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

build/bin/mf-plan "$yaml" --target=atlas-800t-a2 --html="$work/page.html" >"$work/text"
chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --virtual-time-budget=10000 \
  --window-size=1000,1480 --user-data-dir="$work/profile" --screenshot="$picture" \
  "file://$work/page.html" 2>"$work/log" || { cat "$work/log" >&2; exit 1; }
echo "wrote $picture"
