#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs Debian 12 packages, and only those that are missing: what building and running need, and
# with an argument also what processes under MPI (mpi) or all tests and benchmarks (tests) need. As root, or with sudo.
# usage: scripts/setup.sh [mpi | tests]
set -euo pipefail

packages=(
  # Compiler, linker, build.
  clang-22 lld-22 cmake ninja-build ccache
  # MLIR and its tablegen.
  libmlir-22-dev mlir-22-tools llvm-22-dev
  # YAML, matrix products, vector loops; oneDNN's OpenMP runtime; small systems of equations.
  libyaml-cpp-dev libdnnl-dev libhwy-dev libgomp1 libeigen3-dev
  # The archives of what MLIR compresses files with, for the program without shared libraries.
  zlib1g-dev libzstd-dev
  # Scripts.
  python3
)
mpi=(
  # The engine over several processes; without it, everything else builds and runs.
  libopenmpi-dev openmpi-bin
)
tests=(
  # FileCheck and lit, with lit's limit for each test; GoogleTest.
  llvm-22-tools python3-psutil libgtest-dev libgmock-dev
  # Checks of the source.
  clang-format-22 clang-tidy-22 libclang-22-dev
  # PyTorch, with the BLAS that makes it fast, is what gradients and step times are compared with.
  python3-numpy python3-torch libopenblas0-pthread
  # Plans are compared with what its mixed-integer solver finds.
  python3-scipy
  # The documentation as a site; scripts read YAML.
  mkdocs python3-yaml
  # What the test of pages looks at them with; without it, this test is skipped.
  chromium fonts-liberation
)
case "${1:-}" in
  "") ;;
  mpi) packages+=("${mpi[@]}") ;;
  tests) packages+=("${mpi[@]}" "${tests[@]}") ;;
  *)
    echo "setup.sh: expected nothing, mpi or tests, but got '$1'" >&2
    exit 1
    ;;
esac

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
