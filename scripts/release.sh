#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: release.sh [BUILD_FOLDER]
#
# Builds the tools and writes what is released into BUILD_FOLDER/release: an archive for any Linux
# and a wheel for Python. Both have all tools as one program without shared libraries. The same
# sources make the same bytes. Prints sizes. BUILD_FOLDER is build, or a folder that is configured,
# as for AArch64.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(sed -n 's/^project(mf VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
build=${1:-build}
if (($# == 0)); then
  scripts/build.sh man mf-static
else
  cmake --build "$build" --parallel "$(nproc)" --target man mf-static
fi

release=$build/release
name=mf-$version-linux-$(sed -n 's/^MF_PROCESSOR:INTERNAL=//p' "$build/CMakeCache.txt")
rm -rf "${release:?}"
mkdir -p "$release"
cmake --install "$build" --component release --prefix "$release/$name" >/dev/null
strip=$(command -v llvm-strip-22 || command -v strip)
"$strip" "$release/$name/bin/mf"
tar --create --directory "$release" --sort=name --owner=0 --group=0 --numeric-owner \
  --mode=u+rw,go+r,go-w --mtime='2000-01-01 00:00Z' "$name" | xz -9 --threads=1 >"$release/$name.tar.xz"
scripts/make_wheel.py --output "$release" "$release/$name"/bin/*
du --apparent-size --block-size=1 "$release/$name/bin/mf" "$release/$name.tar.xz" |
  awk '{ printf "%s %.1f MB\n", $2, $1 / 1e6 }'
