//===- Machine.h - all ranks, run against each other ------------*- C++ -*-===//
//
// Executes the programs of all ranks on symbolic values until nobody can go on:
// a rank has ended, waits, or stands at a branch whose condition is not known.
//
// Which rank goes first makes no difference. What a rank does depends on its
// own values alone; a wait that is satisfied stays so, since the others only
// ever start more; and steps of different ranks commute. So with given
// decisions all orders of execution come to rest in one and the same state (the
// diamond property), and one of them has to be looked at.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_VERIFICATION_MACHINE_H
#define LOCKSTEP_RUNTIME_VERIFICATION_MACHINE_H

#include "runtime/verification/Model.h"
#include "runtime/verification/Terms.h"
#include "runtime/verification/Verification.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::runtime::verification {

enum class RankStatus : uint8_t {
  runs,
  waits,
  decides,
  ended,
  absent,
  /// Stands at the head of a loop after a turn, so that states can be compared
  /// from turn to turn.
  turned,
};

struct RankState {
  uint32_t op = 0;
  RankStatus status = RankStatus::runs;
  /// Channel that it waits for.
  uint32_t channel = none;
  /// It need not wait any more at the barrier or once section at which it
  /// stands.
  bool letGo = false;
  /// The replicas that have arrived at the once section at which it stands
  /// would not all write the same in it.
  bool sectionDiffers = false;
  /// Jump back that ended the turn after which it rests, or `none`.
  uint32_t turn = none;
  /// Steps so far. Not a part of what the state is.
  uint64_t moved = 0;
};

/// An instance of a channel at which not all members have arrived. There is one
/// at most: nobody starts the next before all have started this one, because
/// they wait in between.
struct OpenInstance {
  Bits arrived;
  uint32_t count = 0;
  /// Place of the member -> its operands, if the channel carries decisions.
  std::vector<std::vector<TermId>> operands;
};

struct State {
  std::vector<RankState> ranks;
  /// Slots of all ranks, one rank after the other.
  std::vector<TermId> slots;
  std::map<uint32_t, OpenInstance> open;
  /// (channel, rank) -> results of a complete instance that the rank has not
  /// waited for.
  std::map<std::pair<uint32_t, uint32_t>, std::vector<TermId>> results;
  /// Conditions that have been decided.
  std::map<TermId, bool> facts;
};

/// What a branch depends on.
struct Condition {
  /// Set: the condition is known.
  std::optional<bool> known;
  /// Else: what has to be decided; the condition is true if that is `value`.
  TermId term = Terms::nothing;
  bool value = true;
};

class Machine {
public:
  /// What happens at each turn of a loop in which others are met.
  enum class Turns : uint8_t {
    /// Nothing.
    run,
    /// The rank comes to rest (`RankStatus::turned`).
    rest,
    /// The same, and the values of its counters are forgotten when it goes on.
    forget,
    /// The same of all values that are written in the loop, as those of
    /// counters in memory.
    forgetMemory,
  };

  Machine(const Model &model, Terms &terms, BrokenRule brokenRule, Turns turns);

  State begin();
  /// Goes on until all ranks rest. False: it took too many steps, or the
  /// programs break the rules that the loader checks (`problem` says which).
  bool run(State &state, uint64_t &steps);
  /// The condition of the branch at which `rank` stands.
  Condition condition(const State &state, uint32_t rank);
  /// Lets the ranks go on that can, now that `condition` has been decided.
  void decide(State &state, TermId term, bool value);
  /// Lets ranks go on that rest after a turn: all, or those in the innermost
  /// loops. Who is in an outer one has ended its turn before others have, and
  /// waits for them here, so that all count alike. True: all went on.
  bool resume(State &state, bool all);

  uint32_t firstSlot(uint32_t rank) const { return firstSlots[rank]; }
  const Program *program(uint32_t rank) const {
    return model.programOf[rank] == none
               ? nullptr
               : &model.programs[model.programOf[rank]];
  }

  /// Called at each branch that others can notice: rank, op, whether the
  /// condition held.
  std::function<void(uint32_t, const Op &, bool)> onBranch;
  /// Called at each start, wait, barrier and once section that a member gets
  /// through.
  std::function<void(uint32_t, const Op &)> onMeeting;
  std::string problem;
  /// `run` gives up when `steps` gets there.
  uint64_t stepLimit = ~uint64_t(0);

private:
  class Rank;
  void initialize(State &state, uint32_t rank);
  bool forgets() const {
    return turns == Turns::forget || turns == Turns::forgetMemory;
  }
  void completeIfAllHaveArrived(State &state, uint32_t channel);
  void completeAll(State &state);
  bool sectionDiffers(const State &state, uint32_t channel) const;
  std::vector<TermId> resultsFor(const Channel &channel,
                                 const OpenInstance &instance, uint32_t place,
                                 uint32_t results);
  std::optional<bool> implied(const State &state, TermId term) const;
  Condition compare(TermId left, TermId right);

  const Model &model;
  Terms &terms;
  BrokenRule brokenRule;
  Turns turns;
  std::vector<uint32_t> firstSlots;
  std::vector<uint32_t> work;
  struct Loop {
    uint32_t head = 0;
    /// Around it, others not counted in which nobody is met.
    uint32_t depth = 0;
    /// Registers that are written in it.
    std::vector<uint32_t> written;
    /// Slots of memory that are written in it.
    std::vector<uint32_t> writtenMemory;
  };
  /// Program, op of a jump back -> its loop; only if others are met in it.
  std::vector<std::map<uint32_t, Loop>> loops;
};

} // namespace lockstep::runtime::verification

#endif // LOCKSTEP_RUNTIME_VERIFICATION_MACHINE_H
