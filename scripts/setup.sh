#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs Debian 12 packages, and only those that are missing: what building and running need, and
# with an argument also what processes under MPI (mpi) or all tests and benchmarks (tests) need. As root, or with sudo.
# usage: scripts/setup.sh [mpi | tests]
set -euo pipefail

source "$(dirname "${BASH_SOURCE[0]}")/packages.sh"
packages=("${libraries[@]}" "${tools[@]}")
case "${1:-}" in
  "") ;;
  mpi) packages+=("${mpi_libraries[@]}" "${mpi_tools[@]}") ;;
  tests) packages+=("${mpi_libraries[@]}" "${mpi_tools[@]}" "${test_libraries[@]}" "${test_tools[@]}") ;;
  *)
    echo "setup.sh: expected nothing, mpi or tests, but got '$1'" >&2
    exit 2
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
