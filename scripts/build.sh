#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds, optimized, into build/: the targets given, or everything. A new folder has no tests, which need more packages,
# unless BUILD_TESTING=ON. If the variable CI is set, a warning is an error.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

testing=${BUILD_TESTING:-OFF}
if [[ ! -f build/build.ninja ]]; then
  cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22 \
    -DBUILD_TESTING="$testing" -DCMAKE_COMPILE_WARNING_AS_ERROR="${CI:-OFF}" >/dev/null
elif [[ $testing == ON ]] && grep -qx BUILD_TESTING:BOOL=OFF build/CMakeCache.txt; then
  cmake -S . -B build -DBUILD_TESTING=ON >/dev/null
fi
cmake --build build --parallel "$(nproc)" --target "${@:-all}"
