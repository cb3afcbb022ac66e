#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the tools and writes what is released into build/release: a wheel for Python.
set -euo pipefail
cd "$(dirname "$0")/.."
tools=(mf mf-opt mf-plan mf-run mf-translate)
scripts/build.sh "${tools[@]}"
scripts/make_wheel.py --output build/release "${tools[@]/#/build/bin/}"
