//===- Case.h - One case of a case file -------------------------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_CONFORMANCE_DRIVER_CASE_H
#define LOCKSTEP_TEST_CONFORMANCE_DRIVER_CASE_H

#include "dialect/Replica/Strategy.h"
#include "test/conformance/driver/Tensor.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::conformance::driver {

/// The strategy of a case.
struct Strategy {
  replica::Kind kind = replica::Kind::Default;
  int64_t replicas = 1;
  /// Processes; each has `replicas / workers` replicas of its own.
  int64_t workers = 1;
  /// Processes that own the variables, for strategies that have some.
  int64_t servers = 0;

  int64_t localReplicas() const { return replicas / workers; }
  const replica::StrategyProperties &properties() const {
    return replica::StrategyProperties::of(kind);
  }
};

/// A variable that the case creates inside the scope of its strategy.
struct VariableSpec {
  std::string name;
  Tensor initial;
  replica::Synchronization synchronization = replica::Synchronization::Auto;
  replica::Aggregation aggregation = replica::Aggregation::None;
};

/// An input tensor of the program: a value for each replica, or one for all.
struct InputTensor {
  std::string name;
  bool perReplica = false;
  std::vector<Tensor> values;
};

/// An input by the name that the program knows it by: a tensor, slices, or
/// values of the host.
struct Input {
  std::string name;
  /// One, or one for each replica; otherwise empty.
  std::vector<Json> host;
  InputTensor values;
  std::optional<InputTensor> indices;
  std::optional<std::vector<int64_t>> denseShape;
  /// If the values of replicas differ in kind or type, the value of each.
  std::vector<Input> ofReplica;
};

/// A case with a program.
struct Case {
  std::string name;
  Strategy strategy;
  std::vector<VariableSpec> variables;
  std::vector<Input> inputs;
  Json program;
  /// The program runs inside the scope of its strategy.
  bool inScope = false;
  std::vector<std::string> observe;
  std::vector<std::string> observeVariables;
};

/// The field with the error of a case that could not be read.
inline constexpr const char *kMalformed = "malformed";

/// The cases of all files of a folder, in the order of their names; files and
/// cases that are not of the format have a `kMalformed`. Throws CaseError if
/// there are no files.
std::vector<Json> readCases(const std::filesystem::path &folder);

/// Errors are CaseErrors: a strategy, type or field that nothing here knows.
Case readCase(const Json &json);
/// The `dense_shape` of slices, a list or a tensor; nothing if there is none.
std::optional<std::vector<int64_t>> readDenseShape(const Json &slices);
VariableSpec readVariable(const Json &json, const std::string &name);
/// `{"kind": "mirrored", "replicas": 2}`.
Strategy readStrategy(const Json &json);

} // namespace lockstep::conformance::driver

#endif
