# SPDX-License-Identifier: Apache-2.0
#
# What every target needs: MLIR, its tablegen macros, and the flags that mf's code and
# Debian's libMLIR share.

find_package(MLIR CONFIG REQUIRED HINTS /usr/lib/llvm-22/lib/cmake/mlir)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
if(CMAKE_CROSSCOMPILING)
  # MLIR's package names the programs of the machine that is compiled for.
  find_program(MF_MLIR_TABLEGEN mlir-tblgen PATHS /usr/lib/llvm-22/bin NO_DEFAULT_PATH REQUIRED)
  cmake_path(GET MF_MLIR_TABLEGEN PARENT_PATH LLVM_TOOLS_BINARY_DIR)
  set(MLIR_TABLEGEN_EXE ${MF_MLIR_TABLEGEN})
  set(MLIR_TABLEGEN_TARGET ${MF_MLIR_TABLEGEN})
endif()

include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
include_directories(${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR})
# No warnings about code that tablegen writes.
include_directories(SYSTEM ${PROJECT_BINARY_DIR})
separate_arguments(MF_LLVM_DEFINITIONS UNIX_COMMAND "${LLVM_DEFINITIONS}")
# Debian builds LLVM without assertions, and its flags would silence ours and those of
# LLVM's headers too: casts, bounds of arrays, lengths of ranges.
option(MF_ASSERTIONS "Check assertions of our code and of LLVM's headers" ON)
if(MF_ASSERTIONS)
  list(REMOVE_ITEM MF_LLVM_DEFINITIONS -DNDEBUG)
  foreach(language IN ITEMS C CXX)
    string(REPLACE "-DNDEBUG" "" CMAKE_${language}_FLAGS_RELEASE "${CMAKE_${language}_FLAGS_RELEASE}")
  endforeach()
endif()
add_definitions(${MF_LLVM_DEFINITIONS})

find_program(MF_CCACHE ccache)
if(MF_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
      ${MF_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_C_COMPILER_LAUNCHER})
endif()

# Position independent in the same way for libraries and programs, which share precompiled headers.
add_compile_options(-fPIC)

# The same numbers on each processor: AArch64 has a multiplication and addition that round once
# in its smallest instruction set, x86-64 does not, and compilers contract to it what they can.
# Loops that Highway compiles for instruction sets that have it are without this flag.
if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  add_compile_options(-ffp-contract=off -fsigned-char)
endif()

# A switch that does not handle a value of an enumeration is an error.
add_compile_options(-Wall -Wextra -Wno-unused-parameter -Wreserved-identifier -Werror=switch -fno-math-errno)
# MLIR and LLVM have no exceptions. Code that cleans up after exceptions would be a seventh of the
# time that the dialects take to compile. mf_allow_exceptions lists the files that catch exceptions of
# other libraries.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions>)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # A precompiled header shared through ccache must not carry time stamps.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-instantiate-templates>)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
  add_link_options(-fuse-ld=lld)
endif()
if(MF_SANITIZE)
  set(MF_SANITIZERS address,undefined)
  if(MF_SANITIZE STREQUAL "thread")
    set(MF_SANITIZERS thread)
  endif()
  add_compile_options(-fsanitize=${MF_SANITIZERS} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${MF_SANITIZERS})
endif()

set(CMAKE_BUILD_RPATH /usr/lib/llvm-22/lib)
set(CMAKE_INSTALL_RPATH /usr/lib/llvm-22/lib)
