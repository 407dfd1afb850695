//===- Interpreter.cpp - The reference interpreter ------------------------===//

#include "dialect/Reference/Interpreter.h"

#include "dialect/Device/DeviceDialect.h"
#include "dialect/Reference/Code.h"

using namespace mlir;

namespace lockstep::interpret {

Interpreter::~Interpreter() = default;

LogicalResult Interpreter::addVariable(replica::VariableOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  std::optional<Element> element = getElement(type);
  if (!element)
    return op.emitError("expected elements that the interpreter has, found ")
           << type;
  Value initial = Value::zeros(element->lane, type.getShape());
  if (Attribute attribute = op.getInitialAttr()) {
    std::optional<Value> value = fromAttribute(attribute, type);
    if (!value)
      return op.emitError("expected dense elements as initial value");
    initial = *value;
  }
  state[op.getSymNameAttr()] = {
      op, std::vector<Value>(machine.replicas(), initial), {}};
  return success();
}

static device::BindingAttr bindingOf(FunctionOpInterface function,
                                     unsigned argument) {
  return function.getArgAttrOfType<device::BindingAttr>(argument,
                                                        "device.binding");
}

static device::BindingAttr bindingOfResult(FunctionOpInterface function,
                                           unsigned result) {
  return function.getResultAttrOfType<device::BindingAttr>(result,
                                                           "device.binding");
}

/// True for a step that has been lowered: every argument has a binding.
static bool isCollectiveForm(FunctionOpInterface function) {
  if (!isa<func::FuncOp>(function) || function.isExternal())
    return false;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (!bindingOf(function, i))
      return false;
  return true;
}

FailureOr<std::unique_ptr<Interpreter>>
Interpreter::create(ModuleOp module, bool withFunctions) {
  FailureOr<int64_t> replicas = replica::getReplicaCount(module);
  if (failed(replicas))
    return failure();
  std::unique_ptr<Interpreter> interpreter(new Interpreter(*replicas));
  for (auto op : module.getOps<replica::VariableOp>())
    if (failed(interpreter->addVariable(op)))
      return failure();
  for (auto op : module.getOps<FunctionOpInterface>()) {
    bool isStep =
        isa<replica::StepOp, replica::ProgramOp>(op) || isCollectiveForm(op);
    if (!isStep && !(withFunctions && isa<func::FuncOp, device::KernelOp>(op) &&
                     !op.isExternal()))
      continue;
    if (failed(interpreter->addFunction(op)) && !withFunctions)
      return failure();
  }
  return interpreter;
}

LogicalResult Interpreter::addFunction(FunctionOpInterface op) {
  for (unsigned i = 0;
       isCollectiveForm(op) && i < op.getNumArguments() + op.getNumResults();
       ++i) {
    bool isArgument = i < op.getNumArguments();
    device::BindingAttr binding =
        isArgument ? bindingOf(op, i)
                   : bindingOfResult(op, i - op.getNumArguments());
    if (binding && binding.getKind() == device::BindingKind::Variable &&
        !state.contains(StringAttr::get(op.getContext(), binding.getName())))
      return op->emitError("expected a variable '")
             << binding.getName() << "', to which the step is bound";
  }
  for (Type type : op.getArgumentTypes())
    if (!isa<replica::IteratorType>(type) && !getElement(type))
      return op->emitError("expected arguments with elements that the "
                           "interpreter has, found ")
             << type;
  CodeBuilder builder(machine);
  FailureOr<Body> body = builder.buildBody(op.getFunctionBody());
  if (failed(body))
    return failure();
  functions.push_back(
      {op, std::make_shared<const Body>(std::move(*body)), builder.numSlots()});
  return success();
}

bool Interpreter::canRun(FunctionOpInterface op) const {
  return llvm::any_of(
      functions, [&](const Function &function) { return function.op == op; });
}

const Interpreter::Function *Interpreter::find(Operation *op) const {
  return &*llvm::find_if(
      functions, [&](const Function &function) { return function.op == op; });
}

template <typename OpTy, typename Functions>
static OpTy findByName(const Functions &functions, StringRef name) {
  for (const auto &function : functions)
    if (auto op =
            dyn_cast<OpTy>(FunctionOpInterface(function.op).getOperation());
        op && op.getSymName() == name)
      return op;
  return {};
}

replica::StepOp Interpreter::findStep(StringRef name) const {
  return findByName<replica::StepOp>(functions, name);
}
replica::ProgramOp Interpreter::findProgram(StringRef name) const {
  return findByName<replica::ProgramOp>(functions, name);
}

replica::ProgramOp Interpreter::findOnlyProgram() const {
  replica::ProgramOp only;
  for (const Function &function : functions)
    if (auto program = dyn_cast<replica::ProgramOp>(
            FunctionOpInterface(function.op).getOperation())) {
      if (only)
        return {};
      only = program;
    }
  return only;
}

void Interpreter::begin() {
  for (auto &[name, variable] : state)
    variable.forgetWriters();
  machine.begin();
}

LogicalResult Interpreter::run(replica::ProgramOp op, ArrayRef<Value> arguments,
                               SmallVectorImpl<Value> &results) {
  const Function &program = *find(op);
  begin();
  batches.loaded = 0;
  Frame frame{machine, -1, std::vector<Value>(program.numSlots), {}};
  SmallVector<Value> values(arguments);
  Operation *end = nullptr;
  if (failed(program.body->call(frame, values, results, end))) {
    machine.emitFailure();
    return failure();
  }
  return checkCopies();
}

LogicalResult Interpreter::run(replica::StepOp op,
                               ArrayRef<SmallVector<Value>> arguments,
                               std::vector<SmallVector<Value>> &results) {
  return failed(runReplicas(*find(op), arguments, results)) ? failure()
                                                            : checkCopies();
}

LogicalResult Interpreter::run(func::FuncOp op,
                               ArrayRef<SmallVector<Value>> arguments,
                               std::vector<SmallVector<Value>> &results) {
  if (!isCollectiveForm(op))
    return runFunction(op, arguments, results);
  std::vector<SmallVector<Value>> given(replicas()), made;
  for (auto [replica, mine] : llvm::enumerate(given)) {
    size_t next = 0;
    for (unsigned i = 0; i < op.getNumArguments(); ++i) {
      device::BindingAttr binding = bindingOf(op, i);
      if (binding.getKind() == device::BindingKind::Rank)
        mine.push_back(Value::ofInt(replica));
      else if (binding.getKind() == device::BindingKind::Variable)
        mine.push_back(
            state.find(StringAttr::get(op.getContext(), binding.getName()))
                ->second.copies[replica]);
      else
        mine.push_back(arguments[replica][next++]);
    }
  }
  if (failed(runReplicas(*find(op), given, made)))
    return failure();
  results.assign(replicas(), {});
  for (unsigned i = 0; i < op.getNumResults(); ++i) {
    device::BindingAttr binding = bindingOfResult(op, i);
    bool isVariable =
        binding && binding.getKind() == device::BindingKind::Variable;
    Variable *variable =
        isVariable
            ? &state.find(StringAttr::get(op.getContext(), binding.getName()))
                   ->second
            : nullptr;
    for (int64_t replica = 0; replica < replicas(); ++replica)
      if (variable)
        variable->copies[replica] = made[replica][i];
      else
        results[replica].push_back(made[replica][i]);
  }
  return checkCopies();
}

LogicalResult
Interpreter::runFunction(FunctionOpInterface op,
                         ArrayRef<SmallVector<Value>> arguments,
                         std::vector<SmallVector<Value>> &results) {
  return runReplicas(*find(op), arguments, results);
}

LogicalResult
Interpreter::runReplicas(const Function &step,
                         ArrayRef<SmallVector<Value>> arguments,
                         std::vector<SmallVector<Value>> &results) {
  results.assign(replicas(), {});
  begin();
  machine.runReplicas([&](int64_t replica) {
    Frame frame{machine, replica, std::vector<Value>(step.numSlots), {}};
    SmallVector<Value> values(arguments[replica]);
    Operation *end = nullptr;
    (void)step.body->call(frame, values, results[replica], end);
    machine.end(replica, end);
  });
  if (!machine.hasFailed())
    return success();
  machine.emitFailure();
  return failure();
}

/// Checks that replicas which assigned a variable without communication have
/// assigned equal values, except to a variable of which each replica has a
/// value of its own (on_read).
LogicalResult Interpreter::checkCopies() {
  for (auto &[name, variable] : state) {
    if (failed(machine.checkCopies(variable, nullptr))) {
      machine.emitFailure();
      return failure();
    }
    // Equal copies share one buffer from here on.
    if (!variable.op.isPerReplica())
      variable.copies.assign(variable.copies.size(), Value(variable.copies[0]));
  }
  return success();
}

} // namespace lockstep::interpret
