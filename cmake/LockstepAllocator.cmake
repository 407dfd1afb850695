# The allocator of the tools that compile. MLIR allocates each operation by
# itself, so that a step of many operations spends a third of its compilation
# in glibc's malloc and in the cache misses of the memory that it hands out.

# Sanitizers bring an allocator of their own.
if(NOT LOCKSTEP_SANITIZE)
  find_package(mimalloc REQUIRED CONFIG)
endif()

# lockstep_fast_allocation(target): malloc and operator new, of the executable
# and of every library that it loads, are mimalloc's.
function(lockstep_fast_allocation target)
  if(NOT LOCKSTEP_SANITIZE)
    target_link_libraries(${target} PRIVATE mimalloc)
  endif()
endfunction()
