//===- InterpretedExecution.cpp - Interpreted programs --------------------===//

#include "test/conformance/driver/SingleConfiguration.h"

#include "dialect/Device/DeviceDialect.h"
#include "dialect/Interfaces/PlainValues.h"
#include "dialect/Reference/Interpreter.h"
#include "passes/Emit/Elements.h"
#include "passes/Pipelines/Pipelines.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace lockstep::conformance::driver {

namespace {

Tensor toTensor(Type type, const interpret::Value &value) {
  TensorType component = replica::getComponent(type);
  Tensor tensor;
  tensor.type.element =
      *toElementType(component.getElementType(), /*isUnsigned=*/false);
  tensor.type.shape.assign(value.shape().begin(), value.shape().end());
  tensor.bytes = interpret::toBytes(
      *interpret::getElement(component.getElementType()), value);
  tensor.type.bytes = tensor.bytes.size();
  return tensor;
}

interpret::Value toValue(Type element, const Tensor &tensor) {
  return interpret::fromBytes(*interpret::getElement(element),
                              tensor.type.shape, tensor.bytes);
}

/// The tensors of an argument, one or one for each replica.
interpret::Value toValue(Type element, const ArgumentBinding &argument) {
  std::vector<interpret::Value> values;
  for (const Tensor &tensor : argument.values)
    values.push_back(toValue(element, tensor));
  return argument.perReplica ? interpret::Value::perReplica(std::move(values))
                             : values.front();
}

void setBatches(const Program &program, interpret::Interpreter &interpreter,
                replica::ProgramOp op) {
  std::vector<std::vector<interpret::Value>> batches;
  for (Type type : op.getArgumentTypes())
    if (auto iterator = dyn_cast<replica::IteratorType>(type))
      for (const Arguments &batch : program.batches) {
        auto &values = batches.emplace_back();
        for (auto [argument, tensor] :
             llvm::zip_equal(batch, iterator.getElements()))
          values.push_back(
              toValue(cast<TensorType>(tensor).getElementType(), argument));
      }
  interpreter.setBatches(std::move(batches));
}

RunResult resultOf(const Program &program, interpret::Interpreter &interpreter,
                   TypeRange types, ArrayRef<interpret::Value> values) {
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

} // namespace

LogicalResult verifyProgram(const Program &program) {
  OwningOpRef<ModuleOp> module = program.module.get().clone();
  CompileOptions options;
  options.stopAfter = Stage::Verify;
  PassManager pm(module->getContext());
  buildCompilePipeline(pm, options);
  return pm.run(*module);
}

Outcome interpretProgram(const Program &program, int64_t replicas,
                         ArrayRef<Arguments> runs) {
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
  FailureOr<std::unique_ptr<interpret::Interpreter>> interpreter =
      interpret::Interpreter::create(*module);
  if (failed(interpreter))
    return errors.take();
  replica::ProgramOp op = (*interpreter)->findProgram(kProgramName);
  setBatches(program, **interpreter, op);
  std::vector<RunResult> outcome;
  for (const Arguments &given : runs) {
    SmallVector<interpret::Value> arguments, results;
    for (auto [index, type] : llvm::enumerate(op.getArgumentTypes()))
      arguments.push_back(
          isa<replica::IteratorType>(type)
              ? interpret::Value()
              : toValue(replica::getComponent(type).getElementType(),
                        given[index]));
    if (failed((*interpreter)->run(op, arguments, results)))
      return errors.take();
    outcome.push_back(
        resultOf(program, **interpreter, op.getResultTypes(), results));
    for (auto output : module->getOps<device::ConstantOutputOp>())
      outcome.back().constants[output.getName().str()] =
          Json::parse(plainValueToJson(output.getValue()));
  }
  return outcome;
}

} // namespace lockstep::conformance::driver
