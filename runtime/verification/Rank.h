//===- Rank.h - one rank of the machine -------------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_VERIFICATION_RANK_H
#define LOCKSTEP_RUNTIME_VERIFICATION_RANK_H

#include "runtime/verification/Machine.h"

namespace lockstep::runtime::verification {

/// Executes one rank of a state.
class Machine::Rank {
public:
  Rank(Machine &machine, State &state, uint32_t rank)
      : machine(machine), model(machine.model), terms(machine.terms),
        program(*machine.program(rank)), slice(program.slice), state(state),
        own(state.ranks[rank]), rank(rank),
        slots(state.slots.data() + machine.firstSlot(rank)) {}

  /// Goes on until it rests. `passes`: it has been let go from the barrier or
  /// once section at which it stands. False: a problem.
  bool run(bool passes, uint64_t &steps, uint64_t limit);
  /// Of the branch at which it stands.
  Condition condition() const;

private:
  bool step(const Op &op);
  bool rest(RankStatus status, uint32_t channel = none);
  bool end();
  bool go(uint32_t target);
  bool branch(const Op &op);

  bool arrive(const Op &op);
  bool mustWait(uint32_t channel, BrokenRule unless) const;
  void noteMeeting(const Op &op) const;
  void receive(const Op &op);
  void endSection(const Op &op);

  TermId reg(uint32_t index) const { return slots[slice.registerSlots[index]]; }
  void setReg(uint32_t index, TermId value) {
    slots[slice.registerSlots[index]] = value;
  }
  const artifact::Buffer &buffer(uint32_t index) const {
    return *program.tables->buffers()->Get(index);
  }
  TermId read(uint32_t index) const;
  TermId readSized(uint32_t index) const;
  TermId element(uint32_t index) const;
  void write(uint32_t index, TermId value);
  void copy(const artifact::Copy &copy);
  void launch(const artifact::Launch &launch);
  TermId evaluate(const artifact::Formula &formula,
                  const std::vector<TermId> &arguments);
  void loadBatch();
  void loseVariables(const Op &op);
  void lose(const std::vector<uint32_t> &list);
  void forget(const std::vector<uint32_t> &list);
  void summarize(const Op &op, const Branch &info);

  Machine &machine;
  const Model &model;
  Terms &terms;
  const Program &program;
  const Slice &slice;
  State &state;
  RankState &own;
  uint32_t rank;
  TermId *slots;
  bool passes = false;
};

} // namespace lockstep::runtime::verification

#endif // LOCKSTEP_RUNTIME_VERIFICATION_RANK_H
