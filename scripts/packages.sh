# SPDX-License-Identifier: Apache-2.0
#
# The Debian 12 packages of setup.sh and aarch64-sysroot.sh, which source this file.

# What the tools are compiled and linked with: MLIR, whose tools its CMake package asks for; YAML; matrix products, vector
# loops, and oneDNN's OpenMP runtime; small systems of equations; and the archives of what MLIR compresses files with, for the
# program without shared libraries.
libraries=(
  libmlir-22-dev mlir-22-tools llvm-22-dev
  zlib1g-dev libzstd-dev
  libyaml-cpp-dev libdnnl-dev libhwy-dev libgomp1 libeigen3-dev
)
# What a build needs beside libraries: compiler, linker, build; scripts.
tools=(
  clang-22 lld-22 cmake ninja-build ccache
  python3
)

# The engine over several processes; without it, everything else builds and runs.
mpi_libraries=(libopenmpi-dev)
mpi_tools=(openmpi-bin)

test_libraries=(libgtest-dev libgmock-dev)
test_tools=(
  # FileCheck and lit, with lit's limit for each test.
  llvm-22-tools python3-psutil
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
