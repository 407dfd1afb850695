//===- Scalars.h - the host scalars of a run --------------------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_LOCKSTEP_RUN_SCALARS_H
#define LOCKSTEP_TOOLS_LOCKSTEP_RUN_SCALARS_H

#include "runtime/executor/Session.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace lockstep::run {

/// Gives the session the values of `--set` ("NAME=VALUE"). Errors: no such scalar, no value of its
/// type, a scalar twice, the ones that this tool supplies (`step` and `seed`), and all scalars
/// that are left without a value.
/// `given` are the names of those that have a value already.
runtime::Status setScalars(runtime::Session &session, const std::vector<std::string> &assignments, std::set<std::string> given = {});

/// Sets a supplied scalar, if the artifact has it. Error: out of range of its type.
runtime::Status supplyScalar(runtime::Session &session, const char *name, uint64_t value);

/// Supplies `step` before every step, quickly.
class StepScalar {
public:
  explicit StepScalar(runtime::Session &session);
  runtime::Status set(uint64_t step);

private:
  runtime::Session &session;
  /// The artifact has `step` as an i32, which is what capture makes.
  bool isI32 = false;
};

} // namespace lockstep::run

#endif // LOCKSTEP_TOOLS_LOCKSTEP_RUN_SCALARS_H
