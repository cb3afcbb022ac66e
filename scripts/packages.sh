# SPDX-License-Identifier: Apache-2.0
#
# The Debian 12 packages of setup.sh and aarch64-sysroot.sh, which source this file.

# Libraries of the tools: MLIR with its tools, which its CMake package asks for; YAML; matrix products, vector loops and
# oneDNN's OpenMP runtime; small systems of equations; and, for the program without shared libraries, archives of the
# compression that MLIR uses.
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
  # Gradients and step times are compared with PyTorch and the BLAS that makes PyTorch fast.
  python3-numpy python3-torch libopenblas0-pthread
  # Plans are compared with the plans of SciPy's mixed-integer solver.
  python3-scipy
  # The documentation as a site; scripts read YAML.
  mkdocs python3-yaml
  # The test of HTML pages opens the pages with Chromium. Without Chromium the test is skipped.
  chromium fonts-liberation
)
