#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs what is missing, builds, and runs every test.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/setup.sh tests
BUILD_TESTING=ON scripts/build.sh
ctest --test-dir build --output-on-failure --parallel "$(nproc)"
