//===- ProceduralIndex.h - Python's indices ---------------------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_CONFORMANCE_PROCEDURALINDEX_H
#define LOCKSTEP_TEST_CONFORMANCE_PROCEDURALINDEX_H

#include "ProceduralValue.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::conformance {

/// The selection of an index: the positions along each axis, in order. The
/// result has the shape `shape` and the elements of all combinations, the last
/// axis fastest.
struct Selection {
  std::vector<std::vector<int64_t>> positions;
  std::vector<int64_t> shape;
};

/// Reads "1:3, 0", "..., ::-1", "newaxis, 2", "[True, False]" for a tensor of
/// that shape: integers, slices, an ellipsis, new axes and masks of one axis.
/// Errors: a position outside, too many of them [E_INDEX]; anything else, such
/// as a tensor [E_ARG_TYPE].
Expected<Selection> parseIndex(const std::string &text,
                               const std::vector<int64_t> &shape);

} // namespace lockstep::conformance

#endif // LOCKSTEP_TEST_CONFORMANCE_PROCEDURALINDEX_H
