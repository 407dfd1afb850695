//===- Ways.cpp - The ways in which a program is executed -----------------===//

#include "test/conformance/driver/Ways.h"

#include "dialect/Device/DeviceDialect.h"
#include "dialect/Interfaces/PlainValues.h"
#include "passes/Emit/Elements.h"
#include "passes/Emit/EmitArtifact.h"
#include "passes/Interpret/Interpreter.h"
#include "passes/Pipelines.h"
#include "runtime/data/AlignedBytes.h"
#include "runtime/device/cpu/CpuBinary.h"
#include "runtime/executor/Cluster.h"
#include "runtime/executor/Coordinator.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

#include <algorithm>
#include <cstring>

using namespace mlir;

namespace lockstep::conformance::driver {

namespace {

/// Collects the errors of a scope, notes included.
class ErrorCollector {
public:
  explicit ErrorCollector(MLIRContext *context)
      : handler(context, [this](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
            return success();
          add(diagnostic.str());
          for (Diagnostic &note : diagnostic.getNotes())
            add("note: " + note.str());
          return success();
        }) {}

  void add(const std::string &line) { text += (text.empty() ? "" : "\n") + line; }
  Diagnosis take() { return {text.empty() ? "failed without an error" : text}; }

private:
  std::string text;
  ScopedDiagnosticHandler handler;
};

using Arguments = std::vector<ArgumentBinding>;
using Outcome = std::variant<std::vector<RunResult>, Diagnosis>;

//===----------------------------------------------------------------------===//
// The interpreter
//===----------------------------------------------------------------------===//

Tensor toTensor(Type type, const interpret::Value &value) {
  TensorType component = replica::getComponent(type);
  Tensor tensor;
  tensor.type.element = *toElementType(component.getElementType(), /*isUnsigned=*/false);
  tensor.type.shape.assign(value.shape().begin(), value.shape().end());
  tensor.bytes = interpret::toBytes(*interpret::getElement(component.getElementType()), value);
  tensor.type.bytes = tensor.bytes.size();
  return tensor;
}

interpret::Value toValue(Type element, const Tensor &tensor) {
  return interpret::fromBytes(*interpret::getElement(element), tensor.type.shape, tensor.bytes);
}

/// What replicas cannot do together is refused whether or not it happens in this run, so a program is verified before it is
/// interpreted; as the user wrote it, not as the verification leaves it.
LogicalResult verifyProgram(const Program &program) {
  OwningOpRef<ModuleOp> module = program.module.get().clone();
  CompileOptions options;
  options.stopAfter = Stage::Verify;
  PassManager pm(module->getContext());
  buildCompilePipeline(pm, options);
  return pm.run(*module);
}

/// The tensors of an argument, one or one for each replica.
interpret::Value toValue(Type element, const ArgumentBinding &argument) {
  std::vector<interpret::Value> values;
  for (const Tensor &tensor : argument.values)
    values.push_back(toValue(element, tensor));
  return argument.perReplica ? interpret::Value::perReplica(std::move(values)) : values.front();
}

void setBatches(const Program &program, interpret::Interpreter &interpreter, replica::ProgramOp op) {
  std::vector<std::vector<interpret::Value>> batches;
  for (Type type : op.getArgumentTypes())
    if (auto iterator = dyn_cast<replica::IteratorType>(type))
      for (const Arguments &batch : program.batches) {
        auto &values = batches.emplace_back();
        for (auto [argument, tensor] : llvm::zip_equal(batch, iterator.getElements()))
          values.push_back(toValue(cast<TensorType>(tensor).getElementType(), argument));
      }
  interpreter.setBatches(std::move(batches));
}

RunResult resultOf(const Program &program, interpret::Interpreter &interpreter, TypeRange types, ArrayRef<interpret::Value> values) {
  RunResult result;
  for (auto [value, type] : llvm::zip_equal(values, types)) {
    auto &tensors = result.results.emplace_back();
    if (!value.isPerReplica())
      tensors.push_back(toTensor(type, value));
    else
      for (const interpret::Value &component : value.components())
        tensors.push_back(toTensor(type, component));
  }
  for (const Variable &variable : program.variables) {
    auto &tensors = result.variables.emplace_back();
    auto symbol = StringAttr::get(variable.type.getContext(), variable.symbol);
    for (const interpret::Value &copy : interpreter.variables()[symbol].copies)
      tensors.push_back(toTensor(variable.type, copy));
  }
  return result;
}

Outcome interpretProgram(const Program &program, int64_t replicas, ArrayRef<Arguments> runs) {
  OwningOpRef<ModuleOp> module = program.module.get().clone();
  ErrorCollector errors(module->getContext());
  if (failed(verifyProgram(program)))
    return errors.take();
  PassManager pm(module->getContext());
  CompileOptions import;
  import.stopAfter = Stage::Import;
  buildCompilePipeline(pm, import);
  buildInterpretPipeline(pm, /*strategy=*/{}, /*verify=*/false);
  if (failed(pm.run(*module)))
    return errors.take();
  FailureOr<std::unique_ptr<interpret::Interpreter>> interpreter = interpret::Interpreter::create(*module);
  if (failed(interpreter))
    return errors.take();
  replica::ProgramOp op = (*interpreter)->findProgram(kProgramName);
  setBatches(program, **interpreter, op);
  std::vector<RunResult> outcome;
  for (const Arguments &given : runs) {
    SmallVector<interpret::Value> arguments, results;
    for (auto [index, type] : llvm::enumerate(op.getArgumentTypes()))
      arguments.push_back(isa<replica::IteratorType>(type) ? interpret::Value()
                                                           : toValue(replica::getComponent(type).getElementType(), given[index]));
    if (failed((*interpreter)->run(op, arguments, results)))
      return errors.take();
    outcome.push_back(resultOf(program, **interpreter, op.getResultTypes(), results));
    for (auto output : module->getOps<device::ConstantOutputOp>())
      outcome.back().constants[output.getName().str()] = Json::parse(plainValueToJson(output.getValue()));
  }
  return outcome;
}

//===----------------------------------------------------------------------===//
// The compiler and the runtime
//===----------------------------------------------------------------------===//

std::variant<std::shared_ptr<const runtime::Artifact>, Diagnosis> compile(const Program &program, bool optimize) {
  OwningOpRef<ModuleOp> module = program.module.get().clone();
  ErrorCollector errors(module->getContext());
  CompileOptions options;
  options.optimize = optimize;
  options.checkOrder = true;
  options.targets = {runtime::cpuSupportsTarget("x86-64-v4") ? "x86-64-v4" : "x86-64-v3"};
  PassManager pm(module->getContext());
  buildCompilePipeline(pm, options);
  if (failed(pm.run(*module)))
    return errors.take();
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  if (failed(emitArtifact(*module, stream)))
    return errors.take();
  auto artifact = runtime::Artifact::fromMemory(std::as_bytes(std::span(bytes)));
  if (!artifact)
    return Diagnosis{artifact.status().message()};
  return *artifact;
}

using Results = std::vector<std::vector<Tensor>>;

/// The program, run by a cluster.
class Execution {
public:
  Execution(const Program &program, runtime::Cluster &cluster) : program(program), cluster(cluster) {}

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
  static const ArgumentBinding *findArgument(const Arguments &arguments, const std::string &name) {
    for (const ArgumentBinding &argument : arguments)
      if (argument.name == name)
        return &argument;
    return nullptr;
  }

