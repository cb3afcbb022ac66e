# SPDX-License-Identifier: Apache-2.0
#
# Precompiled headers, one set per layer of the project. A target names the set
# that fits what it includes; CMake compiles each set once. They save two thirds of
# a build's time: docs/development.md has the figures.
#   Base          the standard library and LLVM's support library
#   Hot           the same for files that are optimized further: see below
#   Mlir          Base and MLIR
#   Dialects      Mlir and our dialects
#   Test          Base and GoogleTest
#   HotTest       the same for tests that compute for seconds
#   DialectTest   Dialects and GoogleTest
function(mf_set_optimization target headers)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    set(level -O1)
    if(headers STREQUAL "Hot")
      set(level -O3)
    elseif(headers MATCHES "^(Dialect)?Test$")
      set(level -O0)
    endif()
    target_compile_options(${target} PRIVATE ${level})
  endif()
endfunction()

set(MF_HEADER_SETS Base Hot Mlir Dialects)
if(BUILD_TESTING)
  find_package(GTest REQUIRED)
  list(APPEND MF_HEADER_SETS Test HotTest DialectTest)
endif()

# A set serves one level of optimization: -O3 where time is spent in our own loops, -O1
# elsewhere, as passes and readers spend theirs in libMLIR and compile in half the time.
# Most tests run for less time than -O1 would take to compile them: they have -O0, and
# HotTest -O1.
foreach(set IN LISTS MF_HEADER_SETS)
  string(REGEX REPLACE "^Hot$" "Base" header ${set})
  string(REGEX REPLACE "^Hot" "" header ${header})
  string(REGEX REPLACE "s$" "" header ${header})
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/headers/${set}.cpp CONTENT "")
  add_library(mf${set}Headers OBJECT ${CMAKE_BINARY_DIR}/headers/${set}.cpp)
  target_precompile_headers(mf${set}Headers PRIVATE
                            ${PROJECT_SOURCE_DIR}/cmake/${header}Headers.h)
  mf_set_optimization(mf${set}Headers ${set})
  if(set MATCHES "Test")
    target_link_libraries(mf${set}Headers PRIVATE GTest::gtest GTest::gmock)
  endif()
  if(set MATCHES "Dialect")
    add_dependencies(mf${set}Headers mfMfDialectTablegen mfAscendDialectTablegen)
  endif()
endforeach()

# Files of this folder that throw or catch. Precompiled headers are compiled without exceptions, so
# each of these files is compiled alone, without precompiled headers.
function(mf_allow_exceptions)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS -fexceptions
                              SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# Small files are compiled in groups: headers are then read, and templates compiled, once for a
# group. -DMF_UNITY=OFF compiles each file alone, which is faster for developers who change one
# file again and again.
option(MF_UNITY "Compile small files in groups" ON)

# Gives a target its precompiled headers and groups its files, except for the files in ARGN: their
# local names are also those of another file.
function(mf_set_compilation target headers)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_precompile_headers(${target} REUSE_FROM mf${headers}Headers)
  mf_set_optimization(${target} ${headers})
  if(MF_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 10
                          UNITY_BUILD_UNIQUE_ID MF_UNITY_ID)
  endif()
endfunction()

