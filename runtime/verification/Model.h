//===- Model.h - the proof's model of programs ------------------*- C++ -*-===//
//
// The programs of one name run together, one of them on each rank. The model
// has what the proof of deadlock freedom needs: commands, the members of each
// channel, and (computed by `Slice.h`) the values that decide which path a rank
// takes.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_VERIFICATION_MODEL_H
#define LOCKSTEP_RUNTIME_VERIFICATION_MODEL_H

#include "runtime/schema/artifact_generated.h"
#include "runtime/support/Status.h"
#include "runtime/verification/Flow.h"
#include "runtime/verification/Slice.h"
#include "runtime/verification/Verification.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::runtime::verification {

inline constexpr uint32_t none = ~0u;

enum class OpKind : uint8_t {
  compute,
  start,
  wait,
  barrier,
  once,
  endOnce,
  jump,
  branch,
  setRegister,
  addRegister,
  loadRegister,
  next,
  ret,
};

/// A command. Operands are read from the tables on demand, which is rare.
struct Op {
  OpKind kind;
  /// Index of the command, which is that of the op.
  uint32_t command = 0;
  /// Into `Model::channels`.
  uint32_t channel = none;
  uint32_t target = none;
  /// Into `Flow::branches`.
  uint32_t branch = none;
};

/// A channel of all programs together.
struct Channel {
  enum class Kind : uint8_t {
    collective,
    barrier,
    once
  } kind = Kind::collective;
  artifact::CollectiveKind collective{};
  artifact::Reduction reduction{};
  int32_t axis = 0;
  uint32_t number = 0;
  /// Rank of the root, else of the first member; `none` without members.
  uint32_t root = none;
  /// As in `Start.sources`.
  std::vector<int32_t> sources;
  /// Into `Model::groups`; for a once section, the ranks of its role.
  uint32_t group = 0;
  /// Its results may decide which path a rank takes.
  bool carriesDecisions = false;
  /// Its first use.
  uint32_t program = none, command = 0;
};

/// Ascending ranks.
struct Group {
  std::vector<uint32_t> ranks;
  /// Position of a rank in the group, or `none`.
  uint32_t place(uint32_t rank) const;
};

/// The program of one role.
struct Program {
  const artifact::Program *tables = nullptr;
  std::string role;
  uint32_t index = 0;
  uint32_t firstRank = 0, ranks = 0;
  /// Group of all ranks of the role.
  uint32_t roleGroup = 0;
  std::vector<Op> ops;
  /// Channel -> command that starts it in this program, or `none`.
  std::vector<uint32_t> starts;
  Flow flow;
  Slice slice;

  const artifact::Command &table(const Op &op) const {
    return *tables->commands()->Get(op.command);
  }
};

struct Model {
  const artifact::Artifact *tables = nullptr;
  std::string name;
  std::vector<Program> programs;
  std::vector<Group> groups;
  std::vector<Channel> channels;
  /// Rank -> index of its program, or `none` if its role has no program.
  std::vector<uint32_t> programOf;
  std::vector<std::string> roleOf;
  /// Whether other workers change the variables of servers whenever a step
  /// waits.
  bool serversAreShared = false;
  /// Programs that declare a channel differently, which is an error regardless
  /// of execution.
  std::optional<Problem> mismatch;

  uint32_t ranks() const { return uint32_t(programOf.size()); }
  std::string_view location(const Program &program, uint32_t command) const;
  /// "train.py:42: wait for channel 3", "command 7: ..." where there is no
  /// location.
  std::string describe(const Program &program, uint32_t command) const;
};

/// The place of an op in messages.
inline CommandPlace placeOf(const Program &program, uint32_t op) {
  return {program.role, program.ops[op].command};
}

/// Whether all ranks of a program get the results of a collective.
bool allReceive(const Model &model, const Channel &channel,
                const Program &program);

/// Visits the registers that hold dynamic sizes of a buffer.
template <typename Visit>
void forEachSizeRegister(const artifact::Buffer &buffer, Visit visit) {
  if (const auto *registers = buffer.size_registers())
    for (int32_t index : *registers)
      if (index >= 0)
        visit(uint32_t(index));
}

/// Builds the model of the programs called `name`. Error: the tables are
/// inconsistent, which the loader rejects with a better message.
Expected<Model> buildModel(const artifact::Artifact &artifact,
                           std::string_view name);

} // namespace lockstep::runtime::verification

#endif // LOCKSTEP_RUNTIME_VERIFICATION_MODEL_H
