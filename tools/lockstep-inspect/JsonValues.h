//===- JsonValues.h - values of the JSON that is printed --------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_LOCKSTEP_INSPECT_JSONVALUES_H
#define LOCKSTEP_TOOLS_LOCKSTEP_INSPECT_JSONVALUES_H

#include <nlohmann/json.hpp>

#include <optional>

namespace lockstep::inspect {

/// Keys are printed in the order in which they are written.
using Json = nlohmann::ordered_json;

/// null if there is no value.
template <typename T> Json orNull(const std::optional<T> &value) {
  return value ? Json(*value) : Json(nullptr);
}

} // namespace lockstep::inspect

#endif // LOCKSTEP_TOOLS_LOCKSTEP_INSPECT_JSONVALUES_H
