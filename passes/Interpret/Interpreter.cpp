//===- Interpreter.cpp - The reference interpreter ------------------------===//

#include "passes/Interpret/Interpreter.h"

#include "passes/Interpret/Code.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Linalg/Passes.h"

#include <thread>

using namespace mlir;

namespace lockstep::interpret {

void buildInterpretPipeline(OpPassManager &pm, int64_t replicas) {
  SetReplicasPassOptions options;
  options.replicas = replicas;
  pm.addPass(createSetReplicasPass(options));
  pm.addPass(createApplyStrategyPass());
  pm.addPass(createLinalgGeneralizeNamedOpsPass());
}

Interpreter::~Interpreter() = default;

LogicalResult Interpreter::addVariable(replica::VariableOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  std::optional<Element> element = getElement(type);
  if (!element)
    return op.emitError("expected elements that the interpreter has, found ") << type;
  Value initial(element->lane, type.getShape());
  if (Attribute attribute = op.getInitialAttr()) {
    std::optional<Value> value = fromAttribute(attribute, type);
    if (!value)
      return op.emitError("expected dense elements as initial value");
    initial = *value;
  }
  state[op.getSymNameAttr()] = {op, std::vector<Value>(machine.replicas(), initial), nullptr};
  return success();
}

FailureOr<std::unique_ptr<Interpreter>> Interpreter::create(ModuleOp module) {
  FailureOr<int64_t> replicas = replica::getReplicaCount(module);
  if (failed(replicas))
    return failure();
  std::unique_ptr<Interpreter> interpreter(new Interpreter(*replicas));
  for (auto op : module.getOps<replica::VariableOp>())
    if (failed(interpreter->addVariable(op)))
      return failure();
  for (auto op : module.getOps<FunctionOpInterface>())
    if (isa<replica::StepOp, replica::ProgramOp>(op) && failed(interpreter->addFunction(op)))
      return failure();
  return interpreter;
}

LogicalResult Interpreter::addFunction(FunctionOpInterface op) {
  if (!op.getFunctionBody().hasOneBlock())
    return op->emitError("expected one block, found branches between several");
  for (Type type : op.getArgumentTypes())
    if (!isa<replica::IteratorType>(type) && !getElement(type))
      return op->emitError("expected arguments with elements that the interpreter has, found ") << type;
  CodeBuilder builder(machine);
  FailureOr<std::shared_ptr<const Code>> code = builder.build(op.getFunctionBody().front());
  if (failed(code))
    return failure();
  functions.push_back({op, *code, builder.numSlots()});
  return success();
}

const Interpreter::Function *Interpreter::find(Operation *op) const {
  return &*llvm::find_if(functions, [&](const Function &function) { return function.op == op; });
}

template <typename OpTy, typename Functions> static OpTy findByName(const Functions &functions, StringRef name) {
  for (const auto &function : functions)
    if (auto op = dyn_cast<OpTy>(FunctionOpInterface(function.op).getOperation()); op && op.getSymName() == name)
      return op;
  return {};
}

replica::StepOp Interpreter::findStep(StringRef name) const { return findByName<replica::StepOp>(functions, name); }
replica::ProgramOp Interpreter::findProgram(StringRef name) const { return findByName<replica::ProgramOp>(functions, name); }

replica::ProgramOp Interpreter::findOnlyProgram() const {
  replica::ProgramOp only;
  for (const Function &function : functions)
    if (auto program = dyn_cast<replica::ProgramOp>(FunctionOpInterface(function.op).getOperation())) {
      if (only)
        return {};
      only = program;
    }
  return only;
}

LogicalResult Interpreter::run(replica::ProgramOp op, ArrayRef<Value> arguments, SmallVectorImpl<Value> &results) {
  const Function &program = *find(op);
  machine.begin();
  batches.loaded = 0;
  Frame frame{machine, -1, std::vector<Value>(program.numSlots), {}};
  SmallVector<Value> values(arguments);
  if (failed(program.code->call(frame, values, results))) {
    machine.emitFailure();
    return failure();
  }
  return checkCopies();
}

LogicalResult Interpreter::run(replica::StepOp op, ArrayRef<SmallVector<Value>> arguments,
                               std::vector<SmallVector<Value>> &results) {
  const Function &step = *find(op);
  results.assign(replicas(), {});
  machine.begin();
  auto runReplica = [&](int64_t replica) {
    Frame frame{machine, replica, std::vector<Value>(step.numSlots), {}};
    SmallVector<Value> values(arguments[replica]);
    (void)step.code->call(frame, values, results[replica]);
    machine.end(replica, step.code->terminator);
  };
  std::vector<std::thread> threads;
  for (int64_t replica = 1; replica < replicas(); ++replica)
    threads.emplace_back(runReplica, replica);
  runReplica(0);
  for (std::thread &thread : threads)
    thread.join();
  if (machine.hasFailed()) {
    machine.emitFailure();
    return failure();
  }
  return checkCopies();
}

/// What replicas assign on their own must have been equal everywhere, unless the variable is one for each of them.
LogicalResult Interpreter::checkCopies() {
  for (auto &[name, variable] : state) {
    if (variable.op.isOnRead())
      continue;
    for (auto [replica, copy] : llvm::enumerate(variable.copies)) {
      if (!copy.isIdentical(variable.copies[0])) {
        Operation *place = variable.assigned ? variable.assigned : variable.op.getOperation();
        return place->emitError("expected variable '")
               << name.getValue() << "' to be equal on all replicas after the step, found another value on replica " << replica
               << " than on replica 0";
      }
      // From here on they share their elements.
      copy = variable.copies[0];
    }
  }
  return success();
}

} // namespace lockstep::interpret
