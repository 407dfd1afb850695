//===- Definitions.cpp - Operations that others define --------------------===//
//
// The interpreter executes the operations that define an aggregated one, such
// as an attention.
//
//===----------------------------------------------------------------------===//

#include "dialect/Reference/Code.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace lockstep::interpret {

FailureOr<Instruction::Run> translateDefinedOp(Operation *given,
                                               CodeBuilder &builder) {
  auto op = dyn_cast<linalg::AggregatedOpInterface>(given);
  if (!op)
    return Instruction::Run();
  OpBuilder inner(op.getContext());
  OwningOpRef<func::FuncOp> function(func::FuncOp::create(
      op.getLoc(), "definition",
      inner.getFunctionType(op->getOperandTypes(), op->getResultTypes())));
  inner.setInsertionPointToStart(function->addEntryBlock());
  IRMapping mapping;
  mapping.map(op->getOperands(), function->getArguments());
  auto copy = cast<linalg::AggregatedOpInterface>(inner.clone(*op, mapping));
  FailureOr<SmallVector<mlir::Value>> values = copy.decomposeOperation(inner);
  if (failed(values))
    return op->emitError("expected operations that define '")
           << op->getName() << "', found none";
  func::ReturnOp::create(inner, op.getLoc(), *values);
  copy->erase();
  IRRewriter rewriter(op.getContext());
  for (auto fill :
       llvm::to_vector(function->getBody().getOps<linalg::FillOp>())) {
    rewriter.setInsertionPoint(fill);
    if (failed(linalg::generalizeNamedOp(rewriter, fill)))
      return failure();
  }
  FailureOr<Body> body = builder.buildBody(function->getBody());
  if (failed(body))
    return failure();
  struct Definition {
    OwningOpRef<func::FuncOp> function;
    Body body;
  };
  auto definition = std::make_shared<const Definition>(
      Definition{std::move(function), std::move(*body)});
  return Instruction::Run([definition](const Instruction &instruction,
                                       Frame &frame) {
    SmallVector<Value> arguments = takeAll(frame, instruction.operands),
                       results;
    Operation *terminator;
    if (failed(definition->body.call(frame, arguments, results, terminator)))
      return failure();
    setResults(instruction, frame, results);
    return success();
  });
}

} // namespace lockstep::interpret
