//===- Statements.h - Writes programs of the case language ------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_CONFORMANCE_DRIVER_STATEMENTS_H
#define LOCKSTEP_TEST_CONFORMANCE_DRIVER_STATEMENTS_H

#include "test/conformance/driver/Tensor.h"

#include <string>

namespace lockstep::conformance::driver {

/// Collects statements. Operands are names, or `{"py": 0.5}`; every result gets
/// a name.
class Statements {
public:
  /// Names of results begin with `prefix`: functions within each other use
  /// different ones.
  explicit Statements(std::string prefix) : prefix(std::move(prefix)) {}

  std::string add(const char *op, Json fields) {
    std::string name = prefix + std::to_string(list.size());
    perform(op, std::move(fields), name);
    return name;
  }
  /// With a result of this name, or these names; null: without.
  void perform(const char *op, Json fields, Json out = nullptr) {
    fields["op"] = op;
    fields["out"] = std::move(out);
    list.push_back(std::move(fields));
  }

  std::string binary(const char *op, Json a, Json b) {
    return add(op, {{"a", std::move(a)}, {"b", std::move(b)}});
  }
  std::string unary(const char *op, Json a) {
    return add(op, {{"a", std::move(a)}});
  }
  std::string sum(Json a) { return unary("reduce_sum", std::move(a)); }
  std::string sum(Json a, int64_t axis) {
    return add("reduce_sum", {{"a", std::move(a)}, {"axis", axis}});
  }
  std::string scaled(Json a, double factor) {
    return binary("mul", std::move(a), {{"py", factor}});
  }

  const Json &statements() const { return list; }

private:
  std::string prefix;
  Json list = Json::array();
};

} // namespace lockstep::conformance::driver

#endif
