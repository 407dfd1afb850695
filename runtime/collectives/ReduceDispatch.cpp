//===- ReduceDispatch.cpp - selects the loops for this CPU ----------------===//

#include "runtime/collectives/ReduceKernels.h"

#include <cstring>

namespace lockstep::runtime {

using Picker = const ReduceFunctions *(artifact::ElementType,
                                       artifact::Reduction);
Picker reduceFunctions_baseline, reduceFunctions_v3, reduceFunctions_v4;

static const ReduceFunctions &orNothing(const ReduceFunctions *functions) {
  static constexpr ReduceFunctions nothing;
  return functions ? *functions : nothing;
}

const ReduceFunctions &reduceFunctions(artifact::ElementType element,
                                       artifact::Reduction reduction) {
  static Picker *const picker = [] {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("x86-64-v4"))
      return &reduceFunctions_v4;
    if (__builtin_cpu_supports("x86-64-v3"))
      return &reduceFunctions_v3;
    return &reduceFunctions_baseline;
  }();
  return orNothing(picker(element, reduction));
}

const ReduceFunctions &reduceFunctions(artifact::ElementType element,
                                       artifact::Reduction reduction,
                                       const char *level) {
  Picker *picker = std::strcmp(level, "x86-64-v4") == 0 ? &reduceFunctions_v4
                   : std::strcmp(level, "x86-64-v3") == 0
                       ? &reduceFunctions_v3
                       : &reduceFunctions_baseline;
  return orNothing(picker(element, reduction));
}

} // namespace lockstep::runtime
