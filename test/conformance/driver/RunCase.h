//===- RunCase.h - one case in all configurations ---------------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_CONFORMANCE_DRIVER_RUNCASE_H
#define LOCKSTEP_TEST_CONFORMANCE_DRIVER_RUNCASE_H

#include "test/conformance/driver/Tensor.h"

namespace lockstep::conformance::driver {

/// The verdict on a case and its details: `{"name", "category", "passed",
/// "reasons": [..], "configurations": {"interpreter": {"observed": ..} or
/// {"diagnostic": ".."}}}`. With `withIr`, the module of a case with a program
/// is under "ir".
Json runCase(const Json &one, bool withIr);

/// The verdict on a case for which there is a reason to fail.
Json failedCase(const Json &one, const std::string &reason);

} // namespace lockstep::conformance::driver

#endif
