#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Fuzz the YAML readers and the writer of settings with ASan and UBSan.
#
#   scripts/fuzz-yaml.sh [RUNS] [SECONDS]
#
# Stops after RUNS cases (default 1000000) or SECONDS (default 1800), whichever
# is first; fails if an input crashes, leaks, or takes more than a minute (an input
# takes milliseconds, but other programs may keep the processor from it).
# Needs clang-22 with its runtimes (Debian: libclang-rt-22-dev). The corpus stays
# in build-fuzz/corpus, so that a later run goes on from there.
set -eu
runs=${1:-1000000}
seconds=${2:-1800}
root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build-fuzz

cmake -G Ninja -S "$root" -B "$build" -DMF_FUZZ=ON -DMF_SANITIZE=ON \
  -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  -DCMAKE_CXX_COMPILER=clang++-22 -DCMAKE_C_COMPILER=clang-22 >/dev/null
cmake --build "$build" --target mf-fuzz-yaml

mkdir -p "$build/corpus" "$build/findings"
exec "$build/bin/mf-fuzz-yaml" "$build/corpus" \
  "$root/test/fuzz/seeds" "$root/test/data/mindformers/yamls" \
  "$root/test/data/mindformers/throughput_yamls" \
  -dict="$root/test/fuzz/yaml.dict" -artifact_prefix="$build/findings/" \
  -max_len=16384 -timeout=60 -rss_limit_mb=2048 \
  -runs="$runs" -max_total_time="$seconds"
