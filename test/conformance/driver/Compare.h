//===- Compare.h - Outcomes against expectations ----------------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_CONFORMANCE_DRIVER_COMPARE_H
#define LOCKSTEP_TEST_CONFORMANCE_DRIVER_COMPARE_H

#include "test/conformance/driver/Tensor.h"

#include <optional>
#include <string>
#include <vector>

namespace lockstep::conformance::driver {

/// Where two recorded values differ first, and how; nothing if they are equal.
/// Structure, types and shapes are compared exactly, floats with an absolute
/// and relative tolerance, by default 1e-6; NaN equals NaN.
std::optional<std::string> difference(const Json &expected, const Json &found,
                                      std::optional<double> tolerance);

/// Compares one configuration with the expectation of a case.
class Expectation {
public:
  explicit Expectation(const Json &one);

  /// A reason, or none if the diagnosis is the expected one.
  std::optional<std::string> judgeDiagnosis(const std::string &text) const;
  /// The same for the observations of each worker.
  std::optional<std::string>
  judgeObservations(const std::vector<Json> &workers) const;

private:
  bool expectsError = false;
  std::string errorClass;
  /// `{"outputs", "variables"}` of each worker; empty if a success is all that
  /// is known.
  std::vector<Json> workers;
  std::optional<double> tolerance;
};

} // namespace lockstep::conformance::driver

#endif