# Programs that users start link the archives of MLIR and LLVM: a start takes 3 ms, and 30 ms with
# the shared libraries, for their relocations. Libraries for other projects, the plugin and unit
# tests link the shared libraries. Builds with sanitizers do so as well, because instrumented
# inline functions would replace those of the archives.
option(MF_STATIC_MLIR "Link programs with the archives of MLIR and LLVM" ON)
file(GLOB MF_MLIR_ARCHIVES ${LLVM_LIBRARY_DIR}/libMLIR*.a)
file(GLOB MF_LLVM_ARCHIVES ${LLVM_LIBRARY_DIR}/libLLVM*.a)
set(MF_MLIR MLIR)
set(MF_LLVM LLVM)
if(MF_STATIC_MLIR AND NOT MF_SANITIZE AND MF_MLIR_ARCHIVES AND MF_LLVM_ARCHIVES)
  # The compression of MLIR's and LLVM's files.
  find_library(MF_ZLIB_LIBRARY NAMES z libz.so.1 REQUIRED)
  find_library(MF_ZSTD_LIBRARY NAMES zstd libzstd.so.1 REQUIRED)
  add_library(mfMlirArchives INTERFACE)
  target_link_libraries(mfMlirArchives INTERFACE -Wl,--start-group ${MF_MLIR_ARCHIVES} ${MF_LLVM_ARCHIVES}
                        -Wl,--end-group ${CMAKE_DL_LIBS})
  target_link_options(mfMlirArchives INTERFACE -Wl,--gc-sections)
  add_library(mfStaticMlir INTERFACE)
  target_link_libraries(mfStaticMlir INTERFACE mfMlirArchives ${MF_ZLIB_LIBRARY} ${MF_ZSTD_LIBRARY})
  foreach(library IN ITEMS MLIR LLVM)
    set(MF_${library} $<$<NOT:$<BOOL:$<TARGET_PROPERTY:MF_HAS_STATIC_MLIR>>>:${library}>)
  endforeach()
endif()

