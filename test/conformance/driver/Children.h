//===- Children.h - work in separate processes ------------------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_CONFORMANCE_DRIVER_CHILDREN_H
#define LOCKSTEP_TEST_CONFORMANCE_DRIVER_CHILDREN_H

#include "test/conformance/driver/Tensor.h"

#include <functional>
#include <vector>

namespace lockstep::conformance::driver {

/// Calls `work` with 0 to count - 1, each in a separate process and `jobs` of
/// them at a time, so that a crash or hang is only one failure. Returns the
/// results in order; `failed` converts the reason of a process without a result
/// to one. The caller has no threads.
std::vector<Json>
runInChildren(size_t count, unsigned jobs,
              const std::function<Json(size_t)> &work,
              const std::function<Json(size_t, const std::string &)> &failed);

} // namespace lockstep::conformance::driver

#endif
