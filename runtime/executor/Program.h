//===- Program.h - a program, decoded for execution -------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_PROGRAM_H
#define LOCKSTEP_RUNTIME_EXECUTOR_PROGRAM_H

#include "runtime/artifact/Artifact.h"
#include "runtime/collectives/CollectivePlan.h"
#include "runtime/device/Device.h"
#include "runtime/executor/Injection.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::runtime {

enum class Opcode : uint8_t {
  launch,
  start,
  wait,
  barrier,
  once,
  endOnce,
  jump,
  branchUnless,
  branchGreaterEqual,
  setRegister,
  addRegister,
  loadRegister,
  copy,
  ret,
  next,
};

/// "launch", "start", ... as in the device dialect.
std::string_view opcodeName(Opcode opcode);

/// One command, with everything precomputed that can be when the artifact is
/// loaded.
struct Instruction {
  enum Flag : uint8_t {
    /// The launch is long enough to share its tiles with other workers.
    parallel = 1,
    /// Sizes come from registers and are checked before the command runs.
    dynamic = 2,
    /// A fault may be injected here.
    injected = 4,
    /// Writes a variable.
    writesVariable = 8,
    /// Reads or writes a variable that is shared with other sessions.
    sharedVariable = 16,
    /// The first (last) command that accesses shared variables in a
    /// straight-line sequence without waits, over which the session holds the
    /// lock of the variables.
    locksVariables = 32,
    unlocksVariables = 64,
  };

  Opcode opcode;
  uint8_t flags = 0;
  uint16_t addressCount = 0;
  uint16_t scalarCount = 0;
  artifact::ElementType element{};
  /// Into `Program::slices`.
  uint32_t firstAddress = 0;
  /// Into `Program::scalarRegisters`.
  uint32_t firstScalar = 0;
  union {
    KernelHandle kernel;
    /// start, wait, barrier
    const CollectivePlan *plan;
    /// set_register: the value; copy: the bytes.
    int64_t value = 0;
  };
  /// launch: tiles; start, wait, barrier, once, end_once: channel; branches:
  /// left register; set, add and load_register: the register.
  uint32_t a = 0;
  /// once: index of its end_once; jump and branches: target; add_register: the
  /// source.
  uint32_t b = 0;
  /// branch_greater_equal: right register.
  uint32_t c = 0;
};
static_assert(sizeof(Instruction) <= 40);

/// A buffer whose size is in registers, to be checked against its bound.
struct DynamicSlice {
  uint64_t bound = 0;
  /// Element size times all static dimensions.
  uint64_t staticBytes = 0;
  std::vector<uint32_t> registers;
  uint32_t buffer = 0;
};

/// A program of an artifact, ready to be executed by any number of replicas.
/// Immutable.
class Program {
public:
  /// For replicas with the ranks `here`, which are of the program's role.
  /// Resolves kernels, plans collectives, marks commands at which a fault of
  /// `injections` acts, and, if `sharesVariables`, commands that lock and
  /// unlock the variables.
  static Expected<std::unique_ptr<Program>>
  decode(const Artifact &artifact, const artifact::Program &tables,
         const RankRange &here, const Module &module,
         const std::vector<Injection> &injections,
         bool sharesVariables = false);

  const Artifact *artifact = nullptr;
  const artifact::Program *tables = nullptr;
  /// Ranks of the replicas that execute it in this session.
  RankRange ranks;
  std::vector<Instruction> code;
  std::vector<Address> addresses;
  std::vector<uint32_t> scalarRegisters;
  std::vector<std::unique_ptr<CollectivePlan>> plans;
  /// For each command with `Instruction::dynamic`, what to check; for a copy,
  /// its source.
  std::vector<std::vector<DynamicSlice>> dynamicSlices;
  /// The number of replicas of this session that take part on each channel; 0:
  /// the channel is not used.
  std::vector<uint32_t> channelMembers;
  /// The command that owns each channel (start, barrier or once).
  std::vector<uint32_t> channelCommands;
  /// Scalars of the artifact that the program reads.
  std::vector<uint32_t> usedScalars;
  uint32_t maxAddresses = 0, maxScalars = 0;
  /// Whether a second worker could share work of one replica.
  bool hasShareableWork = false;
  bool writesVariables = false;
  /// Whether it loads batches, instead of reading one that is bound before the
  /// run.
  bool loadsBatches = false;

  std::string_view name() const { return tables->name()->string_view(); }
  /// Source location of a command, or an empty string.
  std::string_view location(uint32_t command) const {
    return artifact->location(tables->commands()->Get(command)->location());
  }
  /// For errors: "train.py:42: program 'step': start all_reduce sum channel 3".
  std::string place(uint32_t command) const;
  /// For errors of one replica: "train.py:42: in command 7 of program 'step',
  /// replica 2".
  std::string place(uint32_t command, int32_t replica) const;
  /// Kernel symbol of a launch.
  std::string_view kernelName(uint32_t command) const;
  /// For reports: "launch 'matmul'", "wait for channel 3".
  std::string describe(uint32_t command) const;

private:
  friend class ProgramDecoder;
};

/// Bytes of a dynamic slice for the given registers; none if they exceed its
/// bound.
std::optional<uint64_t> dynamicBytes(const DynamicSlice &slice,
                                     const int64_t *registers);

/// The shape of a buffer for the given registers.
std::vector<int64_t> currentShape(const artifact::Buffer &buffer,
                                  const int64_t *registers);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_PROGRAM_H
