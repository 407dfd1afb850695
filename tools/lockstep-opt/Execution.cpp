//===- Execution.cpp - executes modules on random data --------------------===//

#include "tools/lockstep-opt/Execution.h"

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Device/DeviceDialect.h"
#include "passes/Pipelines/Pipelines.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace mlir;

namespace lockstep::opt {

using interpret::Element;
using interpret::Value;

/// A mixture of the bits of a number (Steele, Lea and Flood, "Fast splittable
/// pseudorandom number generators").
static uint64_t mix(uint64_t bits) {
  bits += 0x9e3779b97f4a7c15;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return bits ^ (bits >> 31);
}

static uint64_t hashOf(StringRef name, uint64_t seed) {
  uint64_t state = mix(seed);
  for (char character : name)
    state = mix(state ^ static_cast<unsigned char>(character));
  return state;
}

Value draw(StringRef name, Type element, ArrayRef<int64_t> shape,
           uint64_t seed) {
  std::optional<Element> kind = interpret::getElement(element);
  Value value(kind->lane, shape);
  uint64_t state = hashOf(name, seed);
  SmallVector<int64_t> place(shape.size(), 0);
  for (int64_t i = 0; i < value.size(); ++i) {
    // By the indices, not by the position: the common rows of a padded and a
    // shorter tensor are equal.
    uint64_t bits = state;
    for (int64_t index : place)
      bits = mix(bits ^ static_cast<uint64_t>(index));
    double number = (static_cast<double>(bits % 33) - 16) / 8;
    if (kind->lane == interpret::Lane::Float)
      value.mutableAs<float>()[i] = static_cast<float>(number);
    else if (kind->lane == interpret::Lane::Double)
      value.mutableAs<double>()[i] = number;
    else
      value.mutableAs<uint64_t>()[i] = bits % (kind->width == 1 ? 2 : 4);
    for (size_t d = place.size(); d-- > 0 && ++place[d] == shape[d];)
      place[d] = 0;
  }
  return value;
}

namespace {

/// Executes one function.
class FunctionRun {
public:
  FunctionRun(interpret::Interpreter &interpreter, FunctionOpInterface function,
              uint64_t seed)
      : interpreter(interpreter), function(function), seed(seed) {}

  void run(Outcomes &outcomes) {
    for (auto &[name, variable] : interpreter.variables()) {
      auto type = cast<RankedTensorType>(variable.op.getType());
      Value value = draw(nameOfVariable(variable.op), type.getElementType(),
                         type.getShape(), seed);
      variable.copies.assign(variable.copies.size(), value);
    }
    std::vector<SmallVector<Value>> arguments(interpreter.replicas()), results;
    for (auto [replica, mine] : llvm::enumerate(arguments))
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        if (isGiven(i))
          mine.push_back(drawArgument(i, replica));
    if (failed(execute(arguments, results)))
      return;
    unsigned position = 0;
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (!isVariable(getResultBinding(i)))
        add(outcomes, nameOfResult(i),
            cast<ShapedType>(function.getResultTypes()[i]).getElementType(),
            results, position++);
    for (auto &[name, variable] : interpreter.variables())
      outcomes[function.getName().str() + ": " + nameOfVariable(variable.op)] =
          {variable.copies,
           cast<RankedTensorType>(variable.op.getType()).getElementType(),
           Type()};
  }

private:
  /// The name of a variable in files, which may differ from its symbol.
  static std::string nameOfVariable(replica::VariableOp op) {
    return nameOfVariable(op.getPath().value_or(op.getSymName()));
  }
  static std::string nameOfVariable(StringRef name) {
    return ("variable '" + name + "'").str();
  }

  device::BindingAttr getBinding(unsigned argument) {
    return function.getArgAttrOfType<device::BindingAttr>(argument,
                                                          "device.binding");
  }
  device::BindingAttr getResultBinding(unsigned result) {
    return function.getResultAttrOfType<device::BindingAttr>(result,
                                                             "device.binding");
  }
  static bool isVariable(device::BindingAttr binding) {
    return binding && binding.getKind() == device::BindingKind::Variable;
  }

  /// Whether an argument is drawn: the interpreter sets variables and the rank.
  bool isGiven(unsigned argument) {
    device::BindingAttr binding = getBinding(argument);
    return !isVariable(binding) &&
           !(binding && binding.getKind() == device::BindingKind::Rank);
  }

