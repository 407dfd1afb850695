//===- ProceduralCompare.cpp - compares results of procedural cases -------===//

#include "ProceduralCases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace lockstep::conformance {

namespace {

Status differs(const std::string &where, const json &expected,
               const json &found) {
  return runtime::invalidArgument(fmt::format(
      "{}: expected {}, found {}", where.empty() ? "the result" : where,
      expected.dump(), found.dump()));
}

bool isNear(double expected, double found, double tolerance) {
  return std::abs(expected - found) <=
         tolerance * std::max(1.0, std::abs(expected));
}

Status compare(const std::string &where, const json &expected,
               const json &found, double tolerance) {
  bool exact = expected.is_number_integer() && found.is_number_integer();
  if (expected.is_number() && found.is_number() && !exact)
    return isNear(expected.get<double>(), found.get<double>(), tolerance)
               ? Status()
               : differs(where, expected, found);
  if (expected.is_array() && found.is_array() &&
      expected.size() == found.size()) {
    for (size_t i = 0; i < expected.size(); ++i)
      LOCKSTEP_RETURN_IF_ERROR(compare(fmt::format("{}[{}]", where, i),
                                       expected[i], found[i], tolerance));
    return Status::success();
  }
  if (expected.is_object() && found.is_object()) {
    if (expected.contains("error"))
      return found.contains("error") ? Status()
                                     : differs(where, expected, found);
    for (const auto &[key, value] : expected.items()) {
      if (!found.contains(key))
        return differs(where, expected, found);
      LOCKSTEP_RETURN_IF_ERROR(
          compare(where + "." + key, value, found[key], tolerance));
    }
    return expected.size() == found.size() ? Status()
                                           : differs(where, expected, found);
  }
  return expected == found ? Status() : differs(where, expected, found);
}

} // namespace

Status compareResults(const json &expected, const json &found,
                      double tolerance) {
  return compare("", expected, found, tolerance);
}

} // namespace lockstep::conformance
