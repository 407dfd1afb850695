//===- ValueNames.h - values shared by roles --------------------*- C++ -*-===//
//
// A name identifies a value: all roles with a value of this name have equal
// values at corresponding points of their programs (value numbering across
// roles). Numbers, host scalars and constants have names; so do values sent in
// an exchange, results of one kernel for named operands, and counters of loops
// that the roles execute together. Other values have none.
//
// Names are found by a forward data-flow analysis of each role's program over
// the slots of its slice. The name of an exchanged value refers to the latest
// execution of the exchange: a path to the next execution contains the header
// of a loop around it, and a name that holds there also holds at the entry of
// the loop, before the exchange.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_VERIFICATION_VALUENAMES_H
#define LOCKSTEP_RUNTIME_VERIFICATION_VALUENAMES_H

#include "runtime/verification/ControlTree.h"
#include "runtime/verification/Model.h"

#include <cstdint>
#include <map>
#include <vector>

namespace lockstep::runtime::verification {

/// A name, or `none`. Equal names are equal numbers.
using NameId = uint32_t;

/// The names of values of all programs that run together.
class NameTable {
public:
  enum class Kind : uint64_t {
    number,
    memory,
    exchange,
    piece,
    loaded,
    computed,
    counter,
    comparison,
  };

  NameId number(int64_t value) { return get(Kind::number, {uint64_t(value)}); }
  /// Host memory that no program writes.
  NameId memory(const artifact::Buffer &buffer) {
    return get(Kind::memory,
               {uint64_t(buffer.space()), buffer.offset(), buffer.size()});
  }
  /// `size` bytes of the operand at a position of an exchange.
  NameId exchanged(uint32_t channel, uint32_t position, uint64_t size) {
    return get(Kind::exchange, {channel, position, size});
  }
  /// Bytes of a value.
  NameId piece(NameId value, uint64_t offset, uint64_t size);
  /// The register value loaded from a value.
  NameId loaded(NameId value, artifact::ElementType element);
  /// A result of a kernel, of `size` bytes.
  NameId computed(uint32_t kernel, uint32_t result, uint64_t size,
                  const std::vector<NameId> &operands);
  /// The counter of a loop that begins with `first`, to which `step` is added
  /// in each iteration.
  NameId counter(uint32_t loop, NameId first, NameId step);
  NameId comparison(NameId left, NameId right);

  /// The value of `size` bytes whose consecutive pieces are `pieces`, or
  /// `none`.
  NameId join(const std::vector<NameId> &pieces, uint64_t size) const;

  int64_t valueOf(NameId number) const { return int64_t(keys[number][1]); }
  bool isNumber(NameId name) const {
    return name != none && keys[name][0] == uint64_t(Kind::number);
  }

private:
  NameId get(Kind kind, std::vector<uint64_t> operands);
  /// `none` if one of the values has no name.
  NameId getOf(Kind kind, std::vector<uint64_t> operands,
               const std::vector<NameId> &values);

  /// Name -> its kind and operands.
  std::vector<std::vector<uint64_t>> keys;
  std::map<std::vector<uint64_t>, NameId> ids;
};

/// Names of the conditions of a program's branches.
class ConditionNames {
public:
  /// `loopClasses`: node of `tree` -> a number that is common to the loops of
  /// several roles that are executed together.
  ConditionNames(const Model &model, const Program &program,
                 const ControlTree &tree,
                 const std::vector<uint32_t> &loopClasses, NameTable &table,
                 ProofRule brokenRule);

  /// The name of a branch's condition, by its op; `none` if it has none.
  NameId at(uint32_t op) const {
    auto found = conditions.find(op);
    return found == conditions.end() ? NameId(none) : found->second;
  }

private:
  /// Slot -> name, for slots that have one.
  using State = std::map<uint32_t, NameId>;

  struct Counter {
    uint32_t slot, stepSlot;
  };

  void findCounters();
  void findSections();
  void run();
  bool merge(uint32_t from, uint32_t to, const State &state);
  void enterLoop(uint32_t node, State &state) const;
  void execute(uint32_t index, State &state);
  void forgetSpace(State &state, artifact::Space space) const;
  void start(uint32_t index, const artifact::Start &start, State &state);
  void launch(const artifact::Launch &launch, State &state);

  NameId read(uint32_t buffer, const State &state) const;
  NameId readRegister(uint32_t index, const State &state) const;
  void write(uint32_t buffer, NameId name, State &state);
  void writeRegister(uint32_t index, NameId name, State &state) const;
  const artifact::Buffer &buffer(uint32_t index) const {
    return *program.tables->buffers()->Get(index);
  }

  const Model &model;
  const Program &program;
  const ControlTree &tree;
  const std::vector<uint32_t> &loopClasses;
  NameTable &table;
  ProofRule brokenRule;
  /// Loop -> registers that count its iterations.
  std::map<uint32_t, std::vector<Counter>> counters;
  /// Block -> names at its beginning, once it is reached.
  std::vector<State> before;
  std::vector<bool> reached, queued;
  std::vector<uint32_t> worklist;
  std::map<uint32_t, NameId> conditions;
  /// Op -> whether it is in a once section.
  std::vector<bool> inSection;
  /// Whether the current op is in a once section.
  bool isInSection = false;
};

} // namespace lockstep::runtime::verification

#endif // LOCKSTEP_RUNTIME_VERIFICATION_VALUENAMES_H
