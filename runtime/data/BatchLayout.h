//===- BatchLayout.h - layout of a replica's batch --------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DATA_BATCHLAYOUT_H
#define LOCKSTEP_RUNTIME_DATA_BATCHLAYOUT_H

#include "runtime/data/Dataset.h"
#include "runtime/executor/Session.h"
#include "runtime/support/Status.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::runtime {

/// An array of the data and its position in a replica's batch: `rows` times
/// `rowBytes` at `offset`.
struct BatchField {
  std::string name;
  std::shared_ptr<const NpyArray> array;
  uint64_t rowBytes = 0;
  uint64_t offset = 0;
};

/// The input that distinguishes real rows (1) from padding (0): `rows` elements
/// of f32 or i1 at `offset`.
struct BatchMask {
  artifact::ElementType element = artifact::ElementType::f32;
  uint64_t offset = 0;
};

/// The sources and destinations of the rows of a batch.
struct BatchLayout {
  std::string source;
  /// Rows of the arrays, all the same.
  uint64_t examples = 0;
  /// Rows of one replica's batch; if `rowsVary`, their maximum.
  uint64_t rows = 0;
  /// Bytes of one replica's batch, as in `ProgramInfo::inputSize`.
  uint64_t inputSize = 0;
  std::vector<BatchField> fields;
  std::optional<BatchMask> mask;
  /// Offsets of the i64 inputs "x.dim0", from which the program reads the
  /// number of rows. None: always `rows`.
  std::vector<uint64_t> sizeOffsets;

  /// Whether a replica's batch may have any number of rows from 0 to `rows`.
  bool rowsVary() const { return !sizeOffsets.empty(); }
};

/// The name of the input that evaluation supplies.
inline constexpr std::string_view maskName = "mask";

/// Reads and checks the arrays for the inputs of `program`: each input [rows,
/// ...] needs an array [examples, ...] of the same name, element type and inner
/// dimensions. Other arrays are ignored. With `supplyMask` the input "mask" is
/// generated and not read. An input with a dynamic number of rows has an
/// accompanying input "x.dim0"; then all inputs have.
///
/// The error lists all inputs that do not fit, each with what was expected and
/// what was found.
Expected<BatchLayout> planBatches(const Dataset &data,
                                  const ProgramInfo &program, bool supplyMask);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DATA_BATCHLAYOUT_H
