//===- CompiledExecutions.cpp - Compiled programs, executed ---------------===//

#include "test/conformance/driver/SingleConfiguration.h"

#include "dialect/Reference/Value.h"
#include "passes/Emit/EmitArtifact.h"
#include "passes/Pipelines/Pipelines.h"
#include "runtime/data/AlignedBytes.h"
#include "runtime/device/cpu/CpuBinary.h"
#include "runtime/executor/Cluster.h"
#include "runtime/executor/Coordinator.h"

#include "mlir/Pass/PassManager.h"

#include <algorithm>
#include <cstring>

using namespace mlir;

namespace lockstep::conformance::driver {

namespace {

using Results = std::vector<std::vector<Tensor>>;

/// The program, run by a cluster.
class Execution {
public:
  Execution(const Program &program, runtime::Cluster &cluster)
      : program(program), cluster(cluster) {}

  /// The results of a run, by number, of each replica.
  runtime::Expected<Results> run(const Arguments &arguments) {
    auto found = cluster.findProgram(kProgramName);
    if (!found)
      return found.status();
    id = *found;
    LOCKSTEP_RETURN_IF_ERROR(prepareAndRun(arguments));
    return results();
  }

private:
  static const ArgumentBinding *findArgument(const Arguments &arguments,
                                             const std::string &name) {
    for (const ArgumentBinding &argument : arguments)
      if (argument.name == name)
        return &argument;
    return nullptr;
  }

  runtime::Status prepareAndRun(const Arguments &arguments) {
    for (const runtime::ScalarInfo &scalar : cluster.scalars())
      if (const ArgumentBinding *argument =
              findArgument(arguments, scalar.name))
        LOCKSTEP_RETURN_IF_ERROR(
            cluster.setScalar(scalar.name, argument->values.front().bytes));
    batches.clear();
    for (unsigned replica = 0; replica < cluster.replicas(); ++replica) {
      if (info().loadsBatches) {
        std::vector<const std::byte *> bases;
        for (const Arguments &batch : program.batches) {
          LOCKSTEP_RETURN_IF_ERROR(makeBatch(batch, replica));
          bases.push_back(batches.back().bytes().data());
        }
        LOCKSTEP_RETURN_IF_ERROR(
            cluster.bindBatches(id, replica, std::move(bases)));
      } else if (info().inputSize != 0) {
        LOCKSTEP_RETURN_IF_ERROR(makeBatch(arguments, replica));
        LOCKSTEP_RETURN_IF_ERROR(
            cluster.bindInput(id, replica, batches.back().bytes().data()));
      }
    }
    return cluster.run(id);
  }

  /// Appends a replica's part of one batch.
  runtime::Status makeBatch(const Arguments &arguments, unsigned replica) {
    auto batch = runtime::AlignedBytes::allocate(info().inputSize);
    if (!batch)
      return batch.status();
    std::fill(batch->bytes().begin(), batch->bytes().end(), std::byte(0));
    for (const runtime::InputInfo &input : info().inputs)
      if (const ArgumentBinding *argument = findArgument(arguments, input.name))
        fill(batch->bytes().data(), input,
             argument->values[argument->perReplica ? replica : 0]);
    batches.push_back(std::move(*batch));
    return runtime::Status::success();
  }

  /// The corner of the input's bound, and the sizes of its dynamic dimensions,
  /// which are inputs too.
  void fill(std::byte *batch, const runtime::InputInfo &input,
            const Tensor &tensor) {
    for (size_t d = 0; d < tensor.type.shape.size(); ++d)
      for (const runtime::InputInfo &size : info().inputs)
        if (size.name == fmt::format("{}.dim{}", input.name, d))
          std::memcpy(batch + size.offset, &tensor.type.shape[d],
                      sizeof(int64_t));
    interpret::copyStrided(
        batch + input.offset, interpret::rowMajorStrides(input.type.shape),
        tensor.bytes.data(), interpret::rowMajorStrides(tensor.type.shape),
        tensor.type.shape, runtime::elementSize(tensor.type.element));
  }