# Makes a target compile faster that runs for a moment, or that spends its time in other libraries: a
# function that is not declared inline is inlined up to the cost 30 instead of 225. Dialects and
# passes do not use this: lowering would take an eighth longer.
function(mf_inline_less target)
  if(CMAKE_BUILD_TYPE STREQUAL "Release" AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(${target} PRIVATE "SHELL:-mllvm -inline-threshold=30")
  endif()
endfunction()

# One static library per folder. mf_add_library(Name SOURCES a.cpp ... [LINK x ...]
# [DEPENDS tablegen-target ...] [MLIR | DIALECTS] [HOT | COLD] [ONE_GROUP]) names it mf<Name>.
# MLIR and DIALECTS give it the precompiled headers of that name and link libMLIR. HOT is for
# libraries that spend time in their own loops, COLD for those that spend nearly none. ONE_GROUP
# compiles all files together: their templates are similar, and no two files share a local name.
function(mf_add_library name)
  cmake_parse_arguments(ARG "MLIR;DIALECTS;HOT;COLD;ONE_GROUP" "" "SOURCES;LINK;DEPENDS" ${ARGN})
  add_library(mf${name} STATIC ${ARG_SOURCES})
  list(TRANSFORM ARG_LINK REPLACE "^MLIR$" "${MF_MLIR}")
  target_link_libraries(mf${name} PUBLIC ${ARG_LINK})
  set(headers Base)
  if(ARG_MLIR OR ARG_DIALECTS)
    target_link_libraries(mf${name} PUBLIC ${MF_MLIR})
    set(headers Mlir)
  endif()
  if(ARG_DIALECTS)
    set(headers Dialects)
  endif()
  if(ARG_HOT)
    set(headers Hot)
  endif()
  target_link_libraries(mf${name} PUBLIC ${MF_LLVM})
  target_include_directories(mf${name} SYSTEM INTERFACE $<INSTALL_INTERFACE:include/mf>)
  set_target_properties(mf${name} PROPERTIES EXPORT_NAME ${name})
  set_property(GLOBAL APPEND PROPERTY MF_LIBRARIES mf${name})
  mf_set_compilation(mf${name} ${headers})
  if(ARG_COLD)
    mf_inline_less(mf${name})
  endif()
  if(ARG_ONE_GROUP)
    # No limit.
    set_target_properties(mf${name} PROPERTIES UNITY_BUILD_BATCH_SIZE 0)
  endif()
  if(ARG_DEPENDS)
    add_dependencies(mf${name} ${ARG_DEPENDS})
  endif()
endfunction()

# Where programs run in an emulator, writes a script of the program's name into bin that runs it
# there, so that tests call both alike.
function(mf_emulate name)
  if(NOT CMAKE_CROSSCOMPILING_EMULATOR)
    return()
  endif()
  list(GET CMAKE_CROSSCOMPILING_EMULATOR 0 emulator)
  list(SUBLIST CMAKE_CROSSCOMPILING_EMULATOR 1 -1 options)
  list(JOIN options " " options)
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/bin/${name}
    CONTENT "#!/bin/sh\nexec ${emulator} -0 \"$0\" ${options} $<TARGET_FILE:${name}> \"$@\"\n"
    FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
endfunction()

# mf_add_tool(mf-opt SOURCES main.cpp [ALONE a.cpp ...] LINK mfPasses [DIALECTS] [FOR_USERS]);
# files behind ALONE are not grouped. A tool FOR_USERS is installed; its sources define the function
# mfOptMain (tools/main/ToolMains.h) instead of main, for the program that is all tools.
function(mf_add_tool name)
  cmake_parse_arguments(ARG "DIALECTS;FOR_USERS" "" "SOURCES;ALONE;LINK" ${ARGN})
  set(compiled ${name})
  if(ARG_FOR_USERS)
    set(compiled ${name}-objects)
    add_library(${compiled} OBJECT ${ARG_SOURCES} ${ARG_ALONE})
    target_link_libraries(${compiled} PRIVATE ${ARG_LINK})
    add_executable(${name} ${PROJECT_SOURCE_DIR}/tools/main/ToolMain.cpp $<TARGET_OBJECTS:${compiled}>)
    set(function mf)
    string(REGEX MATCHALL "-[a-z]+" words ${name})
    foreach(word IN LISTS words)
      string(SUBSTRING ${word} 1 1 first)
      string(SUBSTRING ${word} 2 -1 rest)
      string(TOUPPER ${first} first)
      string(APPEND function ${first}${rest})
    endforeach()
    target_compile_definitions(${name} PRIVATE MF_TOOL_MAIN=${function}Main)
    set_property(GLOBAL APPEND PROPERTY MF_TOOLS ${name})
    set_property(GLOBAL APPEND PROPERTY MF_TOOL_LINK ${ARG_LINK})
  else()
    add_executable(${name} ${ARG_SOURCES} ${ARG_ALONE})
  endif()
  if(TARGET mfStaticMlir)
    list(REMOVE_ITEM ARG_LINK MLIR)
    target_link_libraries(${name} PRIVATE ${ARG_LINK} mfStaticMlir)
    set_target_properties(${name} PROPERTIES MF_HAS_STATIC_MLIR ON)
  else()
    target_link_libraries(${name} PRIVATE ${ARG_LINK} LLVM)
  endif()
  set(headers Base)
  if(ARG_DIALECTS)
    set(headers Dialects)
  endif()
  mf_set_compilation(${compiled} ${headers} ${ARG_ALONE})
  mf_inline_less(${compiled})
  mf_emulate(${name})
endfunction()

# mf_add_static_program(name source): a program without shared libraries, of all tools for users so
# far and a source with its main. Debian's oneDNN is a shared library, so that products are our own
# there. Where an archive is missing there is no such program.
function(mf_add_static_program name source)
  find_library(MF_YAML_ARCHIVE libyaml-cpp.a)
  find_library(MF_ZLIB_ARCHIVE libz.a)
  find_library(MF_ZSTD_ARCHIVE libzstd.a)
  if(NOT TARGET mfStaticMlir OR NOT MF_YAML_ARCHIVE OR NOT MF_ZLIB_ARCHIVE OR NOT MF_ZSTD_ARCHIVE)
    message(STATUS "no ${name}: it needs the archives of MLIR, yaml-cpp, zlib and zstd, which scripts/setup.sh installs")
    return()
  endif()
  get_property(tools GLOBAL PROPERTY MF_TOOLS)
  get_property(link GLOBAL PROPERTY MF_TOOL_LINK)
  list(REMOVE_ITEM link MLIR)
  list(REMOVE_DUPLICATES link)
  list(TRANSFORM tools REPLACE "(.+)" "$<TARGET_OBJECTS:\\1-objects>")
  add_executable(${name} ${source} ${tools})
  target_link_libraries(${name} PRIVATE ${link} mfMlirArchives ${MF_YAML_ARCHIVE} ${MF_ZLIB_ARCHIVE} ${MF_ZSTD_ARCHIVE})
  target_link_options(${name} PRIVATE -static)
  # Debian's libc.a and libm.a for AArch64 reach 32 kB of the table of addresses (-fpic), and lld does not say that the table
  # is longer. Symbols of the first inputs are at its start.
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
    target_link_options(${name} PRIVATE LINKER:-lc,-lm)
  endif()
  set_target_properties(${name} PROPERTIES MF_HAS_STATIC_MLIR ON MF_IS_STATIC ON)
  mf_emulate(${name})
endfunction()

# mf_add_unit_test(Config SOURCES a_test.cpp LINK mfConfig [DIALECTS | HOT]): one GoogleTest
# program, registered with ctest as unit/<name>. MF_TEST_DATA is test/data. HOT says that it
# computes for seconds.
function(mf_add_unit_test name)
  cmake_parse_arguments(ARG "DIALECTS;HOT" "" "SOURCES;ALONE;LINK" ${ARGN})
  add_executable(mf${name}Test ${ARG_SOURCES} ${ARG_ALONE})
  target_link_libraries(mf${name}Test PRIVATE ${ARG_LINK} LLVM GTest::gtest GTest::gtest_main GTest::gmock)
  target_compile_definitions(mf${name}Test PRIVATE MF_TEST_DATA="${PROJECT_SOURCE_DIR}/test/data")
  set(headers Test)
  if(ARG_DIALECTS)
    set(headers DialectTest)
  elseif(ARG_HOT)
    set(headers HotTest)
  endif()
  mf_set_compilation(mf${name}Test ${headers} ${ARG_ALONE})
  mf_emulate(mf${name}Test)
  # The script that runs it, if it is of another processor: death tests start their program again.
  add_test(NAME unit/${name} COMMAND ${CMAKE_BINARY_DIR}/bin/mf${name}Test)
  set_property(GLOBAL APPEND PROPERTY MF_TEST_PROGRAMS mf${name}Test)
endfunction()

# Makes the source `output` that defines `llvm::StringRef function(llvm::StringRef name)` in
# `namespace`: the text of the file with this name among the other arguments.
function(mf_embed_files output namespace function)
  set(script ${PROJECT_SOURCE_DIR}/cmake/EmbedText.cmake)
  add_custom_command(
    OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${CMAKE_CURRENT_BINARY_DIR}/${output}
      -DNAMESPACE=${namespace} -DFUNCTION=${function} "-DFILES=${ARGN}" -P ${script}
    DEPENDS ${ARGN} ${script}
    VERBATIM)
endfunction()

# mf_tablegen(Out.inc -gen-kernel-signatures): runs our own mf-tblgen on
# LLVM_TARGET_DEFINITIONS, as mlir_tablegen runs mlir-tblgen.
macro(mf_tablegen output)
  if(CMAKE_CROSSCOMPILING)
    find_program(MF_HOST_TABLEGEN mf-tblgen PATHS ${MF_HOST_TOOLS} NO_DEFAULT_PATH REQUIRED)
    set(MF_TABLEGEN_EXE ${MF_HOST_TABLEGEN})
    set(MF_TABLEGEN_TARGET ${MF_HOST_TABLEGEN})
  else()
    set(MF_TABLEGEN_EXE mf-tblgen)
    set(MF_TABLEGEN_TARGET mf-tblgen)
  endif()
  tablegen(MF ${output} ${ARGN})
endmacro()