  runtime::Status prepareAndRun(const Arguments &arguments) {
    for (const runtime::ScalarInfo &scalar : cluster.scalars())
      if (const ArgumentBinding *argument = findArgument(arguments, scalar.name))
        LOCKSTEP_RETURN_IF_ERROR(cluster.setScalar(scalar.name, argument->values.front().bytes));
    batches.clear();
    for (unsigned replica = 0; replica < cluster.replicas(); ++replica) {
      if (info().loadsBatches) {
        std::vector<const std::byte *> bases;
        for (const Arguments &batch : program.batches) {
          LOCKSTEP_RETURN_IF_ERROR(makeBatch(batch, replica));
          bases.push_back(batches.back().bytes().data());
        }
        LOCKSTEP_RETURN_IF_ERROR(cluster.bindBatches(id, replica, std::move(bases)));
      } else if (info().inputSize != 0) {
        LOCKSTEP_RETURN_IF_ERROR(makeBatch(arguments, replica));
        LOCKSTEP_RETURN_IF_ERROR(cluster.bindInput(id, replica, batches.back().bytes().data()));
      }
    }
    return cluster.run(id);
  }

  /// Appends what a replica gets of one batch.
  runtime::Status makeBatch(const Arguments &arguments, unsigned replica) {
    auto batch = runtime::AlignedBytes::allocate(info().inputSize);
    if (!batch)
      return batch.status();
    std::fill(batch->bytes().begin(), batch->bytes().end(), std::byte(0));
    for (const runtime::InputInfo &input : info().inputs)
      if (const ArgumentBinding *argument = findArgument(arguments, input.name))
        fill(batch->bytes().data(), input, argument->values[argument->perReplica ? replica : 0]);
    batches.push_back(std::move(*batch));
    return runtime::Status::success();
  }

  /// The corner of the input's bound, and the sizes of its dynamic dimensions, which are inputs too.
  void fill(std::byte *batch, const runtime::InputInfo &input, const Tensor &tensor) {
    for (size_t d = 0; d < tensor.type.shape.size(); ++d)
      for (const runtime::InputInfo &size : info().inputs)
        if (size.name == fmt::format("{}.dim{}", input.name, d))
          std::memcpy(batch + size.offset, &tensor.type.shape[d], sizeof(int64_t));
    interpret::copyStrided(batch + input.offset, interpret::rowMajorStrides(input.type.shape), tensor.bytes.data(),
                           interpret::rowMajorStrides(tensor.type.shape), tensor.type.shape, runtime::elementSize(tensor.type.element));
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
            std::span<const std::byte> bytes = cluster.output(id, output, replica);
            tensor.bytes.assign(bytes.begin(), bytes.end());
            result[index].push_back(std::move(tensor));
          }
    }
    for (size_t index = 0; index < result.size(); ++index)
      if (result[index].empty())
        return runtime::invalidArgument(fmt::format("the artifact has no output '{}'", resultName(static_cast<unsigned>(index))));
    return result;
  }

