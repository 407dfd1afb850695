//===- HostTensor.h - nests of arrays in memory -----------------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_CONFORMANCE_HOSTTENSOR_H
#define LOCKSTEP_TEST_CONFORMANCE_HOSTTENSOR_H

#include "runtime/schema/Types.h"
#include "runtime/support/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lockstep::runtime {

/// A tensor that owns its bytes, row-major.
struct HostTensor {
  artifact::ElementType element = artifact::ElementType::f32;
  std::vector<int64_t> shape = {};
  std::vector<std::byte> bytes = {};

  uint64_t rowBytes() const;
  bool operator==(const HostTensor &) const = default;
};

/// The rows of those indices, in their order: a tensor [indices, ...]. Error: a
/// scalar, or no such row.
Expected<HostTensor> takeRows(const HostTensor &tensor,
                              std::span<const uint64_t> rows);

/// A tensor, or a list, a tuple or a dictionary of nests.
struct Nest {
  enum class Kind : uint8_t { leaf, list, tuple, dictionary };

  Kind kind = Kind::leaf;
  HostTensor leaf = {};
  std::vector<Nest> members = {};
  /// Of the members of a dictionary.
  std::vector<std::string> names = {};
};

/// The nest as a data set of rows takes it: each row is a nest of the same
/// tuples and dictionaries. A list is one array, so its members, which must
/// have one type, become the rows of one tensor. Errors: members of a list that
/// differ [E_SHAPE_MISMATCH], a scalar, or leaves with different numbers of
/// rows [E_SHAPE_MISMATCH], no leaf at all [E_ARG_TYPE].
Expected<Nest> stackLists(Nest nest);

/// Rows of each leaf of a nest from `stackLists`.
uint64_t rowsOf(const Nest &nest);

} // namespace lockstep::runtime

#endif // LOCKSTEP_TEST_CONFORMANCE_HOSTTENSOR_H
