//===- Trial.cpp - A program, judged and executed -------------------------===//

#include "Trial.h"

#include "dialect/Device/DeviceDialect.h"
#include "passes/Analysis/UserLocation.h"
#include "passes/Passes.h"
#include "passes/Pipelines/Pipelines.h"
#include "passes/Verify/Verdict.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <array>

using namespace mlir;

namespace lockstep::test {

StringRef toString(Outcome outcome) {
  switch (outcome) {
  case Outcome::Ends:
    return "ends";
  case Outcome::Blocks:
    return "blocks";
  case Outcome::CopiesDiffer:
    return "copies differ";
  case Outcome::ResultsDiffer:
    return "results differ";
  case Outcome::ShapesDiffer:
    return "shapes differ";
  case Outcome::Fails:
    return "fails";
  }
  llvm_unreachable("unknown outcome");
}

std::unique_ptr<MLIRContext> makeContext() {
  DialectRegistry registry;
  registerDialects(registry);
  auto context =
      std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->printOpOnDiagnostic(false);
  return context;
}

//===----------------------------------------------------------------------===//
// The verdict
//===----------------------------------------------------------------------===//

/// "LINE: message".
static std::string toText(Location location, const Twine &message) {
  std::optional<FileLineColLoc> line = findUserLocation(location);
  return ((line ? Twine(line->getLine()) : Twine("?")) + ": " + message).str();
}

template <typename Body> bool Trial::collect(const Body &body) {
  messages.clear();
  inputsOfErrors.clear();
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error) {
      messages.push_back(toText(diagnostic.getLocation(), diagnostic.str()));
      inputsOfErrors.push_back(findInputs(diagnostic));
    }
    return success();
  });
  return succeeded(body());
}

Trial::Trial(MLIRContext &context, StringRef text, int64_t replicas)
    : context(context), replicas(replicas) {
  valid = collect([&]() -> LogicalResult {
    module = parseSourceString<ModuleOp>(text, &context, "program.mlir");
    if (!module)
      return failure();
    PassManager pm(&context);
    CompileOptions import;
    import.stopAfter = Stage::Import;
    // A lowered program is not imported.
    if (llvm::all_of(module->getOps<func::FuncOp>(), [](func::FuncOp function) {
          return function.isExternal();
        }))
      buildCompilePipeline(pm, import);
    SetReplicasPassOptions strategy;
    strategy.replicas = replicas;
    pm.addPass(createSetReplicasPass(strategy));
    pm.addPass(createApplyStrategyPass());
    return pm.run(*module);
  });
}

bool Trial::isAccepted(StringRef brokenRule) {
  if (!valid)
    return false;
  return collect([&]() -> LogicalResult {
    PassManager pm(&context);
    std::unique_ptr<Pass> verify = createVerifyUniformityPass();
    auto fail = [&](const Twine &message) {
      return module->emitError(message);
    };
    std::string options = "find-examples=true";
    if (!brokenRule.empty())
      options += (" broken-rule=" + brokenRule).str();
    if (failed(verify->initializeOptions(options, fail)))
      return failure();
    pm.addPass(std::move(verify));
    return pm.run(*module);
  });
}

//===----------------------------------------------------------------------===//
// Execution
//===----------------------------------------------------------------------===//

