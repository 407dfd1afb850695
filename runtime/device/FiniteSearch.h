//===- FiniteSearch.h - searches for a NaN or an infinity -------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DEVICE_FINITESEARCH_H
#define LOCKSTEP_RUNTIME_DEVICE_FINITESEARCH_H

#include "runtime/artifact/Artifact.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lockstep::runtime {

/// The first element that is NaN or infinite, of the tensor with the lowest
/// order among those that have one.
struct NonFinite {
  static constexpr uint64_t none = ~uint64_t(0);

  /// Of the search that has found it.
  uint64_t order = none;
  /// Four times the index of the element, and which value it is.
  uint64_t code = none;

  bool isFound() const { return code != none; }
  uint64_t element() const { return code / 4; }
  /// "nan", "inf" or "-inf".
  std::string_view value() const;
};

/// A search in a tensor of floats: sets `finding` if an element is NaN or
/// infinite, and if no search with a lower order has set it. The bytes of a
/// finding are all ones before the first search. Both addresses are of the
/// memory in which the search is executed; searches for one finding are
/// executed one after the other.
struct FiniteSearch {
  artifact::ElementType element{};
  uint64_t elements = 0;
  const std::byte *tensor = nullptr;
  NonFinite *finding = nullptr;
  uint64_t order = 0;
};

/// The bits of the exponent of a type of floats, all of which are set in a NaN
/// and an infinity; 0 of other types.
uint64_t exponentBits(artifact::ElementType element);

/// Executes a search in the memory of the host.
void searchOnHost(const FiniteSearch &search);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DEVICE_FINITESEARCH_H