  /// The name of an argument, which passes preserve, and whether it differs
  /// between replicas.
  std::pair<std::string, bool> describe(unsigned argument) {
    if (device::BindingAttr binding = getBinding(argument))
      return {binding.getName().str(),
              binding.getKind() == device::BindingKind::Batch};
    for (StringRef role : {"replica.batch", "replica.scalar"})
      if (auto name = function.getArgAttrOfType<StringAttr>(argument, role))
        return {name.getValue().str(), role == "replica.batch"};
    // Captured functions have the variables as arguments and results.
    if (auto name =
            function.getArgAttrOfType<StringAttr>(argument, "replica.variable"))
      return {nameOfVariable(name.getValue()), false};
    return {(function.getName() + " argument " + Twine(argument)).str(), false};
  }

  /// Rows of a replica's batch, equal for all of its tensors.
  int64_t drawSize(size_t replica, unsigned dimension) {
    return static_cast<int64_t>(
        hashOf(("rows" + Twine(replica) + "." + Twine(dimension)).str(), seed) %
        (kMostRows + 1));
  }

  Value drawArgument(unsigned argument, size_t replica) {
    auto [name, isOwn] = describe(argument);
    Type type = function.getArgumentTypes()[argument];
    // In the bounded form, "x.dim0" is the size of "x".
    unsigned dimension = 0;
    if (size_t at = name.rfind(".dim");
        at != std::string::npos &&
        !StringRef(name).substr(at + 4).getAsInteger(10, dimension))
      return Value::ofInt(drawSize(replica, dimension));
    std::string own = isOwn ? name + "@" + std::to_string(replica) : name;
    auto shaped = dyn_cast<ShapedType>(type);
    if (!shaped)
      return draw(own, type, {}, seed);
    SmallVector<int64_t> shape(shaped.getShape());
    for (auto [d, size] : llvm::enumerate(shape))
      if (ShapedType::isDynamic(size))
        size = drawSize(replica, d);
    return draw(own, shaped.getElementType(), shape, seed);
  }

  LogicalResult execute(ArrayRef<SmallVector<Value>> arguments,
                        std::vector<SmallVector<Value>> &results) {
    if (auto step = dyn_cast<replica::StepOp>(function.getOperation()))
      return interpreter.run(step, arguments, results);
    if (auto step = dyn_cast<func::FuncOp>(function.getOperation()))
      return interpreter.run(step, arguments, results);
    return interpreter.runFunction(function, arguments, results);
  }

  std::string nameOfResult(unsigned result) {
    std::string prefix = function.getName().str() + ": ";
    if (device::BindingAttr binding = getResultBinding(result))
      return prefix + "result '" + binding.getName().str() + "'";
    if (auto name = function.getResultAttrOfType<StringAttr>(
            result, "replica.variable"))
      return prefix + nameOfVariable(name.getValue());
    for (StringRef role :
         {"replica.metric", "replica.sum", "replica.count", "replica.result"})
      if (auto name = function.getResultAttrOfType<StringAttr>(result, role))
        return prefix + "result '" + name.getValue().str() + "'";
    return prefix + "result " + std::to_string(result);
  }

  void add(Outcomes &outcomes, const std::string &name, Type element,
           const std::vector<SmallVector<Value>> &results, unsigned position) {
    Outcome &outcome = outcomes[name];
    outcome.element = element;
    if (isa<device::KernelOp>(function.getOperation()))
      outcome.kernel = function.getFunctionType();
    for (const auto &mine : results)
      outcome.values.push_back(mine[position]);
  }

  static constexpr int64_t kMostRows = 3;