/// SplitMix64: the same numbers everywhere.
static uint64_t draw(uint64_t &state) {
  uint64_t z = (state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// Elements that programs ask for: small numbers, on both sides of their
/// limits, and now and then one that is none.
static interpret::Value drawValue(Type type, ArrayRef<int64_t> shape,
                                  uint64_t &state) {
  interpret::Element element = *interpret::getElement(type);
  interpret::Value value(element.lane, shape);
  static constexpr std::array<double, 8> kFloats = {
      0.5, 2.0,   3.0,  0.25,
      5.0, 2.0e9, -1.0, std::numeric_limits<double>::quiet_NaN()};
  for (int64_t i = 0; i < value.size(); ++i) {
    uint64_t drawn = draw(state);
    if (element.lane == interpret::Lane::Float)
      value.mutableAs<float>()[i] =
          static_cast<float>(kFloats[drawn % kFloats.size()]);
    else if (element.lane == interpret::Lane::Double)
      value.mutableAs<double>()[i] = kFloats[drawn % kFloats.size()];
    else
      value.mutableAs<uint64_t>()[i] =
          drawn % 4 & interpret::widthMask(element.width);
  }
  return value;
}

/// Whether argument `index` is a host value for all replicas.
static bool isShared(FunctionOpInterface function, unsigned index) {
  auto binding =
      function.getArgAttrOfType<device::BindingAttr>(index, "device.binding");
  bool plain =
      isa<replica::ProgramOp>(function) &&
      !isa<replica::PerReplicaType>(function.getArgumentTypes()[index]);
  return plain || function.getArgAttr(index, "replica.scalar") ||
         (binding && binding.getKind() == device::BindingKind::Scalar);
}

/// Variables and the number of the replica are supplied by the interpreter.
static bool isGiven(FunctionOpInterface function, unsigned index) {
  auto binding =
      function.getArgAttrOfType<device::BindingAttr>(index, "device.binding");
  return !binding || binding.getKind() == device::BindingKind::Batch ||
         binding.getKind() == device::BindingKind::Scalar;
}

interpret::Value Trial::drawArgument(unsigned index, uint64_t &state,
                                     uint64_t common) {
  auto type = cast<RankedTensorType>(
      replica::getComponent(function.getArgumentTypes()[index]));
  // One argument in four has the same value on all replicas, as if it were the
  // host's.
  uint64_t equal = common + index;
  bool shared = draw(equal) % 4 == 0 || isShared(function, index);
  uint64_t &source = shared ? equal : state;
  SmallVector<int64_t> shape(type.getShape());
  auto bounds =
      function.getArgAttrOfType<DenseI64ArrayAttr>(index, "replica.bounds");
  unsigned dynamic = 0;
  for (int64_t &size : shape)
    if (ShapedType::isDynamic(size))
      size = static_cast<int64_t>(draw(source) %
                                  (bounds ? bounds[dynamic++] + 1 : 4));
  return drawValue(type, shape, source);
}

void Trial::setVariables(uint64_t &state) {
  for (auto &[name, variable] : interpreter->variables()) {
    replica::VariableOp op = variable.op;
    auto type = cast<RankedTensorType>(op.getType());
    for (auto [replica, copy] : llvm::enumerate(variable.copies))
      copy = replica > 0 && !op.isOnRead()
                 ? variable.copies[0]
                 : drawValue(type, type.getShape(), state);
  }
}

bool Trial::prepareExecution(Execution &execution) {
  if (interpreter)
    return true;
  bool works = valid && !prepared && collect([&]() -> LogicalResult {
                 PassManager pm(&context);
                 buildInterpretPipeline(pm, /*strategy=*/{}, /*verify=*/false);
                 if (failed(pm.run(*module)))
                   return failure();
                 auto created = interpret::Interpreter::create(*module);
                 if (failed(created))
                   return failure();
                 for (auto candidate : module->getOps<FunctionOpInterface>())
                   if (!candidate.isExternal())
                     function = candidate;
                 if (!function)
                   return module->emitError("expected a step or a program");
                 interpreter = std::move(*created);
                 return success();
               });
  prepared = true;
  if (works)
    return true;
  execution.outcome = Outcome::Fails;
  for (const std::string &message : messages)
    execution.message += message + "\n";
  return false;
}

static Outcome classify(StringRef message) {
  if (message.contains("blocked: "))
    return Outcome::Blocks;
  if (message.contains("to be equal on all replicas") ||
      message.contains("that is equal on all replicas"))
    return Outcome::CopiesDiffer;
  if (message.contains("[E_SHAPE_MISMATCH]"))
    return Outcome::ShapesDiffer;
  return Outcome::Fails;
}

LogicalResult Trial::run(ArrayRef<SmallVector<interpret::Value>> arguments,
                         std::vector<SmallVector<interpret::Value>> &results) {
  if (auto step = dyn_cast<replica::StepOp>(function.getOperation()))
    return interpreter->run(step, arguments, results);
  if (auto step = dyn_cast<func::FuncOp>(function.getOperation()))
    return interpreter->run(step, arguments, results);
  SmallVector<interpret::Value> given, yielded;
  for (unsigned index = 0; index < function.getNumArguments(); ++index) {
    std::vector<interpret::Value> components;
    for (const auto &mine : arguments)
      components.push_back(mine[index]);
    bool perReplica =
        isa<replica::PerReplicaType>(function.getArgumentTypes()[index]);
    given.push_back(perReplica
                        ? interpret::Value::perReplica(std::move(components))
                        : components.front());
  }
  // Results of a program are one of all, or one of each by their type: there is
  // nothing to compare.
  results.assign(replicas, {});
  return interpreter->run(cast<replica::ProgramOp>(function.getOperation()),
                          given, yielded);
}

/// Results of a step that must be equal on all replicas, by position among the
/// results of replicas.
static SmallVector<unsigned> findMetrics(FunctionOpInterface function) {
  SmallVector<unsigned> metrics;
  unsigned position = 0;
  for (unsigned index = 0; index < function.getNumResults(); ++index) {
    auto binding = function.getResultAttrOfType<device::BindingAttr>(
        index, "device.binding");
    if (binding && binding.getKind() == device::BindingKind::Variable)
      continue;
    if (function.getResultAttr(index, "replica.metric") ||
        (binding && binding.getKind() == device::BindingKind::Metric))
      metrics.push_back(position);
    ++position;
  }
  return metrics;
}

Execution Trial::execute(uint64_t inputs, std::optional<uint64_t> schedule) {
  Execution execution;
  if (!prepareExecution(execution))
    return execution;
  uint64_t state = inputs;
  uint64_t common = draw(state);
  setVariables(state);
  std::vector<SmallVector<interpret::Value>> arguments(replicas);
  for (int64_t replica = 0; replica < replicas; ++replica)
    for (unsigned index = 0; index < function.getNumArguments(); ++index)
      if (isGiven(function, index))
        arguments[replica].push_back(drawArgument(index, state, common));
  return executeOn(arguments, schedule);
}

static interpret::Value toValue(Attribute attribute) {
  return *interpret::fromAttribute(
      attribute, cast<DenseElementsAttr>(attribute).getType());
}

Execution Trial::execute(DictionaryAttr example,
                         std::optional<uint64_t> schedule) {
  Execution execution;
  if (!prepareExecution(execution))
    return execution;
  std::vector<SmallVector<interpret::Value>> arguments(replicas);
  for (auto [mine, given] :
       llvm::zip_equal(arguments, example.getAs<ArrayAttr>("arguments")))
    for (Attribute value : cast<ArrayAttr>(given))
      mine.push_back(toValue(value));
  for (NamedAttribute variable : example.getAs<DictionaryAttr>("variables"))
    interpreter->variables()[variable.getName()].copies.assign(
        replicas, toValue(variable.getValue()));
  return executeOn(arguments, schedule);
}

Execution Trial::executeOn(ArrayRef<SmallVector<interpret::Value>> arguments,
                           std::optional<uint64_t> schedule) {
  Execution execution;
  interpret::RunOptions options;
  options.scheduleSeed = schedule;
  options.unwrittenDiffers = true;
  interpreter->setOptions(options);
  std::vector<SmallVector<interpret::Value>> results;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    execution.message +=
        toText(diagnostic.getLocation(), diagnostic.str()) + "\n";
    for (Diagnostic &note : diagnostic.getNotes())
      execution.message += toText(note.getLocation(), note.str()) + "\n";
    return success();
  });
  if (failed(run(arguments, results))) {
    execution.outcome = classify(execution.message);
    return execution;
  }
  if (isa<replica::ProgramOp>(function))
    return execution;
  for (unsigned metric : findMetrics(function))
    for (const auto &mine : results)
      if (!mine[metric].isIdentical(results[0][metric])) {
        execution.outcome = Outcome::ResultsDiffer;
        execution.message =
            "result " + std::to_string(metric) + " differs between replicas\n";
      }
  return execution;
}

Execution Trial::findFailure(uint64_t count) {
  Execution execution;
  for (uint64_t inputs = 0;
       inputs < count && execution.outcome == Outcome::Ends; ++inputs)
    execution =
        execute(inputs, inputs % 3 == 0 ? std::nullopt
                                        : std::optional<uint64_t>(inputs));
  return execution;
}

} // namespace lockstep::test
