//===- SessionImpl.h - state of a session -----------------------*- C++ -*-===//
//
// SessionSetup.cpp constructs it from an artifact and options, Session.cpp uses
// it.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_SESSIONIMPL_H
#define LOCKSTEP_RUNTIME_EXECUTOR_SESSIONIMPL_H

#include "runtime/executor/Agreement.h"
#include "runtime/executor/BoundsChecker.h"
#include "runtime/executor/Executor.h"
#include "runtime/executor/FiniteChecker.h"
#include "runtime/executor/RaceChecker.h"
#include "runtime/executor/Session.h"
#include "runtime/executor/Trace.h"
#include "runtime/schema/RoleInfo.h"

#include <map>
#include <memory>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace lockstep::runtime {

class Session::Impl {
public:
  Status initialize(std::shared_ptr<const Artifact> given,
                    SessionOptions givenOptions);

  Status findRanks();
  Status checkMembers() const;
  Status checkShared() const;
  Status parseInjections();
  Status allocateMemory();
  Status uploadConstants();
  Status initializeVariables();
  void describe();
  Status loadPrograms();
  /// Errors of a run that can be detected before it begins.
  Status checkReady(ProgramId program);
  // Comparisons between executors (SessionAgreement.cpp).
  /// Whether nothing excludes that commands are recorded.
  bool recordsRuns() const;
  /// Posts the facts that must be equal in all executors.
  void postFacts();
  /// Before the first run: waits until all executors have posted their facts,
  /// and compares them.
  Status awaitAgreement();
  /// Compares the facts without waiting, if all executors have posted them.
  Status checkAgreementIfPosted();
  /// After a run that may have written variables.
  Status compareMirrored(const Program &program);
  Status exchange(std::string_view topic, uint64_t round,
                  const RankRange &among, std::string_view what,
                  std::vector<Post> &posts);

  Status keepShadow(const Program &program);
  /// Uploads variables and scalars that the host has set to the device, before
  /// a run of the program.
  Status flushMemory(const ProgramState &state) const;
  void forgetOutputs(ProgramId program);
  /// Whether the device still executes commands of an earlier run.
  bool isDeviceBusy() const;
  bool variablesRestored() const {
    return options.shadowVariables && executor->failed() &&
           executor->variablesTouched();
  }
  const artifact::Buffer *outputBuffer(ProgramId program,
                                       unsigned output) const;

  std::shared_ptr<const Artifact> artifact;
  SessionOptions options;
  RoleInfo role;
  uint32_t roleIndex = 0;
  /// The ranks that are here.
  RankRange ranks;
  std::unique_ptr<NetworkInbox> inbox;
  std::vector<Injection> injections;
  std::unique_ptr<Module> module;
  SessionMemory memory;
  std::vector<VariableInfo> variables;
  std::vector<ScalarInfo> scalars;
  std::vector<bool> scalarIsSet;
  std::vector<ProgramInfo> programInfos;
  /// Offset of each variable in the memory of its space.
  std::vector<uint64_t> variableOffsets;
  std::unordered_map<std::string_view, unsigned> variableIndex, scalarIndex,
      programIndex;

  std::vector<std::unique_ptr<Program>> programs;
  std::vector<std::vector<std::byte *>> inputs;
  /// For programs that load batches: the batches of each replica.
  std::vector<std::vector<std::vector<std::byte *>>> batches;
  /// Input of such a program before it has loaded a batch.
  Memory noBatch;
  std::unique_ptr<Trace> trace;
  std::unique_ptr<BoundsChecker> bounds;
  std::unique_ptr<FiniteChecker> finite;
  std::unique_ptr<RaceChecker> races;
  std::vector<std::unique_ptr<ProgramState>> states;
  /// Outputs downloaded from the device, by program, output and replica. Unused
  /// on a host device.
  mutable std::map<std::tuple<ProgramId, unsigned, unsigned>,
                   std::vector<std::byte>>
      outputs;
  uint64_t runs = 0;
  /// Numbers of runs that may have written variables, and of comparisons of
  /// mirrored variables.
  uint64_t updates = 0, comparisons = 0;
  bool hasAgreed = false;
  bool memoryFailed = false;
  /// Destroyed before the members above, which its threads may access until
  /// they are joined.
  std::unique_ptr<Executor> executor;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_SESSIONIMPL_H
