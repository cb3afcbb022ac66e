#!/usr/bin/env bash
# Fails if clang-format would change a C++ file of the repository.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
git ls-files -z '*.cpp' '*.h' | xargs -0 clang-format-22 --dry-run -Werror
