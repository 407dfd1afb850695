# Finds Debian's LLVM/MLIR 22 and defines how Lockstep's dialects and passes are generated.

find_program(LLVM_CONFIG_22 NAMES llvm-config-22 HINTS /usr/lib/llvm-22/bin)
if(LLVM_CONFIG_22 AND NOT MLIR_DIR)
  execute_process(COMMAND "${LLVM_CONFIG_22}" --prefix
    OUTPUT_VARIABLE _llvm_prefix OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  list(PREPEND CMAKE_PREFIX_PATH "${_llvm_prefix}")
endif()
find_package(MLIR REQUIRED CONFIG)
if(NOT LLVM_VERSION_MAJOR EQUAL 22)
  message(FATAL_ERROR "expected LLVM and MLIR 22, found ${LLVM_PACKAGE_VERSION} in ${MLIR_DIR}")
endif()
find_package(LLD REQUIRED CONFIG)
set(LOCKSTEP_LLVM_TOOLS_DIR "${LLVM_TOOLS_BINARY_DIR}")

list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)

# Properties that every library on MLIR shares. The shared libMLIR and libLLVM are linked, never
# the static archives beside them (two copies of a type id do not compare equal).
add_library(LockstepMLIR INTERFACE)
target_include_directories(LockstepMLIR SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS} ${LLD_INCLUDE_DIRS})
separate_arguments(_llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
target_compile_options(LockstepMLIR INTERFACE ${_llvm_definitions} -Wall -Wextra -Wno-unused-parameter)
target_link_libraries(LockstepMLIR INTERFACE MLIR LLVM)

# What most files on MLIR include, parsed once; our own dialects behind MLIR's headers.
set(LOCKSTEP_MLIR_PCH
  <mlir/Dialect/Arith/IR/Arith.h> <mlir/Dialect/Math/IR/Math.h> <mlir/Dialect/MemRef/IR/MemRef.h> <mlir/IR/IRMapping.h> <mlir/IR/Matchers.h>
  <mlir/IR/Builders.h> <mlir/IR/BuiltinOps.h> <mlir/IR/OpImplementation.h> <mlir/IR/DialectImplementation.h> <mlir/Pass/Pass.h>
  <mlir/Dialect/Func/IR/FuncOps.h> <mlir/Dialect/Linalg/IR/Linalg.h> <mlir/Dialect/Tensor/IR/Tensor.h>
  <mlir/Dialect/SCF/IR/SCF.h> <mlir/Transforms/GreedyPatternRewriteDriver.h> <llvm/ADT/TypeSwitch.h>
  <dialect/Replica/ReplicaDialect.h> <dialect/Collective/CollectiveDialect.h> <dialect/Device/DeviceDialect.h>)

# lockstep_tablegen(target INPUT file.td OUTPUT generator...): pairs of file name and flags.
function(lockstep_add_library name)
  cmake_parse_arguments(ARG "NO_PCH" "" "SOURCES;DEPENDS;LINK;PRECOMPILE" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC LockstepMLIR ${ARG_LINK})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  if(ARG_PRECOMPILE)
    target_precompile_headers(${name} PRIVATE ${LOCKSTEP_MLIR_PCH} ${ARG_PRECOMPILE})
  elseif(NOT ARG_NO_PCH AND TARGET LockstepPCH)
    target_precompile_headers(${name} REUSE_FROM LockstepPCH)
  endif()
endfunction()
