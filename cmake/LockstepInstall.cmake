# What `cmake --install` puts into a folder for those who embed the runtime: the C library, the C++ libraries, their headers, and a CMake
# package `lockstep` with the targets `lockstep::c` and `lockstep::runtime`. The component `development` is this alone, without the tools.

include(GNUInstallDirs)
set(_headers "${CMAKE_INSTALL_INCLUDEDIR}/lockstep")
set(_package "${CMAKE_INSTALL_LIBDIR}/cmake/lockstep")
set(_libraries lockstep-runtime lockstep-artifact lockstep-verification lockstep-collective-kinds
  lockstep-runtime-options)
set_target_properties(lockstep-runtime PROPERTIES EXPORT_NAME runtime)
if(TARGET lockstep-c)
  set_target_properties(lockstep-c PROPERTIES EXPORT_NAME c)
  list(APPEND _libraries lockstep-c)
endif()

install(TARGETS ${_libraries} EXPORT lockstep COMPONENT development
  ARCHIVE COMPONENT development LIBRARY COMPONENT development
  INCLUDES DESTINATION "${_headers}")
install(DIRECTORY "${LOCKSTEP_SOURCE_ROOT}/runtime" "${LOCKSTEP_GENERATED}/runtime" DESTINATION "${_headers}" COMPONENT development
  FILES_MATCHING PATTERN "*.h")
install(EXPORT lockstep NAMESPACE lockstep:: DESTINATION "${_package}" COMPONENT development)
install(FILES "${LOCKSTEP_SOURCE_ROOT}/cmake/lockstep-config.cmake" DESTINATION "${_package}" COMPONENT development)
