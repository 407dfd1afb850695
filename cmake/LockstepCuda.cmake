# The device `cuda`: needs the declarations of CUDA's driver API, cuda.h, and a clang that compiles for NVPTX; neither a GPU nor a driver. The
# header is that of a CUDA toolkit, or of the Python package `nvidia-cuda-runtime`. The transport `nccl` needs nccl.h besides, of NCCL or of the
# Python package `nvidia-nccl-cu13`.

set(LOCKSTEP_CUDA AUTO CACHE STRING "build the device for NVIDIA GPUs: ON, OFF, or AUTO, if what it needs is there")
set_property(CACHE LOCKSTEP_CUDA PROPERTY STRINGS AUTO ON OFF)

function(_lockstep_find_cuda)
  find_path(LOCKSTEP_CUDA_INCLUDE cuda.h HINTS ENV CUDA_PATH ENV CUDA_HOME PATHS /usr/local/cuda /opt/cuda PATH_SUFFIXES include
    DOC "the folder of cuda.h")
  find_program(LOCKSTEP_PYTHON NAMES python3)
  find_path(LOCKSTEP_NCCL_INCLUDE nccl.h HINTS ENV NCCL_HOME ENV CUDA_PATH ENV CUDA_HOME PATHS /usr/local/cuda /opt/cuda PATH_SUFFIXES include
    DOC "the folder of nccl.h")
  if(NOT (LOCKSTEP_CUDA_INCLUDE AND LOCKSTEP_NCCL_INCLUDE) AND LOCKSTEP_PYTHON)
    execute_process(COMMAND "${LOCKSTEP_PYTHON}" -c
      "import glob, sysconfig; print(*sorted(glob.glob(sysconfig.get_path('purelib') + '/nvidia/*/include')), sep=';')"
      OUTPUT_VARIABLE _folders OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    find_path(LOCKSTEP_CUDA_INCLUDE cuda.h PATHS ${_folders} NO_DEFAULT_PATH)
    find_path(LOCKSTEP_NCCL_INCLUDE nccl.h PATHS ${_folders} NO_DEFAULT_PATH)
  endif()
  find_program(LOCKSTEP_CUDA_CLANG NAMES clang++-22 clang++ DOC "the clang that compiles kernels of the device 'cuda'")
  set(_missing)
  if(NOT LOCKSTEP_CUDA_INCLUDE)
    list(APPEND _missing "cuda.h (of a CUDA toolkit, or: ${LOCKSTEP_PYTHON} -m pip install nvidia-cuda-runtime)")
  endif()
  if(NOT LOCKSTEP_CUDA_CLANG)
    list(APPEND _missing "clang++ (LOCKSTEP_CUDA_CLANG)")
  else()
    execute_process(COMMAND "${LOCKSTEP_CUDA_CLANG}" --print-targets OUTPUT_VARIABLE _targets ERROR_QUIET)
    if(NOT _targets MATCHES "nvptx64")
      list(APPEND _missing "a clang++ for the target nvptx64 (${LOCKSTEP_CUDA_CLANG} has none)")
    endif()
  endif()
  list(JOIN _missing ", " _missing)
  set(LOCKSTEP_CUDA_MISSING "${_missing}" PARENT_SCOPE)
endfunction()

if(LOCKSTEP_CUDA)
  _lockstep_find_cuda()
  if(LOCKSTEP_CUDA_MISSING AND LOCKSTEP_CUDA STREQUAL "AUTO")
    message(STATUS "the device 'cuda' is not built, there is no ${LOCKSTEP_CUDA_MISSING}")
  elseif(LOCKSTEP_CUDA_MISSING)
    message(FATAL_ERROR "LOCKSTEP_CUDA=${LOCKSTEP_CUDA}: there is no ${LOCKSTEP_CUDA_MISSING}")
  endif()
endif()
if(NOT LOCKSTEP_CUDA OR LOCKSTEP_CUDA_MISSING)
  return()
endif()

# lockstep_compile_ptx(output source option... DEPENDS file...): the kernels of a source in CUDA's dialect as PTX. PTX 7.0 is the first version for
# sm_80, so that no driver is too old for it. No CUDA SDK is searched: a version that clang does not know would be a warning.
function(lockstep_compile_ptx output source)
  cmake_parse_arguments(PARSE_ARGV 2 _ptx "" "" DEPENDS)
  get_filename_component(_name "${output}" NAME)
  add_custom_command(
    OUTPUT "${output}"
    COMMAND "${LOCKSTEP_CUDA_CLANG}" -x cuda --cuda-device-only --cuda-gpu-arch=sm_80 --cuda-feature=+ptx70 --cuda-path=/nonexistent
            -nocudainc -nocudalib -std=c++20 -S -O3 -ffp-contract=off -Wall -Wextra "-I${LOCKSTEP_SOURCE_ROOT}"
            ${_ptx_UNPARSED_ARGUMENTS} "${source}" -o "${output}"
    DEPENDS "${source}" ${_ptx_DEPENDS}
    COMMENT "Compiling ${_name}"
    VERBATIM)
endfunction()

# The kernels of reductions, for each element type.
set(_cuda "${LOCKSTEP_SOURCE_ROOT}/runtime/device/cuda")
set(_cuda_output "${CMAKE_CURRENT_BINARY_DIR}/cuda")
file(MAKE_DIRECTORY "${_cuda_output}")
set(_cuda_type_u8 uint8_t)
set(_cuda_type_i8 int8_t)
set(_cuda_type_u16 uint16_t)
set(_cuda_type_i16 int16_t)
set(_cuda_type_u32 uint32_t)
set(_cuda_type_i32 int32_t)
set(_cuda_type_u64 uint64_t)
set(_cuda_type_i64 int64_t)
set(_cuda_type_f16 Half)
set(_cuda_type_bf16 BFloat)
set(_cuda_type_f32 float)
set(_cuda_type_f64 double)
# The type with the bits of a float.
set(_cuda_bits_f16 uint16_t)
set(_cuda_bits_bf16 uint16_t)
set(_cuda_bits_f32 uint32_t)
set(_cuda_bits_f64 uint64_t)
set(_cuda_types u8 i8 u16 i16 u32 i32 u64 i64 f16 bf16 f32 f64)
set(_cuda_ptx)
foreach(_type IN LISTS _cuda_types)
  set(_file "${_cuda_output}/Reduce.${_type}.ptx")
  set(_float)
  if(_type MATCHES "16$" AND _type MATCHES "f")
    set(_float -DLOCKSTEP_HAS_ACCUMULATORS)
  endif()
  if(_type MATCHES "f")
    list(APPEND _float -DLOCKSTEP_BITS=${_cuda_bits_${_type}})
  endif()
  lockstep_compile_ptx("${_file}" "${_cuda}/Reduce.cu" -DLOCKSTEP_ELEMENT=${_cuda_type_${_type}} ${_float}
    DEPENDS "${_cuda}/ReduceShape.h" "${LOCKSTEP_SOURCE_ROOT}/runtime/collectives/ReduceArithmetic.h")
  list(APPEND _cuda_ptx "${_file}")
endforeach()
set(_cuda_embedded "${_cuda_output}/ReducePtx.cpp")
add_custom_command(
  OUTPUT "${_cuda_embedded}"
  COMMAND "${CMAKE_COMMAND}" "-DTYPES=${_cuda_types}" "-DFOLDER=${_cuda_output}" "-DOUTPUT=${_cuda_embedded}"
          -P "${LOCKSTEP_SOURCE_ROOT}/cmake/EmbedReductions.cmake"
  DEPENDS ${_cuda_ptx} "${LOCKSTEP_SOURCE_ROOT}/cmake/EmbedReductions.cmake"
  VERBATIM)

lockstep_add_plugin(cuda
  device/cuda/CudaAttention.cpp
  device/cuda/CudaContext.cpp
  device/cuda/CudaConvolutions.cpp
  device/cuda/CudaDevice.cpp
  device/cuda/CudaEvent.cpp
  device/cuda/CudaGraph.cpp
  device/cuda/CudaModule.cpp
  device/cuda/CudaQueue.cpp
  device/cuda/CudaQueueErrors.cpp
  device/cuda/CublasLtApi.cpp
  device/cuda/CudaProducts.cpp
  device/cuda/CudaReductions.cpp
  device/cuda/CudaTarget.cpp
  device/cuda/CudaWatch.cpp
  device/cuda/CudnnApi.cpp
  device/cuda/CudnnAttentionGraph.cpp
  device/cuda/CudnnAttentionOperands.cpp
  device/cuda/CudnnConvolutionGraph.cpp
  device/cuda/CudnnDescriptor.cpp
  device/cuda/CudnnGraphBuilder.cpp
  device/cuda/CudnnLibrary.cpp
  device/cuda/CudnnPlan.cpp
  device/cuda/DriverApi.cpp
  "${_cuda_embedded}")
target_include_directories(lockstep_cuda SYSTEM PRIVATE "${LOCKSTEP_CUDA_INCLUDE}")
# Programs search plugins in the folder `lib` beside theirs.
install(TARGETS lockstep_cuda LIBRARY DESTINATION lib)

if(NOT LOCKSTEP_NCCL_INCLUDE)
  set(_missing "nccl.h (of NCCL, or: ${LOCKSTEP_PYTHON} -m pip install nvidia-nccl-cu13)")
  if(LOCKSTEP_CUDA STREQUAL "AUTO")
    message(STATUS "the transport 'nccl' is not built, there is no ${_missing}")
    return()
  endif()
  message(FATAL_ERROR "LOCKSTEP_CUDA=${LOCKSTEP_CUDA}: there is no ${_missing}")
endif()

lockstep_add_plugin(nccl
  transport/nccl/Communicator.cpp
  transport/nccl/NcclApi.cpp
  transport/nccl/NcclFactory.cpp
  transport/nccl/NcclTransport.cpp)
target_include_directories(lockstep_nccl SYSTEM PRIVATE "${LOCKSTEP_NCCL_INCLUDE}" "${LOCKSTEP_CUDA_INCLUDE}")
install(TARGETS lockstep_nccl LIBRARY DESTINATION lib)
