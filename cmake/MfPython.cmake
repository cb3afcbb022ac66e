# SPDX-License-Identifier: Apache-2.0
#
# MF_PYTHON: the interpreter that runs scripts, tests, campaigns and benchmarks.
#
# The first python3 on the path is often not the interpreter to which Debian's
# packages belong, so each interpreter is asked for the modules that tests import.
set(MF_PYTHON_MODULES numpy scipy torch)

function(mf_has_python_modules result program)
  execute_process(
    COMMAND ${program} -c "import importlib.util as u, sys; sys.exit(any(u.find_spec(name) is None for name in sys.argv[1:]))"
            ${MF_PYTHON_MODULES}
    RESULT_VARIABLE code OUTPUT_QUIET ERROR_QUIET)
  if(NOT code EQUAL 0)
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()

find_program(MF_PYTHON python3 VALIDATOR mf_has_python_modules
  DOC "Interpreter of tests, with ${MF_PYTHON_MODULES}")
if(NOT MF_PYTHON)
  # Not in the cache: the packages may be there when the folder is configured again.
  find_program(MF_PLAIN_PYTHON python3 REQUIRED DOC "Interpreter of scripts, without the modules of tests")
  set(MF_PYTHON ${MF_PLAIN_PYTHON})
  if(BUILD_TESTING)
    list(JOIN MF_PYTHON_MODULES ", " modules)
    message(WARNING "no python3 on the path has all of ${modules}: tests and campaigns that need them do not run with "
      "${MF_PYTHON}; scripts/setup.sh tests installs them, and -DMF_PYTHON=FILE names another interpreter")
  endif()
endif()
