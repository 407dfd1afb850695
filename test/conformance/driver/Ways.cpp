//===- Ways.cpp - The ways in which a program is executed -----------------===//

#include "test/conformance/driver/Ways.h"

#include "passes/Emit/Elements.h"
#include "passes/Emit/EmitArtifact.h"
#include "passes/Interpret/Interpreter.h"
#include "passes/Pipelines.h"
#include "runtime/data/AlignedBytes.h"
#include "runtime/device/cpu/CpuBinary.h"
#include "runtime/executor/Session.h"

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
  interpret::buildInterpretPipeline(pm, replicas);
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

/// A program of an artifact, ready to be run.
class Execution {
public:
  explicit Execution(const Program &program) : program(program) {}

  Outcome run(const std::shared_ptr<const runtime::Artifact> &artifact, unsigned workers, ArrayRef<Arguments> runs) {
    runtime::SessionOptions options;
    options.workers = workers;
    auto created = runtime::Session::create(artifact, options);
    if (!created)
      return Diagnosis{created.status().message()};
    session = std::move(*created);
    auto found = session->findProgram(kProgramName);
    if (!found)
      return Diagnosis{found.status().message()};
    id = *found;
    std::vector<RunResult> outcome;
    for (const Arguments &arguments : runs) {
      if (runtime::Status status = prepareAndRun(arguments); !status.ok())
        return Diagnosis{status.message()};
      auto left = results();
      if (auto *diagnosis = std::get_if<Diagnosis>(&left))
        return *diagnosis;
      outcome.push_back(std::get<RunResult>(std::move(left)));
    }
    return outcome;
  }

private:
  static const ArgumentBinding *findArgument(const Arguments &arguments, const std::string &name) {
    for (const ArgumentBinding &argument : arguments)
      if (argument.name == name)
        return &argument;
    return nullptr;
  }

  runtime::Status prepareAndRun(const Arguments &arguments) {
    for (const runtime::ScalarInfo &scalar : session->scalars())
      if (const ArgumentBinding *argument = findArgument(arguments, scalar.name))
        LOCKSTEP_RETURN_IF_ERROR(session->setScalar(scalar.name, argument->values.front().bytes));
    batches.clear();
    for (unsigned replica = 0; replica < session->replicas(); ++replica) {
      if (info().loadsBatches) {
        std::vector<const std::byte *> bases;
        for (const Arguments &batch : program.batches) {
          LOCKSTEP_RETURN_IF_ERROR(makeBatch(batch, replica));
          bases.push_back(batches.back().bytes().data());
        }
        LOCKSTEP_RETURN_IF_ERROR(session->bindBatches(id, replica, std::move(bases)));
      } else if (info().inputSize != 0) {
        LOCKSTEP_RETURN_IF_ERROR(makeBatch(arguments, replica));
        LOCKSTEP_RETURN_IF_ERROR(session->bindInput(id, replica, batches.back().bytes().data()));
      }
    }
    return session->run(id);
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

  std::variant<RunResult, Diagnosis> results() {
    RunResult result;
    result.results.resize(program.results.size());
    for (unsigned output = 0; output < info().outputs.size(); ++output) {
      const runtime::OutputInfo &described = info().outputs[output];
      for (unsigned index = 0; index < result.results.size(); ++index)
        if (described.name == resultName(index))
          for (unsigned replica = 0; replica < session->replicas(); ++replica) {
            Tensor tensor{described.type, {}};
            tensor.type.shape = session->outputShape(id, output, replica);
            std::span<const std::byte> bytes = session->output(id, output, replica);
            tensor.bytes.assign(bytes.begin(), bytes.end());
            result.results[index].push_back(std::move(tensor));
          }
    }
    for (size_t index = 0; index < result.results.size(); ++index)
      if (result.results[index].empty())
        return Diagnosis{fmt::format("the artifact has no output '{}'", resultName(static_cast<unsigned>(index)))};
    for (const Variable &variable : program.variables) {
      auto &tensors = result.variables.emplace_back();
      for (unsigned replica = 0; replica < session->replicas(); ++replica) {
        std::span<const std::byte> bytes = session->variable(variable.spec.name, replica);
        Tensor tensor{variable.spec.initial.type, {bytes.begin(), bytes.end()}};
        // The artifact has no variable that the program does not touch.
        tensors.push_back(bytes.empty() && tensor.type.bytes != 0 ? variable.spec.initial : tensor);
      }
    }
    return result;
  }

  const runtime::ProgramInfo &info() const { return session->programs()[id]; }

  const Program &program;
  std::unique_ptr<runtime::Session> session;
  runtime::ProgramId id = 0;
  std::vector<runtime::AlignedBytes> batches;
};

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
      if (auto *artifact = std::get_if<std::shared_ptr<const runtime::Artifact>>(&compiled))
        outcomes.push_back({wayName(optimize, workers), Execution(program).run(*artifact, workers, runs)});
      else
        outcomes.push_back({wayName(optimize, workers), std::get<Diagnosis>(compiled)});
    }
  }
  return outcomes;
}

} // namespace lockstep::conformance::driver
