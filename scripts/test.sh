#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs what is missing, builds, and runs every test. A build for AArch64, if there is one, is
# brought up to date, as tests compare it (docs/install.md).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/setup.sh tests
BUILD_TESTING=ON scripts/build.sh
if [[ -f build-aarch64/build.ninja ]]; then
  cmake --build build-aarch64 --parallel "$(nproc)"
fi
ctest --test-dir build --output-on-failure --parallel "$(nproc)"
