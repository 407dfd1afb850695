# Parses what most sources include once for each target, not once for each source.

# lockstep_precompile(header...): for the targets of this folder and of those in it so far that have several sources, once for those of each
# type that are compiled by the same options. The preset `gcc` builds without, and so finds sources that lack an include.
function(lockstep_precompile)
  get_property(_folders DIRECTORY PROPERTY SUBDIRECTORIES)
  get_property(_targets DIRECTORY PROPERTY BUILDSYSTEM_TARGETS)
  foreach(_folder IN LISTS _folders)
    get_property(_more DIRECTORY "${_folder}" PROPERTY BUILDSYSTEM_TARGETS)
    list(APPEND _targets ${_more})
  endforeach()
  foreach(_target IN LISTS _targets)
    get_target_property(_type ${_target} TYPE)
    if(NOT _type MATCHES "^(STATIC_LIBRARY|SHARED_LIBRARY|EXECUTABLE)$")
      continue()
    endif()
    get_target_property(_sources ${_target} SOURCES)
    list(FILTER _sources INCLUDE REGEX "\\.cpp$")
    list(LENGTH _sources _count)
    if(_count LESS_EQUAL 2)
      continue()
    endif()
    get_target_property(_options ${_target} COMPILE_OPTIONS)
    string(MAKE_C_IDENTIFIER "${_type} ${_options}" _kind)
    if(_first_${_kind})
      target_precompile_headers(${_target} REUSE_FROM ${_first_${_kind}})
    else()
      target_precompile_headers(${_target} PRIVATE ${ARGN})
      set(_first_${_kind} ${_target})
    endif()
  endforeach()
endfunction()

set(LOCKSTEP_STANDARD_HEADERS
  <algorithm> <atomic> <chrono> <condition_variable> <cstdint> <cstring> <functional> <map> <memory> <mutex> <optional> <span> <string>
  <string_view> <thread> <unordered_map> <utility> <vector> <fmt/format.h>)
# What the runtime shares, and what its tests add.
set(LOCKSTEP_RUNTIME_HEADERS ${LOCKSTEP_STANDARD_HEADERS} <flatbuffers/flatbuffers.h> <runtime/schema/artifact_generated.h>)
set(LOCKSTEP_TEST_HEADERS ${LOCKSTEP_RUNTIME_HEADERS} <gmock/gmock.h> <gtest/gtest.h>)
