# SPDX-License-Identifier: Apache-2.0
#
# Compiles for AArch64 on another machine:
#   cmake -S . -B build-aarch64 -G Ninja --toolchain cmake/aarch64.cmake
#     -DMF_SYSROOT=FOLDER     what scripts/aarch64-sysroot.sh unpacked
#     -DMF_HOST_TOOLS=FOLDER  the programs of a build for this machine, build/bin by default,
#                             of which mf-tblgen is run
# Programs run in an emulator of user processes, qemu-aarch64-static.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

set(MF_SYSROOT "" CACHE PATH "The arm64 packages that scripts/aarch64-sysroot.sh unpacked")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES MF_SYSROOT)
if(NOT EXISTS ${MF_SYSROOT}/packages)
  message(FATAL_ERROR "MF_SYSROOT is '${MF_SYSROOT}'; expected a folder that scripts/aarch64-sysroot.sh filled")
endif()
set(MF_HOST_TOOLS ${CMAKE_CURRENT_LIST_DIR}/../build/bin CACHE PATH "The programs of a build for this machine")

foreach(language IN ITEMS C CXX)
  set(CMAKE_${language}_COMPILER_TARGET aarch64-linux-gnu)
endforeach()
set(CMAKE_C_COMPILER clang-22 CACHE FILEPATH "")
set(CMAKE_CXX_COMPILER clang++-22 CACHE FILEPATH "")
set(CMAKE_SYSROOT ${MF_SYSROOT})
add_link_options(-fuse-ld=lld)

# Libraries, headers and CMake's packages are those of AArch64, programs those of this machine.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind IN ITEMS LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()

# For scripts/package.sh.
set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS
  ${MF_SYSROOT}/lib/aarch64-linux-gnu ${MF_SYSROOT}/usr/lib/aarch64-linux-gnu ${MF_SYSROOT}/usr/lib/llvm-22/lib)

find_program(MF_QEMU qemu-aarch64-static)
if(MF_QEMU)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${MF_QEMU} -L ${MF_SYSROOT})
endif()
