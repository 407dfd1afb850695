//===- TestKernels.cu - kernels of the runtime's tests for GPUs -----------===//
//
// Compiles TestKernels.c to PTX, with the symbols that GpuSymbols.h describes;
// a block is a tile. The build does so twice: with LOCKSTEP_CALLS_HOST there
// are also the kernels that call functions of the host, and then no driver but
// the stand-in can load the image.
//
//===----------------------------------------------------------------------===//

#include <stdint.h>

// What no kernel here uses is left out.
#pragma clang diagnostic ignored "-Wunused-function"
#pragma clang force_cuda_host_device begin
namespace {
#include "TestKernels.c"
} // namespace
#pragma clang force_cuda_host_device end

/// The function and the tables of a kernel. Its parameters are the buffers that
/// it accesses, which are the first ones of a launch, and its scalars.
#define KERNEL(kernel, grid, parameters, scalars, ...)                         \
  extern "C" {                                                                 \
  __attribute__((device)) uint64_t kernel##$launches[] = {grid, 1};            \
  __attribute__((device)) uint64_t kernel##$arguments = 0;                     \
  __attribute__((global)) void kernel##$0 parameters {                         \
    void *const buffers[] = {__VA_ARGS__};                                     \
    kernel(buffers, scalars, __nvvm_read_ptx_sreg_ctaid_x());                  \
  }                                                                            \
  }

KERNEL(add_scalar, 1, (void *in, void *out, int64_t scalar), &scalar, in, out)
KERNEL(add, 1, (void *a, void *b, void *out), nullptr, a, b, out)
KERNEL(add_64, 1, (void *a, void *b, void *out), nullptr, a, b, out)
KERNEL(add_half, 1, (void *w, void *bias, void *out), nullptr, w, bias, out)
KERNEL(descend, 1, (void *gradient, void *w), nullptr, gradient, w)
KERNEL(set_by_way_of_nan, 1, (void *v), nullptr, v)
KERNEL(count_tiles, 64, (void *counts), nullptr, counts)
KERNEL(twice_tiles, 64, (void *in, void *out), nullptr, in, out)
KERNEL(nothing, 1, (), nullptr, nullptr)
#ifdef LOCKSTEP_CALLS_HOST
KERNEL(call, 1, (void *function), nullptr, function)
KERNEL(call_on, 1, (void *function, void *buffer), nullptr, function, buffer)
#endif
