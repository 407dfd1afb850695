//===- Children.h - Work in processes of its own ----------------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_CONFORMANCE_DRIVER_CHILDREN_H
#define LOCKSTEP_TEST_CONFORMANCE_DRIVER_CHILDREN_H

#include "test/conformance/driver/Tensor.h"

#include <functional>
#include <vector>

namespace lockstep::conformance::driver {

/// Calls `work` with 0 to count - 1, each in a process of its own and `jobs` of
/// them at a time, so that one that crashes or hangs is a failure of its own
/// and not the end of all. Gives what they return, in order; `failed` makes
/// something of a process that gave nothing, from the reason. The caller has no
/// threads.
std::vector<Json>
runInChildren(size_t count, unsigned jobs,
              const std::function<Json(size_t)> &work,
              const std::function<Json(size_t, const std::string &)> &failed);

} // namespace lockstep::conformance::driver

#endif
