#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: package.sh [BUILD_FOLDER]
#
# Builds the tools and writes Debian packages of them: BUILD_FOLDER/mf_*.deb, libmf-dev_*.deb and,
# if the build has MPI, mf-mpi_*.deb. BUILD_FOLDER is build, or a folder that is configured, as for
# AArch64.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build}
if (($# == 0)); then
  scripts/setup.sh mpi
  scripts/build.sh
else
  cmake --build "$build" --parallel "$(nproc)"
fi
cmake --build "$build" --target man
cd "$build"
sysroot=$(sed -n 's/^MF_SYSROOT:PATH=//p' CMakeCache.txt)
if [[ -n $sysroot ]]; then
  # What the packages depend on are packages of the sysroot, not of this machine.
  wrapper=$(mktemp -d)
  trap 'rm -rf "$wrapper"' EXIT
  cat >"$wrapper/dpkg-shlibdeps" <<EOF
#!/bin/sh
exec "$(command -v dpkg-shlibdeps)" --admindir="$sysroot/var/lib/dpkg" "\$@"
EOF
  chmod +x "$wrapper/dpkg-shlibdeps"
  export PATH=$wrapper:$PATH DEB_HOST_ARCH=arm64
fi
rm -f ./*.deb
cpack -G DEB >cpack.log || { cat cpack.log >&2; exit 1; }
ls -1 ./*.deb
