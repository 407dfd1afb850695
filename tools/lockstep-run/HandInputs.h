//===- HandInputs.h - one step on given inputs ------------------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_LOCKSTEP_RUN_HANDINPUTS_H
#define LOCKSTEP_TOOLS_LOCKSTEP_RUN_HANDINPUTS_H

#include "runtime/data/Dataset.h"
#include "runtime/executor/Session.h"
#include "tools/lockstep-run/Options.h"

#include <span>
#include <string>

namespace lockstep::run {

/// The name of the array that holds `input` for one replica: "x@0", or "x" for all of them. Error: neither is there.
runtime::Expected<std::string> arrayName(const runtime::Dataset &data, const std::string &input, unsigned replica);

/// Prints a value as one line of JSON:
/// {"result":"y","replica":0,"type":"f32","shape":[2],"values":[1,2]}
void printTensor(const char *what, const std::string &name, unsigned replica, const runtime::TensorInfo &type,
                 std::span<const std::byte> bytes);

/// Runs the program `step` once on the arrays of `--inputs` and prints its results and the variables. An array may be
/// smaller than the input along a dimension D for which the program has an input "x.dimD".
runtime::Status runOnce(const Options &options, runtime::Session &session);

} // namespace lockstep::run

#endif // LOCKSTEP_TOOLS_LOCKSTEP_RUN_HANDINPUTS_H