  const runtime::ProgramInfo &info() const { return cluster.programs()[id]; }

  const Program &program;
  runtime::Cluster &cluster;
  runtime::ProgramId id = 0;
  std::vector<runtime::AlignedBytes> batches;
};

/// Of each variable, a value for each replica. The artifact has no variable that the program does not touch.
Results variablesOf(const Program &program, runtime::Cluster &cluster) {
  Results result;
  for (const Variable &variable : program.variables) {
    auto &tensors = result.emplace_back();
    for (unsigned replica = 0; replica < cluster.replicas(); ++replica) {
      std::optional<runtime::VariableValue> value = cluster.variable(variable.spec.name, replica);
      tensors.push_back(value ? Tensor{variable.spec.initial.type, value->read()} : variable.spec.initial);
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

using ArtifactPtr = std::shared_ptr<const runtime::Artifact>;

Outcome runTogether(const Program &program, const ArtifactPtr &artifact, unsigned threads, ArrayRef<Arguments> runs) {
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
    outcome.push_back({std::move(*results), variablesOf(program, **cluster), constantsOf(**cluster)});
  }
  return outcome;
}

/// Each run is scheduled on some worker; what the variables are is known when all have ended.
Outcome runOnWorkers(const Program &program, const ArtifactPtr &artifact, unsigned workers, ArrayRef<Arguments> runs) {
  runtime::CoordinatorOptions options;
  options.workers = workers;
  auto coordinator = runtime::Coordinator::create(artifact, options);
  if (!coordinator)
    return Diagnosis{coordinator.status().message()};
  std::vector<RunResult> outcome(runs.size());
  for (auto [arguments, result] : llvm::zip_equal(runs, outcome)) {
    auto scheduled = (*coordinator)->schedule([&](runtime::Cluster &lane, unsigned) -> runtime::Status {
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

} // namespace

std::unique_ptr<MLIRContext> createContext() {
  DialectRegistry registry;
  registerDialects(registry);
  auto context = std::make_unique<MLIRContext>(registry);
  context->loadAllAvailableDialects();
  context->printOpOnDiagnostic(false);
  return context;
}

static constexpr unsigned kWorkers[] = {1, 2};

static std::string wayName(bool optimize, unsigned workers) {
  return fmt::format("-O{} with {} worker{}", optimize ? 2 : 0, workers, workers == 1 ? "" : "s");
}

std::vector<std::string> wayNames() {
  std::vector<std::string> names = {"interpreter"};
  for (bool optimize : {false, true})
    for (unsigned workers : kWorkers)
      names.push_back(wayName(optimize, workers));
  return names;
}

std::vector<WayOutcome> executeInAllWays(const Program &program, int64_t replicas) {
  return executeInAllWays(program, replicas, {program.arguments});
}

std::vector<WayOutcome> executeInAllWays(const Program &program, int64_t replicas, const std::vector<Arguments> &runs) {
  std::vector<WayOutcome> outcomes;
  {
    ErrorCollector errors(program.module.get()->getContext());
    bool isWrong = failed(verify(program.module.get()));
    if (!isWrong && !program.error.empty() && succeeded(verifyProgram(program)))
      errors.add(program.error);
    if (isWrong || !program.error.empty()) {
      Diagnosis diagnosis = errors.take();
      for (const std::string &way : wayNames())
        outcomes.push_back({way, diagnosis});
      return outcomes;
    }
  }
  outcomes.push_back({"interpreter", interpretProgram(program, replicas, runs)});
  for (bool optimize : {false, true}) {
    auto compiled = compile(program, optimize);
    for (unsigned workers : kWorkers) {
      if (auto *artifact = std::get_if<ArtifactPtr>(&compiled))
        outcomes.push_back({wayName(optimize, workers), runTogether(program, *artifact, workers, runs)});
      else
        outcomes.push_back({wayName(optimize, workers), std::get<Diagnosis>(compiled)});
    }
  }
  return outcomes;
}

std::vector<WayOutcome> executeOnWorkers(const Program &program, const std::vector<unsigned> &workers, const std::vector<Arguments> &runs) {
  std::vector<WayOutcome> outcomes;
  for (bool optimize : {false, true}) {
    auto compiled = compile(program, optimize);
    for (unsigned count : workers) {
      std::string way = fmt::format("-O{} scheduled on {} worker{}", optimize ? 2 : 0, count, count == 1 ? "" : "s");
      if (auto *artifact = std::get_if<ArtifactPtr>(&compiled))
        outcomes.push_back({way, runOnWorkers(program, *artifact, count, runs)});
      else
        outcomes.push_back({way, std::get<Diagnosis>(compiled)});
    }
  }
  return outcomes;
}

} // namespace lockstep::conformance::driver
