//===- Arguments.h - arguments and results of a step ------------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_LOCKSTEP_INTERPRET_ARGUMENTS_H
#define LOCKSTEP_TOOLS_LOCKSTEP_INTERPRET_ARGUMENTS_H

#include "dialect/Reference/Interpreter.h"
#include "runtime/data/Batches.h"
#include "runtime/schema/Types.h"
#include "runtime/support/Status.h"

#include <map>
#include <string>
#include <vector>

namespace lockstep::interpret {

using runtime::Expected;
using runtime::Status;
using runtime::TensorInfo;

/// The options of the command line.
struct Options {
  std::string init, data, metrics, save, inputs;
  std::string step = "step";
  uint64_t steps = 0, seed = 0;
  /// As those of lockstep-run.
  runtime::Remainder remainder = runtime::Remainder::drop;
  uint64_t globalBatch = 0;
  /// NAME=VALUE
  std::vector<std::string> scalars;
};

/// An argument of a step and the source of its value.
struct Argument {
  /// `Iterated`: a tensor of an iterator, with a value for each batch.
  enum Kind { Batch, Scalar, Iterated } kind = Batch;
  std::string name;
  /// -1 for dynamic dimensions.
  TensorInfo type;
  /// The same with bounds of dynamic dimensions; -1 without a bound.
  TensorInfo bounded;
  Element element;
  std::optional<Value> fallback;
};

/// A result of a step: its name, and whether it is a metric.
struct Output {
  std::string name;
  bool isMetric = false;
  TensorInfo type;
  Element element;
};

/// Element type and shape as in files. Error: an element type that files do not
/// support.
Expected<TensorInfo> infoOf(mlir::Type type, bool isUnsigned);

/// The arguments of a step or program, those of an iterator one by one. An
/// argument without `replica.batch` and `replica.scalar` is a batch named by
/// index: "arg0".
Expected<std::vector<Argument>> argumentsOf(mlir::FunctionOpInterface function);
/// A result without a name is "result0".
Expected<std::vector<Output>> outputsOf(mlir::FunctionOpInterface function);

/// The values of the scalars: those of `--set`, the supplied ones (`step`,
/// `seed`), the defaults. Errors: an unknown scalar, a value that does not fit
/// its type, a scalar without a value.
Expected<std::map<std::string, Value>>
scalarsOf(const std::vector<Argument> &arguments, const Options &options);
/// The scalar that counts steps, in the type of `argument`.
Value stepScalar(const Argument &argument, uint64_t step);

/// Sets the variables from a safetensors file ("": none). Errors: a variable
/// without a value, names and types that do not match.
Status loadVariables(Interpreter &interpreter, const std::string &path);
/// Writes them to a safetensors file.
Status saveVariables(Interpreter &interpreter, const std::string &path,
                     const std::map<std::string, std::string> &metadata);

/// Executes `--steps` steps on `--data` and writes the metrics.
Status train(Interpreter &interpreter, const Options &options);
/// Executes the step or program `--step` once on the arrays of `--inputs` and
/// prints its results and the variables.
Status runOnce(Interpreter &interpreter, const Options &options);

} // namespace lockstep::interpret

#endif
