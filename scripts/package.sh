#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the tools and writes Debian packages of them: build/mf_*.deb, mf-mpi_*.deb and
# libmf-dev_*.deb.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh mpi
scripts/build.sh
ninja -C build man
cd build
rm -f ./*.deb
cpack -G DEB >cpack.log || { cat cpack.log >&2; exit 1; }
ls -1 ./*.deb
