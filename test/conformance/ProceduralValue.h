//===- ProceduralValue.h - values of the case format ------------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_CONFORMANCE_PROCEDURALVALUE_H
#define LOCKSTEP_TEST_CONFORMANCE_PROCEDURALVALUE_H

#include "runtime/support/Status.h"
#include "test/conformance/HostTensor.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::conformance {

using nlohmann::json;
using runtime::Expected;
using runtime::Status;

/// A tensor as cases write it: any element type, strings included, elements as
/// JSON.
struct CaseTensor {
  std::string dtype = "f32";
  std::vector<int64_t> shape = {};
  std::vector<json> data = {};

  /// {"dtype": ..., "shape": ..., "data": ...}
  json toJson() const;
};

/// Whether it has the keys of a tensor.
bool isTensor(const json &value);
Expected<CaseTensor> tensorOf(const json &value);

/// The elements of these rows: a tensor [rows, ...].
CaseTensor takeRows(const CaseTensor &tensor,
                    const std::vector<uint64_t> &rows);

/// The tensor with elements of another type, and a number as an element of a
/// type.
CaseTensor cast(const CaseTensor &tensor, const std::string &dtype);
json castElement(const json &element, const std::string &dtype);

/// To and from bytes. Error: an element type that has none here (strings,
/// complex numbers).
Expected<runtime::HostTensor> toHost(const CaseTensor &tensor);
Expected<CaseTensor> fromHost(const runtime::HostTensor &tensor);

/// A value of an expression: a tensor, a number of the host, or a nest of
/// values.
struct CaseValue {
  enum class Kind : uint8_t { tensor, host, list, tuple, dictionary };

  Kind kind = Kind::host;
  CaseTensor tensor = {};
  json host = {};
  std::vector<CaseValue> members = {};
  /// Of the members of a dictionary.
  std::vector<std::string> names = {};

  bool isNest() const { return kind >= Kind::list; }
  /// A tensor, {"py": number}, or a list or dictionary of these.
  json toJson() const;
};

CaseValue hostValue(json value);
CaseValue tensorValue(CaseTensor tensor);

} // namespace lockstep::conformance

#endif // LOCKSTEP_TEST_CONFORMANCE_PROCEDURALVALUE_H
