//===- Inspection.h - contents of an artifact -------------------*- C++ -*-===//
//
// All data that lockstep-inspect shows, collected once and written in three
// formats (Sections.h).
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_TOOLS_LOCKSTEP_INSPECT_INSPECTION_H
#define LOCKSTEP_TOOLS_LOCKSTEP_INSPECT_INSPECTION_H

#include "runtime/artifact/Artifact.h"
#include "runtime/collectives/CollectiveCost.h"
#include "tools/lockstep-inspect/GpuCode.h"
#include "tools/lockstep-inspect/SimulatedSchedule.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::inspect {

/// Commands from `first` to `last`, both included, by their index in the
/// program.
struct CommandRange {
  uint32_t first = 0;
  uint32_t last = 0;
};

struct BufferInfo {
  artifact::Space space;
  uint64_t offset = 0, size = 0;
  std::string type;
  /// Name of the variable, batch tensor, scalar or output in the buffer, or
  /// empty.
  std::string name;
  /// The live range, from the first to the last use: operands and results of a
  /// collective are in use until its wait, outputs until the end, and values
  /// defined outside of a loop that uses them until the end of the loop. Absent
  /// if no command uses the buffer.
  std::optional<CommandRange> live;
};

struct CommandInfo {
  /// As in the device dialect: "launch", "start", "once", "branch_ge", ...
  std::string op;
  /// Source line, "model.py:42", or empty.
  std::string line;
  std::optional<uint32_t> kernel, channel, target;
  std::vector<uint32_t> reads, writes, scratch;
  /// Launch: registers passed. Branches and arithmetic: those in the command,
  /// in its order.
  std::vector<uint32_t> registers;
  /// set_register.
  std::optional<int64_t> value;
  /// Launch: as the compiler estimated them. Start: bytes of the operands.
  /// Copy: bytes copied.
  uint64_t flops = 0, bytes = 0;
  /// Inside a once section: executed by one replica of the process.
  bool once = false;
  /// Channels whose collective is started before this command and waited for
  /// after it.
  std::vector<uint32_t> inFlight;
};

/// An operand of a collective.
struct OperandInfo {
  uint32_t buffer = 0;
  /// The last command before the start that writes it; absent if no command
  /// writes it before.
  std::optional<uint32_t> ready;
  /// Whether that is a copy, since its kernel could not write it in place.
  bool copied = false;
  /// The variables and outputs that are computed from the operand's result
  /// (Gradients.cpp).
  std::vector<std::string> updates = {};
};

/// A start with its waits, or a barrier.
struct CollectiveInfo {
  uint32_t channel = 0;
  std::string kind, reduction, group, line;
  /// The root rank.
  std::optional<uint32_t> root;
  /// Of a permute: the source rank of each member, or -1.
  std::vector<int32_t> sources;
  std::vector<OperandInfo> operands;
  std::vector<uint32_t> results;
  uint64_t bytes = 0;
  /// Traffic of the busiest member, with each member in its own executor, and
  /// its lower bound.
  runtime::Traffic traffic, leastTraffic;
  uint32_t start = 0;
  /// Several if paths of the program diverge; none for a barrier.
  std::vector<uint32_t> waits;
  /// Launches between the start and the next wait, with which the exchange can
  /// overlap.
  std::vector<uint32_t> between;
  uint64_t flopsBetween = 0, bytesBetween = 0;
  /// Whether the operands are contiguous, so that they are sent as one.
  bool contiguous = false;
  /// Indices of the remarks about it, and of the one that says why the bucket
  /// before it ends (BucketRemarks.cpp).
  std::vector<uint32_t> remarks;
  std::optional<uint32_t> beginRemark;
};

struct LoopInfo {
  CommandRange commands;
  /// Number of iterations; absent if it is known only at run time.
  std::optional<uint64_t> trips;
};

/// The bytes of one memory that are in use at one time.
struct PeakInfo {
  uint64_t bytes = 0;
  uint32_t command = 0;
};

struct OutputInfo {
  std::string name, kind;
  uint32_t buffer = 0;
};

struct InputInfo {
  std::string name, type;
  uint64_t offset = 0;
};

/// Bytes that replicas exchange with the processes of one role in a run, summed
/// over replicas. Dynamic sizes count with their bounds.
struct ExchangeInfo {
  std::string role;
  uint64_t toRole = 0, fromRole = 0;
};

struct ProgramInfo {
  std::string name, role;
  uint64_t replicaSize = 0, sharedSize = 0, inputSize = 0;
  PeakInfo replicaPeak, sharedPeak;
  uint32_t registers = 0, channels = 0;
  std::vector<InputInfo> inputs;
  std::vector<OutputInfo> outputs;
  /// Outputs that are not tensors: their values as JSON.
  std::vector<std::pair<std::string, std::string>> constantOutputs;
  std::vector<BufferInfo> buffers;
  std::vector<CommandInfo> commands;
  std::vector<CollectiveInfo> collectives;
  std::vector<LoopInfo> loops;
  /// In programs of replicas: with each other role.
  std::vector<ExchangeInfo> exchanges;
  /// Sums over one run of the program; bodies of loops count once for each
  /// iteration, or once if the number is not known.
  uint64_t launches = 0, copies = 0, onceSections = 0;
  uint64_t flops = 0, kernelBytes = 0, copiedBytes = 0, communicatedBytes = 0;
  SimulatedSchedule simulated;
};

