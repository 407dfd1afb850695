//===- Mutator.h - artifacts with a few changes -----------------*- C++ -*-===//
//
// Damage that a digest cannot detect: a well-formed file with changed contents
// and the matching digest. All tables and fields of the schema are changed
// about equally often, independently of their number in an artifact.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_TEST_RUNTIME_MUTATION_MUTATOR_H
#define LOCKSTEP_TEST_RUNTIME_MUTATION_MUTATOR_H

#include "Schema.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace lockstep::runtime::mutation {

/// One change, as people read it.
struct Change {
  /// "Table.field", or "Table" where whole rows were exchanged.
  std::string place;
  /// "programs[0].commands[3].body.reads: 2 -> 3".
  std::string text;
};

/// The same numbers on every machine.
using Random = std::mt19937_64;

struct Mutant {
  /// Which artifact it was made from, by number.
  size_t base = 0;
  std::vector<std::byte> file;
  std::vector<Change> changes;
};

class Mutator {
public:
  /// `schema` must outlive it.
  explicit Mutator(Schema &schema) : schema(schema) {}

  /// Artifacts to change; rows are exchanged between them, too. Error: not an
  /// artifact.
  Status add(std::span<const std::byte> file);
  /// The mutant without a change: the same tables and segments, possibly at
  /// other offsets.
  std::vector<std::byte> unchanged(size_t base);
  /// The same for the same seed and artifacts. There must be at least one
  /// artifact.
  Mutant mutate(uint64_t seed);

private:
  struct Base {
    Json tables;
    /// All segments, consecutive as in the file, and their offset in mutants,
    /// after space for larger tables.
    std::vector<std::byte> segments;
    uint64_t segmentsOffset = 0;
    /// Those of `tables`.
    ConstTables rows;
  };
  /// With the digest. Error: these tables are none of an artifact, or too
  /// large.
  Expected<std::vector<std::byte>> assemble(const Base &base,
                                            const Json &tables);
  /// Nothing: there was nothing to change at the place that was chosen.
  std::optional<Change> change(Json &artifact, Random &random);
  std::optional<Change> exchangeRows(Tables &tables, Random &random);
  std::optional<Change> changeField(Tables &tables, Random &random);
  /// Another table of the same kind, of any artifact, that has the field.
  const Json *findDonor(const std::string &table, const std::string &field,
                        Random &random) const;

  Schema &schema;
  /// Does not move them: their rows are known by address.
  std::deque<Base> bases;
};

} // namespace lockstep::runtime::mutation

#endif // LOCKSTEP_TEST_RUNTIME_MUTATION_MUTATOR_H
