#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds mf and runs its main job on a shipped example: a small Llama trained on
# the text of the GPL, with nothing, some operators and all layers recomputed.
# Ends with a table of peak memory and step time.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
scripts/build.sh mf
exec python3 scripts/demo.py build/bin
