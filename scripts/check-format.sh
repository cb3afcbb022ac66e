#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Fails if clang-format would change a C++ file of the repository.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
git ls-files -z '*.cpp' '*.h' | xargs -0 clang-format-22 --dry-run -Werror