/// Processes of one kind.
struct RoleInfo {
  std::string name;
  uint32_t firstRank = 0, ranks = 0;
  uint64_t variableSize = 0, replicaVariableSize = 0;
  /// Names of its programs.
  std::vector<std::string> programs;
};

/// The rows `first` to `first + rows - 1` of a variable that is split: among
/// servers, or into pieces.
struct ShardInfo {
  std::string of;
  uint64_t first = 0, rows = 0;
};

struct VariableInfo {
  std::string name, type, space, synchronization, aggregation, role;
  std::optional<ShardInfo> shard;
  /// The type of the whole variable, or shard, if it is divided among the
  /// replicas.
  std::optional<std::string> wholeType;
  uint64_t offset = 0, bytes = 0;
  bool hasInitial = false;
};

struct ScalarInfo {
  std::string name, type;
  /// As text; absent if the host must set it.
  std::optional<std::string> defaultValue;
};

struct KernelInfo {
  std::string symbol, line;
  uint32_t grid = 1;
  uint64_t flops = 0, bytes = 0;
  /// Launches in all programs.
  uint32_t launches = 0;
};

struct BinaryInfo {
  std::string target;
  uint64_t bytes = 0;
  /// Of the same code for GPUs, assembled.
  std::optional<uint64_t> cubinBytes;
};

struct GroupInfo {
  std::string name;
  /// Empty: all replicas.
  std::vector<uint32_t> ranks;
};

/// A branch whose condition is known only at run time.
struct OpenConditionInfo {
  std::string role, line;
  uint32_t command = 0;
};

/// The proof about the programs of one name: whether replicas can wait for each
/// other forever.
struct ProofInfo {
  std::string program;
  /// "proven" or "not provable".
  std::string verdict;
  /// The method: see docs/verification.md.
  std::string method;
  std::vector<OpenConditionInfo> open;
};

struct RemarkInfo {
  /// `program` is empty for remarks about all programs.
  std::string stage, kind, message, line, program;
};

struct Inspection {
  std::string file, name, digest;
  /// Fingerprint of the key that has signed it; empty: unsigned.
  std::string signer;
  uint32_t formatVersion = 0, replicas = 0;
  uint64_t fileSize = 0, variableSize = 0, replicaVariableSize = 0,
           scalarSize = 0, constantSize = 0;
  std::vector<BinaryInfo> binaries;
  std::vector<GroupInfo> groups;
  /// Replicas first. A single one has no servers.
  std::vector<RoleInfo> roles;
  std::vector<VariableInfo> variables;
  std::vector<ScalarInfo> scalars;
  std::vector<KernelInfo> kernels;
  /// Set by the caller of `inspect`, with what ptxas says or without it.
  std::vector<GpuCodeInfo> gpuCode;
  std::vector<ProgramInfo> programs;
  /// One for each name of programs.
  std::vector<ProofInfo> proofs;
  std::vector<RemarkInfo> remarks;
};

/// `artifact` has passed its verification. `file` is the name to show.
Inspection inspect(const runtime::Artifact &artifact, const std::string &file);

/// Inspects the commands, collectives, loops and memory of one program
/// (InspectProgram.cpp).
ProgramInfo inspectProgram(const runtime::Artifact &artifact,
                           const artifact::Program &program);

/// Sets `loops` (TripCounts.cpp). Commands must be set.
void findLoops(ProgramInfo &program);

/// How often a command is executed in a run, as far as trip counts are known
/// (TripCounts.cpp). Loops must be set.
uint64_t timesOf(const ProgramInfo &program, uint32_t command);

/// Sets `exchanges` (RoleTraffic.cpp). Commands, collectives and loops must be
/// set. `tables` is the program in the artifact.
void findExchanges(const runtime::Artifact &artifact,
                   const artifact::Program &tables, ProgramInfo &program);

/// Sets `live` of all buffers, and the peaks (Liveness.cpp). Commands,
/// collectives and loops must be set.
void findLifetimes(ProgramInfo &program);

/// Sets `updates` of the operands of collectives (Gradients.cpp).
void findUpdates(ProgramInfo &program);

/// Sets the remarks of collectives (BucketRemarks.cpp).
void findRemarks(ProgramInfo &program, const std::vector<RemarkInfo> &remarks);

/// Sets `simulated` (SimulatedSchedule.cpp). Commands and collectives must be
/// set.
void simulateProgram(const runtime::Artifact &artifact, ProgramInfo &program);

/// What the simulation shows, in sentences (Findings.cpp).
std::vector<std::string> describeSchedule(const ProgramInfo &program);

/// The roles of an artifact, and the role of a rank; replicas have the first.
std::vector<RoleInfo> rolesOf(const artifact::Artifact &tables);
const RoleInfo &roleOfRank(const std::vector<RoleInfo> &roles, uint32_t rank);

/// "32x?xf32"
std::string typeText(const artifact::TensorType *type);

} // namespace lockstep::inspect

#endif // LOCKSTEP_TOOLS_LOCKSTEP_INSPECT_INSPECTION_H
