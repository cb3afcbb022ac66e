#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs the Debian 12 packages that building, testing and benchmarking need, and only
# those that are missing. As root, or with sudo.
set -euo pipefail

packages=(
  # Compiler, linker, build.
  clang-22 lld-22 cmake ninja-build ccache
  # MLIR; FileCheck, lit and stock mlir-opt for the tests.
  libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools
  # Checks of the source.
  clang-format-22 clang-tidy-22 libclang-22-dev
  # YAML, matrix products, vector loops; oneDNN's OpenMP runtime; small systems of equations.
  libyaml-cpp-dev libdnnl-dev libhwy-dev libgomp1 libeigen3-dev
  # Tests and benchmarks; PyTorch, with the BLAS that makes it fast, is what
  # gradients and step times are compared with.
  libgtest-dev libgmock-dev python3 python3-numpy python3-torch
  libopenblas0-pthread
  # lit's limit for each test.
  python3-psutil
  # Plans are compared with what its mixed-integer solver finds.
  python3-scipy
  # The engine over several processes; without, everything else builds and runs.
  libopenmpi-dev openmpi-bin
  # The documentation as a site; scripts read YAML.
  mkdocs python3-yaml
  # What the test of pages looks at them with; without, it is skipped.
  chromium fonts-liberation
)

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ $status == installed ]] || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
  exit 0
fi

as_root=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    echo "setup.sh: needs root or sudo to install: ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=3 "$@" \
    </dev/null >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
}
echo "installing ${missing[*]}"
apt update
apt install --yes --no-install-recommends "${missing[@]}"
