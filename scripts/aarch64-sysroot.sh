#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: aarch64-sysroot.sh FOLDER
#
# Unpacks into FOLDER the arm64 packages of Debian 12 that cmake/aarch64.cmake compiles and links
# with, and that the programs run with. They come from this machine's package sources. Nothing is
# installed, and no step needs root.
set -euo pipefail

if (($# != 1)); then
  echo "usage: aarch64-sysroot.sh FOLDER" >&2
  exit 2
fi
source "$(dirname "${BASH_SOURCE[0]}")/packages.sh"
mkdir -p "$1"
sysroot=$(cd "$1" && pwd)
if [[ -e $sysroot/packages ]]; then
  echo "$sysroot is complete: $(wc -l <"$sysroot/packages") packages; remove it to unpack it again"
  exit 0
fi

# A configuration of apt in which no package is installed.
apt=$(mktemp -d)
trap 'rm -rf "$apt"' EXIT
mkdir -p "$apt"/{lists,archives}/partial
: >"$apt/status"
cat >"$apt/apt.conf" <<EOF
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Install-Recommends "false";
APT::Sandbox::User "";
Dir::State "$apt";
Dir::State::lists "$apt/lists";
Dir::State::status "$apt/status";
Dir::Cache "$apt";
Dir::Cache::archives "$apt/archives";
Debug::NoLocking "true";
EOF
run_apt() {
  APT_CONFIG=$apt/apt.conf apt-get -qq -o Acquire::Retries=3 "$@" </dev/null >"$apt/log" 2>&1 ||
    { cat "$apt/log" >&2; exit 1; }
}
run_apt update
# The standard library and the start of a program, on which clang does not depend elsewhere.
run_apt install --yes --download-only "${libraries[@]}" "${mpi_libraries[@]}" "${test_libraries[@]}" \
  libstdc++-12-dev libc6-dev
# With a database of dpkg, by which dpkg-shlibdeps finds the package of a library, where it is unpacked.
info=$sysroot/var/lib/dpkg/info
mkdir -p "$info"
: >"$info/../status"
echo 1 >"$info/format"
for archive in "$apt"/archives/*.deb; do
  dpkg-deb --extract "$archive" "$sysroot"
  name=$(dpkg-deb --show --showformat '${Package}' "$archive")
  if [[ $(dpkg-deb --field "$archive" Multi-Arch) == same ]]; then
    name+=:arm64
  fi
  rm -rf "$apt/control"
  dpkg-deb --control "$archive" "$apt/control"
  printf '%s\nStatus: install ok installed\n\n' "$(<"$apt/control/control")" >>"$info/../status"
  for kind in shlibs symbols; do
    if [[ -e $apt/control/$kind ]]; then
      cp "$apt/control/$kind" "$info/$name.$kind"
    fi
  done
  dpkg-deb --fsys-tarfile "$archive" | tar --list | sed "s|^\\.|$sysroot|; s|/\$||" >"$info/$name.list"
done

# Links to absolute paths would leave the sysroot.
find "$sysroot" -type l -lname '/*' -print0 | while IFS= read -r -d '' link; do
  ln -sfn "$(realpath --no-symlinks --relative-to="$(dirname "$link")" "$sysroot$(readlink "$link")")" "$link"
done
# This file exists only if the sysroot is complete.
for archive in "$apt"/archives/*.deb; do
  dpkg-deb --show --showformat '${Package} ${Version}\n' "$archive"
done >"$apt/packages"
cp "$apt/packages" "$sysroot/packages"
echo "$sysroot: $(wc -l <"$sysroot/packages") packages, $(du -sh "$sysroot" | cut -f1)"
