# The MLIR headers, precompiled once for all libraries that include them.
add_library(mfMlirHeaders STATIC ${PROJECT_SOURCE_DIR}/cmake/MlirHeaders.cpp)
target_precompile_headers(mfMlirHeaders PRIVATE ${PROJECT_SOURCE_DIR}/cmake/MlirHeaders.h)

# One static library per folder. mf_add_library(Name SOURCES a.cpp ... [LINK x ...]
# [DEPENDS tablegen-target ...] [MLIR]) names it mf<Name>; MLIR gives it the
# precompiled MLIR headers and links libMLIR.
function(mf_add_library name)
  cmake_parse_arguments(ARG "MLIR" "" "SOURCES;LINK;DEPENDS" ${ARGN})
  add_library(mf${name} STATIC ${ARG_SOURCES})
  target_link_libraries(mf${name} PUBLIC ${ARG_LINK})
  if(ARG_MLIR)
    target_link_libraries(mf${name} PUBLIC MLIR LLVM)
    target_precompile_headers(mf${name} REUSE_FROM mfMlirHeaders)
  else()
    target_link_libraries(mf${name} PUBLIC LLVM)
  endif()
  if(ARG_DEPENDS)
    add_dependencies(mf${name} ${ARG_DEPENDS})
  endif()
endfunction()

# mf_add_tool(mf-opt SOURCES main.cpp LINK mfPasses)
function(mf_add_tool name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} LLVM)
endfunction()

# mf_add_unit_test(Config SOURCES a_test.cpp LINK mfConfig): one GoogleTest
# program, registered with ctest as unit/<name>. MF_TEST_DATA is test/data.
function(mf_add_unit_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(mf${name}Test ${ARG_SOURCES})
  target_link_libraries(mf${name}Test PRIVATE ${ARG_LINK} LLVM GTest::gtest GTest::gtest_main GTest::gmock)
  target_compile_definitions(mf${name}Test PRIVATE MF_TEST_DATA="${PROJECT_SOURCE_DIR}/test/data")
  add_test(NAME unit/${name} COMMAND mf${name}Test)
  set_property(GLOBAL APPEND PROPERTY MF_TEST_PROGRAMS mf${name}Test)
endfunction()

# mf_tablegen(Out.inc -gen-kernel-signatures): runs our own mf-tblgen on
# LLVM_TARGET_DEFINITIONS, as mlir_tablegen runs mlir-tblgen.
macro(mf_tablegen output)
  set(MF_TABLEGEN_EXE mf-tblgen)
  set(MF_TABLEGEN_TARGET mf-tblgen)
  tablegen(MF ${output} ${ARGN})
endmacro()
