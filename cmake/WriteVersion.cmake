# SPDX-License-Identifier: Apache-2.0
#
# cmake -DOUTPUT=x.cpp -DSOURCE=folder -DVERSION=1.2 -P WriteVersion.cmake
#
# Writes a source that defines mf::tools::getVersion(), with the commit that is checked out
# in the folder. A file with the same text is left as it is, so that nothing is built anew.
find_program(git git)
set(commit "unknown commit")
if(git)
  execute_process(COMMAND ${git} -C "${SOURCE}" rev-parse --short=10 HEAD
                  OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE
                  RESULT_VARIABLE result ERROR_QUIET)
  if(result EQUAL 0)
    set(commit "commit ${found}")
  endif()
endif()
set(text "#include \"tools/help/ToolHelp.h\"\n\n")
string(APPEND text "llvm::StringRef mf::tools::getVersion() {\n")
string(APPEND text "  return \"${VERSION} (${commit})\";\n}\n")
set(old "")
if(EXISTS "${OUTPUT}")
  file(READ "${OUTPUT}" old)
endif()
if(NOT old STREQUAL text)
  file(WRITE "${OUTPUT}" "${text}")
endif()
