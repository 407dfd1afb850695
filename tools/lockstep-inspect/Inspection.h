//===- Inspection.h - what there is to say about an artifact ----*- C++ -*-===//
//
// Everything that lockstep-inspect shows, found once and written in three forms
// (Text.h, Json.h, Html.h).
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_TOOLS_LOCKSTEP_INSPECT_INSPECTION_H
#define LOCKSTEP_TOOLS_LOCKSTEP_INSPECT_INSPECTION_H

#include "runtime/artifact/Artifact.h"
#include "runtime/collectives/CollectiveCost.h"

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
  /// What it is on the outside (variable, batch tensor, scalar, output), or
  /// empty.
  std::string name;
  /// From the first command that uses it to the last one: operands and results
  /// of a collective are in use until its wait, outputs until the end, and what
  /// a loop uses and did not make itself until the end of the loop. Absent if
  /// no command uses it.
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
  /// Channels whose collective has been started before this command and is
  /// waited for behind it.
  std::vector<uint32_t> inFlight;
};

/// What a replica gives to a collective.
struct OperandInfo {
  uint32_t buffer = 0;
  /// The last command before the start that writes it; absent if it is there
  /// from the beginning.
  std::optional<uint32_t> ready;
  /// Whether that is a copy, since its kernel could not write it in place.
  bool copied = false;
};

/// A start with its waits, or a barrier.
struct CollectiveInfo {
  uint32_t channel = 0;
  std::string kind, reduction, group, line;
  /// The rank that gives or gets what the others get or give.
  std::optional<uint32_t> root;
  /// Of a permute: the rank that each member gets from, or -1.
  std::vector<int32_t> sources;
  std::vector<OperandInfo> operands;
  std::vector<uint32_t> results;
  uint64_t bytes = 0;
  /// What goes over the link of the busiest member, where each is in an
  /// executor of its own, and the least with which it is possible.
  runtime::Traffic traffic, leastTraffic;
  uint32_t start = 0;
  /// Several if paths of the program part; none for a barrier.
  std::vector<uint32_t> waits;
  /// Launches between the start and the next wait: what the exchange can hide
  /// behind.
  std::vector<uint32_t> between;
  uint64_t flopsBetween = 0, bytesBetween = 0;
  /// Whether the operands lie side by side, so that they travel as one.
  bool contiguous = false;
};

struct LoopInfo {
  CommandRange commands;
  /// Times its body runs; absent if that is decided at run time.
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

/// What replicas and the processes of one role exchange in a run: bytes, of all
/// replicas together. Sizes that are known at run time only count with their
/// bounds.
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
  /// Outputs that are no tensors: their values as JSON.
  std::vector<std::pair<std::string, std::string>> constantOutputs;
  std::vector<BufferInfo> buffers;
  std::vector<CommandInfo> commands;
  std::vector<CollectiveInfo> collectives;
  std::vector<LoopInfo> loops;
  /// In programs of replicas: with each other role.
  std::vector<ExchangeInfo> exchanges;
  /// Sums over one run of the program; bodies of loops count as often as they
  /// run, once if that is not known.
  uint64_t launches = 0, copies = 0, onceSections = 0;
  uint64_t flops = 0, kernelBytes = 0, copiedBytes = 0, communicatedBytes = 0;
};

/// Processes of one kind.
struct RoleInfo {
  std::string name;
  uint32_t firstRank = 0, ranks = 0;
  uint64_t variableSize = 0, replicaVariableSize = 0;
  /// Names of its programs.
  std::vector<std::string> programs;
};

/// The rows `first` to `first + rows - 1` of a variable that is split among
/// servers.
struct ShardInfo {
  std::string of;
  uint64_t first = 0, rows = 0;
};

struct VariableInfo {
  std::string name, type, space, synchronization, aggregation, role;
  std::optional<ShardInfo> shard;
  uint64_t offset = 0, bytes = 0;
  bool hasInitial = false;
};

struct ScalarInfo {
  std::string name, type;
  /// As text; absent if the host must give it.
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
};

struct GroupInfo {
  std::string name;
  /// Empty: all replicas.
  std::vector<uint32_t> ranks;
};

/// A branch whose condition only the run decides.
struct OpenConditionInfo {
  std::string role, line;
  uint32_t command = 0;
};

/// What is proven about the programs of one name: whether replicas can wait for
/// each other forever.
struct ProofInfo {
  std::string program;
  /// "proven" or "not provable".
  std::string verdict;
  /// How: docs/verification.md.
  std::string method;
  std::vector<OpenConditionInfo> open;
};

struct RemarkInfo {
  /// `program` is empty for what is about all of them.
  std::string stage, kind, message, line, program;
};

struct Inspection {
  std::string file, name, digest;
  /// Fingerprint of the key that has signed it; empty: nobody has.
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
  std::vector<ProgramInfo> programs;
  /// One for each name of programs.
  std::vector<ProofInfo> proofs;
  std::vector<RemarkInfo> remarks;
};

/// `artifact` has passed its verification. `file` is the name to show.
Inspection inspect(const runtime::Artifact &artifact, const std::string &file);

/// The commands, collectives, loops and memory of one program (Program.cpp).
ProgramInfo inspectProgram(const runtime::Artifact &artifact,
                           const artifact::Program &program);

/// Sets `live` of all buffers, and the peaks (Liveness.cpp). Commands,
/// collectives and loops are there.
void findLifetimes(ProgramInfo &program);

/// The roles of an artifact, and the one that a rank has; replicas have the
/// first.
std::vector<RoleInfo> rolesOf(const artifact::Artifact &tables);
const RoleInfo &roleOfRank(const std::vector<RoleInfo> &roles, uint32_t rank);

/// "32x?xf32"
std::string typeText(const artifact::TensorType *type);

} // namespace lockstep::inspect

#endif // LOCKSTEP_TOOLS_LOCKSTEP_INSPECT_INSPECTION_H
