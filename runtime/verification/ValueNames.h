//===- ValueNames.h - values that several roles hold ------------*- C++ -*-===//
//
// A name stands for a value that every role which has a value of this name
// holds alike, at corresponding points of their programs. Named are numbers,
// host scalars and constants; what an exchange has carried; results of one
// kernel for named operands; and counters of loops that the roles execute
// together. All else has no name.
//
// Names are found by a forward data-flow analysis of each role's program over
// the slots of its slice. The name of what an exchange carried stands for its
// latest execution: a path to another one passes the header of a loop around
// it, and what has a name there has it when the loop is entered too, which is
// before the exchange.
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

/// All names of an artifact's programs of one name.
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
  /// Memory of the host that no program writes.
  NameId memory(const artifact::Buffer &buffer) {
    return get(Kind::memory,
               {uint64_t(buffer.space()), buffer.offset(), buffer.size()});
  }
  /// `size` bytes at a position of what an exchange carries.
  NameId exchanged(uint32_t channel, uint32_t position, uint64_t size) {
    return get(Kind::exchange, {channel, position, size});
  }
  /// Bytes of a value.
  NameId piece(NameId value, uint64_t offset, uint64_t size);
  /// What a register holds that is loaded from a value.
  NameId loaded(NameId value, artifact::ElementType element);
  /// A result of a kernel, of `size` bytes.
  NameId computed(uint32_t kernel, uint32_t result, uint64_t size,
                  const std::vector<NameId> &operands);
  /// The counter of a loop that begins with `first`, to which `step` is added
  /// in each iteration.
  NameId counter(uint32_t loop, NameId first, NameId step);
  NameId comparison(NameId left, NameId right);

  /// The value that consecutive pieces of together `size` bytes are all of, or
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
  /// `loopClasses`: node of `tree` -> a number that loops of several roles have
  /// in common which are executed together.
  ConditionNames(const Model &model, const Program &program,
                 const ControlTree &tree,
                 const std::vector<uint32_t> &loopClasses, NameTable &table,
                 BrokenRule brokenRule);

  /// Of a branch, by its op; `none` if it has no name.
  NameId at(uint32_t op) const {
    auto found = conditions.find(op);
    return found == conditions.end() ? NameId(none) : found->second;
  }

private:
  /// Slot -> name, of those that have one.
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
  BrokenRule brokenRule;
  /// Loop -> registers that count its iterations.
  std::map<uint32_t, std::vector<Counter>> counters;
  /// Block -> names where it begins, once it is reached.
  std::vector<State> before;
  std::vector<bool> reached, queued;
  std::vector<uint32_t> worklist;
  std::map<uint32_t, NameId> conditions;
  /// Op -> whether it is in a once section.
  std::vector<bool> inSection;
  /// Of the op that is executed.
  bool isInSection = false;
};

} // namespace lockstep::runtime::verification

#endif // LOCKSTEP_RUNTIME_VERIFICATION_VALUENAMES_H
