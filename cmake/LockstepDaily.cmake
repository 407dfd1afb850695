# What `make test` spreads over several days (docs/testing.md).

# lockstep_daily(test count): with LOCKSTEP_DAILY=1 in the environment, a program of GoogleTest executes one in `count` of its tests, others on the next days. A day is
# the date of the last commit.
function(lockstep_daily test count)
  if(NOT "$ENV{LOCKSTEP_DAILY}" STREQUAL "1")
    return()
  endif()
  find_package(Git QUIET)
  set(_day 0)
  if(GIT_FOUND)
    execute_process(COMMAND "${GIT_EXECUTABLE}" log -1 --format=%ct WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}"
      OUTPUT_VARIABLE _seconds OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(_seconds MATCHES "^[0-9]+$")
      math(EXPR _day "${_seconds} / 86400")
    endif()
  endif()
  math(EXPR _part "${_day} % ${count}")
  set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT "GTEST_TOTAL_SHARDS=${count}" "GTEST_SHARD_INDEX=${_part}")
endfunction()
