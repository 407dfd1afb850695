# The transport `mpi`: needs MPI's C interface, version 3, for example of the Debian packages libopenmpi-dev and openmpi-bin.

set(LOCKSTEP_MPI AUTO CACHE STRING "build the transport for several processes: ON, OFF, or AUTO, if MPI is there")
set_property(CACHE LOCKSTEP_MPI PROPERTY STRINGS AUTO ON OFF)

if(LOCKSTEP_MPI)
  # Of MPI's C++ interface nothing is used.
  set(MPI_CXX_SKIP_MPICXX ON)
  find_package(MPI 3 COMPONENTS C QUIET)
  if(NOT MPI_C_FOUND AND LOCKSTEP_MPI STREQUAL "AUTO")
    message(STATUS "the transport 'mpi' is not built, there is no MPI (for example the packages libopenmpi-dev and openmpi-bin)")
  elseif(NOT MPI_C_FOUND)
    message(FATAL_ERROR "LOCKSTEP_MPI=${LOCKSTEP_MPI}: there is no MPI (for example the packages libopenmpi-dev and openmpi-bin)")
  endif()
endif()
if(NOT LOCKSTEP_MPI OR NOT MPI_C_FOUND)
  return()
endif()

lockstep_add_plugin(mpi transport/mpi/MpiFactory.cpp transport/mpi/MpiWire.cpp)
target_compile_definitions(lockstep_mpi PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
target_link_libraries(lockstep_mpi PRIVATE MPI::MPI_C)
install(TARGETS lockstep_mpi LIBRARY DESTINATION lib)