  interpret::Interpreter &interpreter;
  FunctionOpInterface function;
  uint64_t seed;
};

} // namespace

/// Whether arguments and results are tensors or numbers that can be drawn and
/// compared.
static bool isOnTensors(FunctionOpInterface function) {
  auto isKnown = [](Type type) {
    return isa<RankedTensorType>(type) && interpret::getElement(type);
  };
  return !function.isExternal() && !isa<replica::ProgramOp>(function) &&
         llvm::all_of(function.getResultTypes(), isKnown) &&
         llvm::all_of(function.getArgumentTypes(), [&](Type type) {
           return isKnown(type) || type.isIntOrIndexOrFloat();
         });
}

/// Whether a module has constructs that the interpreter does not support or
/// defines differently: several roles, groups of some replicas (the results of
/// non-members are undefined), and operations of cross-replica context that
/// have been moved into a step.
static bool isBeyondInterpreter(ModuleOp module) {
  if (!module.getOps<device::RoleOp>().empty())
    return true;
  for (auto group : module.getOps<collective::GroupOp>())
    if (group.getRanks())
      return true;
  for (auto strategy : module.getOps<replica::StrategyOp>())
    if (strategy.getServers())
      return true;
  return module
      .walk([](Operation *op) {
        return WalkResult(failure(op->hasAttr(replica::kCrossReplica)));
      })
      .wasInterrupted();
}

Outcomes execute(ModuleOp module, uint64_t seed) {
  if (isBeyondInterpreter(module))
    return {};
  ScopedDiagnosticHandler silent(module.getContext(),
                                 [](Diagnostic &) { return success(); });
  SetReplicasPassOptions strategy;
  auto strategies = module.getOps<replica::StrategyOp>();
  constexpr int64_t replicas = 2;
  strategy.replicas =
      strategies.empty() || !(*strategies.begin()).getReplicas() ? replicas : 0;
  if (!strategies.empty() &&
      (*strategies.begin()).getKind() == replica::Kind::OneDevice)
    strategy.replicas = 0;
  PassManager pm(module.getContext());
  buildInterpretPipeline(pm, strategy, /*verify=*/false);
  Outcomes outcomes;
  if (failed(pm.run(module)))
    return outcomes;
  FailureOr<std::unique_ptr<interpret::Interpreter>> interpreter =
      interpret::Interpreter::create(module, /*withFunctions=*/true);
  if (failed(interpreter))
    return outcomes;
  int64_t budget = 200'000'000;
  interpret::RunOptions options;
  options.scheduleSeed = seed;
  options.switchesOnlyAtWaits = true;
  options.budget = &budget;
  (*interpreter)->setOptions(options);
  for (auto function : module.getOps<FunctionOpInterface>())
    if (isOnTensors(function) && (*interpreter)->canRun(function))
      FunctionRun(**interpreter, function, seed).run(outcomes);
  return outcomes;
}

/// The tolerance for the element `expected`; `largest` is the largest of its
/// tensor.
static double getTolerance(Type element, double expected, double largest) {
  if (element.isF64())
    return 1e-12 * largest;
  if (element.isF32())
    return 1e-5 * largest;
  int mantissa = element.isF16() ? 10 : 7;
  return 2 * std::ldexp(1.0, std::ilogb(std::max(std::abs(expected), 1e-5)) -
                                 mantissa);
}

static std::optional<std::string>
findValueDifference(const Value &expected, const Value &found, Type element) {
  if (expected.shape() != found.shape())
    return std::string("another shape");
  auto compareFloats = [&](const auto *a,
                           const auto *b) -> std::optional<std::string> {
    double largest = 0;
    for (int64_t i = 0; i < expected.size(); ++i)
      if (std::isfinite(a[i]))
        largest = std::max(largest, std::abs(static_cast<double>(a[i])));
    for (int64_t i = 0; i < expected.size(); ++i) {
      double x = a[i], y = b[i];
      bool isEqual = x == y || (std::isnan(x) && std::isnan(y)) ||
                     std::abs(x - y) <= getTolerance(element, x, largest);
      if (!isEqual)
        return llvm::formatv("element {0}: expected {1}, found {2}", i, x, y)
            .str();
    }
    return std::nullopt;
  };
  if (expected.lane() == interpret::Lane::Float)
    return compareFloats(expected.as<float>(), found.as<float>());
  if (expected.lane() == interpret::Lane::Double)
    return compareFloats(expected.as<double>(), found.as<double>());
  for (int64_t i = 0; i < expected.size(); ++i)
    if (expected.intAt(i) != found.intAt(i))
      return llvm::formatv("element {0}: expected {1}, found {2}", i,
                           expected.intAt(i), found.intAt(i))
          .str();
  return std::nullopt;
}

std::optional<std::string> findDifference(const Outcome &expected,
                                          const Outcome &found) {
  bool isOtherKernel =
      expected.kernel && found.kernel && expected.kernel != found.kernel;
  if (isOtherKernel || expected.element != found.element ||
      expected.values.size() != found.values.size())
    return std::nullopt; // another value of that name
  for (size_t replica = 0; replica < expected.values.size(); ++replica)
    if (auto difference = findValueDifference(
            expected.values[replica], found.values[replica], expected.element))
      return "replica " + std::to_string(replica) + ", " + *difference;
  return std::nullopt;
}

} // namespace lockstep::opt
