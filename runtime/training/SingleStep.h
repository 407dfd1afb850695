//===- SingleStep.h - one step on arrays of a file --------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_TRAINING_SINGLESTEP_H
#define LOCKSTEP_RUNTIME_TRAINING_SINGLESTEP_H

#include "runtime/data/Dataset.h"
#include "runtime/executor/Cluster.h"
#include "runtime/training/FileWatch.h"
#include "runtime/training/TrainingOptions.h"

#include <memory>
#include <span>
#include <string>

namespace lockstep::training {

/// The name of the array that holds `input` for one replica: "x@0", or "x" for
/// all of them. Error: neither exists.
runtime::Expected<std::string> arrayName(const runtime::Dataset &data,
                                         const std::string &input,
                                         unsigned replica);

/// An array of `--inputs`: one value, or consecutive values for the batches of
/// a program.
struct InputArray {
  std::string name;
  /// The type of one value.
  runtime::TensorInfo type;
  size_t count = 1;
  std::shared_ptr<const runtime::NpyArray> array;

  /// The bytes of one value, valid as long as `array`.
  std::span<const std::byte> value(size_t index) const {
    size_t bytes = array->data().size() / count;
    return array->data().subspan(index * bytes, bytes);
  }
};

/// The array that holds `input` for one replica; with `isBatched`, its first
/// dimension counts batches. Errors: as `arrayName`, and those of reading it.
runtime::Expected<InputArray> readArray(const runtime::Dataset &data,
                                        const std::string &input,
                                        unsigned replica, bool isBatched);

/// Prints a value as one line of JSON:
/// {"result":"y","replica":0,"type":"f32","shape":[2],"values":[1,2]}
void printTensor(const char *what, const std::string &name, unsigned replica,
                 const runtime::TensorInfo &type,
                 std::span<const std::byte> bytes);

/// Prints an output that is not a tensor, from JSON:
/// {"constant":"labels","value":["cat","dog"]}
void printConstant(const std::string &name, const std::string &value);

/// Runs the program `step` once on the arrays of `--inputs` and prints its
/// results and the variables. An array may be smaller than the input along a
/// dimension D for which the program has an input "x.dimD".
runtime::Status runOnce(const Options &options, runtime::Cluster &cluster,
                        FileWatch &files);

} // namespace lockstep::training

#endif // LOCKSTEP_RUNTIME_TRAINING_SINGLESTEP_H
