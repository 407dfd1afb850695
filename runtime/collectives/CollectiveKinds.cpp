//===- CollectiveKinds.cpp - the table of kinds of collectives ------------===//

#include "runtime/collectives/CollectiveKinds.h"

#include "runtime/artifact/artifact_generated.h"

#include <cassert>

namespace lockstep::runtime {

using artifact::CollectiveKind;

/// One row a kind, in the order of the enum.
static constexpr CollectiveProperties table[] = {
    {.kind = CollectiveKind::all_reduce,
     .name = "all_reduce",
     .isReduction = true,
     .gives = Holders::all,
     .gets = Holders::all,
     .shape = ShapeRule::same,
     .resultsDiffer = false,
     .canBeMerged = true,
     .canBeInPlace = true,
     .isExecutable = true},
    {.kind = CollectiveKind::reduce_scatter,
     .name = "reduce_scatter",
     .isReduction = true,
     .gives = Holders::all,
     .gets = Holders::all,
     .shape = ShapeRule::slice,
     .resultsDiffer = true,
     .canBeMerged = false,
     .canBeInPlace = false,
     .isExecutable = true},
    {.kind = CollectiveKind::all_gather,
     .name = "all_gather",
     .isReduction = false,
     .gives = Holders::all,
     .gets = Holders::all,
     .shape = ShapeRule::concatenated,
     .resultsDiffer = false,
     .canBeMerged = false,
     .canBeInPlace = false,
     .isExecutable = true},
    {.kind = CollectiveKind::reduce,
     .name = "reduce",
     .isReduction = true,
     .gives = Holders::all,
     .gets = Holders::root,
     .shape = ShapeRule::same,
     .resultsDiffer = false,
     .canBeMerged = false,
     .canBeInPlace = true,
     .isExecutable = true},
    {.kind = CollectiveKind::broadcast,
     .name = "broadcast",
     .isReduction = false,
     .gives = Holders::root,
     .gets = Holders::all,
     .shape = ShapeRule::same,
     .resultsDiffer = false,
     .canBeMerged = false,
     .canBeInPlace = true,
     .isExecutable = true},
    {.kind = CollectiveKind::gather,
     .name = "gather",
     .isReduction = false,
     .gives = Holders::all,
     .gets = Holders::root,
     .shape = ShapeRule::concatenated,
     .resultsDiffer = false,
     .canBeMerged = false,
     .canBeInPlace = false,
     .isExecutable = true},
    {.kind = CollectiveKind::scatter,
     .name = "scatter",
     .isReduction = false,
     .gives = Holders::root,
     .gets = Holders::others,
     .shape = ShapeRule::rows,
     .resultsDiffer = true,
     .canBeMerged = false,
     .canBeInPlace = false,
     .isExecutable = true},
    {.kind = CollectiveKind::all_to_all,
     .name = "all_to_all",
     .isReduction = false,
     .gives = Holders::all,
     .gets = Holders::all,
     .shape = ShapeRule::parts,
     .resultsDiffer = true,
     .canBeMerged = false,
     .canBeInPlace = false,
     .isExecutable = false},
    {.kind = CollectiveKind::send,
     .name = "send",
     .isReduction = false,
     .gives = Holders::all,
     .gets = Holders::none,
     .shape = ShapeRule::none,
     .resultsDiffer = true,
     .canBeMerged = false,
     .canBeInPlace = false,
     .isExecutable = false},
    {.kind = CollectiveKind::recv,
     .name = "recv",
     .isReduction = false,
     .gives = Holders::none,
     .gets = Holders::all,
     .shape = ShapeRule::same,
     .resultsDiffer = true,
     .canBeMerged = false,
     .canBeInPlace = false,
     .isExecutable = false},
    {.kind = CollectiveKind::permute,
     .name = "permute",
     .isReduction = false,
     .gives = Holders::all,
     .gets = Holders::all,
     .shape = ShapeRule::same,
     .resultsDiffer = true,
     .canBeMerged = false,
     .canBeInPlace = false,
     .isExecutable = false},
    // A command of its own in artifacts; a `Start` of this kind does not exist.
    {.kind = CollectiveKind::barrier,
     .name = "barrier",
     .isReduction = false,
     .gives = Holders::none,
     .gets = Holders::none,
     .shape = ShapeRule::none,
     .resultsDiffer = false,
     .canBeMerged = false,
     .canBeInPlace = false,
     .isExecutable = false},
};

static_assert(std::size(table) == size_t(CollectiveKind::MAX) + 1,
              "a row for each kind of the schema");

const CollectiveProperties &CollectiveProperties::of(CollectiveKind kind) {
  const CollectiveProperties &found = table[size_t(kind)];
  assert(found.kind == kind && "the table is in the order of the kinds");
  return found;
}

std::span<const CollectiveProperties> CollectiveProperties::all() {
  return table;
}

} // namespace lockstep::runtime
