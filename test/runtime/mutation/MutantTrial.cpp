//===- MutantTrial.cpp ----------------------------------------------------===//

#include "MutantTrial.h"

#include "runtime/artifact/Artifact.h"
#include "runtime/executor/Cluster.h"
#include "runtime/executor/Coordinator.h"
#include "runtime/schema/RoleInfo.h"
#include "runtime/support/Memory.h"

#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <random>
#include <thread>

namespace lockstep::runtime::mutation {

namespace {

/// Calls a function if `end` is not called in time.
class Timeout {
public:
  Timeout(std::chrono::nanoseconds duration, std::function<void()> function)
      : thread([this, duration, function = std::move(function)] {
          std::unique_lock lock(mutex);
          if (!changed.wait_for(lock, duration, [&] { return isOver; })) {
            hasExpired = true;
            function();
          }
        }) {}
  /// Whether the function was called.
  bool end() {
    {
      std::lock_guard lock(mutex);
      isOver = true;
    }
    changed.notify_all();
    thread.join();
    return hasExpired;
  }

private:
  std::mutex mutex;
  std::condition_variable changed;
  bool isOver = false, hasExpired = false;
  /// Initialized last: it uses the members above.
  std::thread thread;
};

class Trial {
public:
  Trial(std::span<const std::byte> file, const TrialOptions &options)
      : file(file), options(options), random(options.seed) {}

  TrialResult run();

private:
  /// Small numbers, of any type of elements.
  void fill(std::span<std::byte> bytes, artifact::ElementType element);
  Status setUp(Cluster &cluster);
  Status bind(Cluster &cluster, ProgramId program);
  Status runPrograms(Cluster &cluster);
  Status runCluster();
  Status runCoordinator();
  /// Runs something that can be aborted; records whether it was.
  Status runUntilAborted(const std::function<Status()> &function,
                         const std::function<void(const Status &)> &abort);

