# Tests that are written in Python.

# LOCKSTEP_PYTHON needs NumPy and pytest, and where the compiler is built JAX. `make` gives the one of its virtual environment; in a build made by hand
# it may be the system's, and then these tests are skipped.
find_program(LOCKSTEP_PYTHON NAMES python3)
execute_process(COMMAND "${LOCKSTEP_PYTHON}" -c "import pytest" RESULT_VARIABLE _has_no_pytest OUTPUT_QUIET ERROR_QUIET)
if(_has_no_pytest)
  message(STATUS "tests in Python are skipped: ${LOCKSTEP_PYTHON} has no pytest (set LOCKSTEP_PYTHON)")
endif()

# Adds a test that runs pytest on a file or folder, with environment variables of the form NAME=VALUE.
function(lockstep_add_pytest name path)
  add_test(NAME "${name}" COMMAND "${LOCKSTEP_PYTHON}" -m pytest -q -p no:cacheprovider "${path}")
  set_tests_properties("${name}" PROPERTIES ENVIRONMENT "${ARGN}" SKIP_REGULAR_EXPRESSION "No module named .?pytest")
endfunction()
