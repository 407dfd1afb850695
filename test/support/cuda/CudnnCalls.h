//===- CudnnCalls.h - what plans of cuDNN are executed with -----*- C++ -*-===//

#ifndef LOCKSTEP_TEST_SUPPORT_CUDA_CUDNNCALLS_H
#define LOCKSTEP_TEST_SUPPORT_CUDA_CUDNNCALLS_H

#include "CudnnGraphs.h"

#include <functional>
#include <string>

namespace lockstep::standin {

struct VariantPack {
  std::vector<int64_t> names;
  std::vector<void *> addresses;
  void *workspace = nullptr;

  /// Null if there is none.
  void *addressOf(int64_t name) const;
};

/// None if an attribute is missing or wrong.
std::optional<VariantPack> readPack(const Descriptor &descriptor);

/// Checks what a final graph is executed with, and sets what computes it: an
/// engine that is no fallback rounds factors of f32 to tf32. Returns what is
/// wrong, if something is.
std::string prepareCall(const Descriptor &graph, bool isFallback,
                        const Context *context, const VariantPack &pack,
                        std::function<void()> &compute);

} // namespace lockstep::standin

#endif // LOCKSTEP_TEST_SUPPORT_CUDA_CUDNNCALLS_H