  runtime::Expected<Results> results() {
    Results result(program.results.size());
    for (unsigned output = 0; output < info().outputs.size(); ++output) {
      const runtime::OutputInfo &described = info().outputs[output];
      for (unsigned index = 0; index < result.size(); ++index)
        if (described.name == resultName(index))
          for (unsigned replica = 0; replica < cluster.replicas(); ++replica) {
            Tensor tensor{described.type, {}};
            tensor.type.shape = cluster.outputShape(id, output, replica);
            std::span<const std::byte> bytes =
                cluster.output(id, output, replica);
            tensor.bytes.assign(bytes.begin(), bytes.end());
            result[index].push_back(std::move(tensor));
          }
    }
    for (size_t index = 0; index < result.size(); ++index)
      if (result[index].empty())
        return runtime::invalidArgument(
            fmt::format("the artifact has no output '{}'",
                        resultName(static_cast<unsigned>(index))));
    return result;
  }

  const runtime::ProgramInfo &info() const { return cluster.programs()[id]; }

  const Program &program;
  runtime::Cluster &cluster;
  runtime::ProgramId id = 0;
  std::vector<runtime::AlignedBytes> batches;
};

/// Of each variable, a value for each replica. The artifact has no variable
/// that the program does not touch.
Results variablesOf(const Program &program, runtime::Cluster &cluster) {
  Results result;
  for (const Variable &variable : program.variables) {
    auto &tensors = result.emplace_back();
    for (unsigned replica = 0; replica < cluster.replicas(); ++replica) {
      std::optional<runtime::VariableValue> value =
          cluster.variable(variable.spec.name, replica);
      tensors.push_back(value
                            ? Tensor{variable.spec.initial.type, value->read()}
                            : variable.spec.initial);
    }
  }
  return result;
}

/// Results that are no tensors, by name.
Json constantsOf(const runtime::Cluster &cluster) {
  Json constants = Json::object();
  if (auto id = cluster.findProgram(kProgramName))
    for (const auto &[name, value] : cluster.programs()[*id].constantOutputs)
      constants[name] = Json::parse(value);
  return constants;
}

} // namespace

std::variant<ArtifactPtr, Diagnosis> compileProgram(const Program &program,
                                                    bool optimize) {
  OwningOpRef<ModuleOp> module = program.module.get().clone();
  ErrorCollector errors(module->getContext());
  CompileOptions options;
  options.optimize = optimize;
  options.checkOrder = true;
  options.targets = {runtime::cpuSupportsTarget("x86-64-v4") ? "x86-64-v4"
                                                             : "x86-64-v3"};
  PassManager pm(module->getContext());
  buildCompilePipeline(pm, options);
  if (failed(pm.run(*module)))
    return errors.take();
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  if (failed(emitArtifact(*module, stream)))
    return errors.take();
  auto artifact =
      runtime::Artifact::fromMemory(std::as_bytes(std::span(bytes)));
  if (!artifact)
    return Diagnosis{artifact.status().message()};
  return *artifact;
}

Outcome runTogether(const Program &program, const ArtifactPtr &artifact,
                    unsigned threads, ArrayRef<Arguments> runs) {
  runtime::ClusterOptions options;
  options.session.workers = threads;
  auto cluster = runtime::Cluster::create(artifact, options);
  if (!cluster)
    return Diagnosis{cluster.status().message()};
  Execution execution(program, **cluster);
  std::vector<RunResult> outcome;
  for (const Arguments &arguments : runs) {
    auto results = execution.run(arguments);
    if (!results)
      return Diagnosis{results.status().message()};
    outcome.push_back({std::move(*results), variablesOf(program, **cluster),
                       constantsOf(**cluster)});
  }
  return outcome;
}

Outcome runOnWorkers(const Program &program, const ArtifactPtr &artifact,
                     unsigned workers, ArrayRef<Arguments> runs) {
  runtime::CoordinatorOptions options;
  options.workers = workers;
  auto coordinator = runtime::Coordinator::create(artifact, options);
  if (!coordinator)
    return Diagnosis{coordinator.status().message()};
  std::vector<RunResult> outcome(runs.size());
  for (auto [arguments, result] : llvm::zip_equal(runs, outcome)) {
    auto scheduled =
        (*coordinator)
            ->schedule(
                [&](runtime::Cluster &lane, unsigned) -> runtime::Status {
                  auto results = Execution(program, lane).run(arguments);
                  if (!results)
                    return results.status();
                  result.results = std::move(*results);
                  return runtime::Status::success();
                });
    if (!scheduled)
      return Diagnosis{scheduled.status().message()};
  }
  if (runtime::Status status = (*coordinator)->join(); !status.ok())
    return Diagnosis{status.message()};
  for (RunResult &result : outcome) {
    result.variables = variablesOf(program, (*coordinator)->lane());
    result.constants = constantsOf((*coordinator)->lane());
  }
  return outcome;
}

} // namespace lockstep::conformance::driver