  std::span<const std::byte> file;
  TrialOptions options;
  std::mt19937_64 random;
  std::shared_ptr<const Artifact> artifact;
  bool isEndless = false;
  /// Batches, which must outlive the cluster that reads them: declared before
  /// it.
  std::vector<Memory> inputs;
  std::unique_ptr<Cluster> cluster;
  std::unique_ptr<Coordinator> coordinator;
};

} // namespace

void Trial::fill(std::span<std::byte> bytes, artifact::ElementType element) {
  using artifact::ElementType;
  auto each = [&]<typename T>(T, auto number) {
    for (size_t i = 0; i + sizeof(T) <= bytes.size(); i += sizeof(T)) {
      T value = number(random() % 5);
      std::memcpy(bytes.data() + i, &value, sizeof value);
    }
  };
  switch (element) {
  case ElementType::i1:
    return each(uint8_t(), [](uint64_t n) { return uint8_t(n & 1); });
  case ElementType::f16:
    return each(uint16_t(), [](uint64_t n) { return uint16_t(n << 12); });
  case ElementType::bf16:
    return each(uint16_t(), [](uint64_t n) { return uint16_t(n << 13); });
  case ElementType::f32:
    return each(float(), [](uint64_t n) { return float(n) / 4 - 0.5f; });
  case ElementType::f64:
    return each(double(), [](uint64_t n) { return double(n) / 4 - 0.5; });
  default:
    if (uint64_t size = elementSize(element))
      for (size_t i = 0; i < bytes.size(); i += size)
        bytes[i] = std::byte(random() % 3);
  }
}

Status Trial::setUp(Cluster &to) {
  for (const ScalarInfo &scalar : to.scalars())
    if (!scalar.hasDefault) {
      std::vector<std::byte> value(scalar.type.bytes);
      fill(value, scalar.type.element);
      LOCKSTEP_RETURN_IF_ERROR(to.setScalar(scalar.name, value));
    }
  for (const VariableInfo &variable : to.variables())
    for (unsigned replica = 0;
         replica < (variable.perReplica ? to.replicas() : 1); ++replica)
      if (std::optional<VariableValue> value =
              to.variable(variable.name, replica);
          value && !variable.hasInitial) {
        std::vector<std::byte> bytes(value->size());
        fill(bytes, variable.type.element);
        value->write(bytes);
      }
  return Status::success();
}

Status Trial::bind(Cluster &to, ProgramId program) {
  const ProgramInfo &info = to.programs()[program];
  if (info.inputSize == 0 && !info.loadsBatches)
    return Status::success();
  for (unsigned replica = 0; replica < to.replicas(); ++replica) {
    std::vector<const std::byte *> batches;
    for (unsigned i = 0; i < (info.loadsBatches ? 3 : 1); ++i) {
      Memory memory;
      LOCKSTEP_RETURN_IF_ERROR(Memory::allocate(info.inputSize).moveTo(memory));
      for (const InputInfo &input : info.inputs)
        fill({memory.data() + input.offset, input.type.bytes},
             input.type.element);
      batches.push_back(memory.data());
      inputs.push_back(std::move(memory));
    }
    LOCKSTEP_RETURN_IF_ERROR(
        info.loadsBatches ? to.bindBatches(program, replica, batches)
                          : to.bindInput(program, replica, batches.front()));
  }
  return Status::success();
}

Status Trial::runPrograms(Cluster &on) {
  for (ProgramId program = 0; program < on.programs().size(); ++program)
    for (int run = 0; run < 2; ++run) {
      LOCKSTEP_RETURN_IF_ERROR(on.run(program));
      // Results can be read.
      const ProgramInfo &info = on.programs()[program];
      for (unsigned output = 0; output < info.outputs.size(); ++output)
        for (unsigned replica = 0;
             replica < (info.outputs[output].perReplica ? on.replicas() : 1);
             ++replica) {
          std::span<const std::byte> bytes =
              on.output(program, output, replica);
          volatile uint8_t sum = 0;
          for (std::byte byte : bytes)
            sum = uint8_t(sum + uint8_t(byte));
          (void)on.outputShape(program, output, replica);
        }
    }
  return Status::success();
}

Status
Trial::runUntilAborted(const std::function<Status()> &function,
                       const std::function<void(const Status &)> &abort) {
  Timeout timeout(options.longest, [&] {
    abort(Status(StatusCode::interrupted, "it went on for too long"));
  });
  Status status = function();
  isEndless = timeout.end() && status.code() == StatusCode::interrupted;
  return status;
}

Status Trial::runCluster() {
  ClusterOptions given;
  given.session.deadline = options.deadline;
  given.session.checkRaces = random() % 4 == 0;
  given.session.shadowVariables = random() % 4 == 0;
  given.session.workers = given.session.checkRaces ? 1 : 2;
  if (!given.session.checkRaces)
    given.executors =
        1 + unsigned(random() %
                     std::min(3u, std::max(1u, artifact->tables().replicas())));
  LOCKSTEP_RETURN_IF_ERROR(Cluster::create(artifact, given).moveTo(cluster));
  LOCKSTEP_RETURN_IF_ERROR(setUp(*cluster));
  for (ProgramId program = 0; program < cluster->programs().size(); ++program)
    LOCKSTEP_RETURN_IF_ERROR(bind(*cluster, program));
  return runUntilAborted([&] { return runPrograms(*cluster); },
                         [&](const Status &reason) { cluster->abort(reason); });
}

Status Trial::runCoordinator() {
  CoordinatorOptions given;
  given.workers = 2;
  given.session.deadline = options.deadline;
  LOCKSTEP_RETURN_IF_ERROR(
      Coordinator::create(artifact, given).moveTo(coordinator));
  for (unsigned worker = 0; worker < given.workers; ++worker) {
    Cluster &lane = coordinator->lane(worker);
    LOCKSTEP_RETURN_IF_ERROR(setUp(lane));
    for (ProgramId program = 0; program < lane.programs().size(); ++program)
      LOCKSTEP_RETURN_IF_ERROR(bind(lane, program));
  }
  auto steps = [&] {
    for (int i = 0; i < 4; ++i)
      if (auto function = coordinator->schedule(
              [&](Cluster &lane, unsigned) { return runPrograms(lane); });
          !function)
        return function.status();
    return coordinator->join();
  };
  return runUntilAborted(
      steps, [&](const Status &reason) { coordinator->abort(reason); });
}

TrialResult Trial::run() {
  if (Status status = Artifact::fromMemory(file).moveTo(artifact); !status.ok())
    return {.outcome = Outcome::refused, .status = status};
  TrialResult result;
  result.status = canShareServers(artifact->tables()) && random() % 2
                      ? runCoordinator()
                      : runCluster();
  bool isHung = result.status.code() == StatusCode::deadline;
  result.outcome = isEndless             ? Outcome::endless
                   : isHung              ? Outcome::hung
                   : !result.status.ok() ? Outcome::failed
                                         : Outcome::completed;
  if (isHung || isEndless) {
    // A kernel may still run: all memory that it may access is kept.
    result.leftBehind = true;
    (void)new Trial(std::move(*this));
  }
  return result;
}

TrialResult tryArtifact(std::span<const std::byte> file,
                        const TrialOptions &options) {
  return Trial(file, options).run();
}

} // namespace lockstep::runtime::mutation
