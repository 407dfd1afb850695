//===- BuildProgram.cpp - Writes a placed step as device IR ---------------===//

#include "passes/Memory/BuildProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace lockstep;
using namespace mlir;

namespace {

class ProgramBuilder {
public:
  ProgramBuilder(func::FuncOp step, const StoragePlan &plan, const StepLayout &layout, int64_t replicas)
      : step(step), plan(plan), layout(layout), builder(step), replicas(replicas) {}

  FailureOr<device::ProgramOp> run(const PlacementResult &placement) {
    nextChannel = 0;
    step.walk([&](CollectiveOpInterface op) { nextChannel = std::max<int64_t>(nextChannel, *op.getChannelNumber() + 1); });
    program = device::ProgramOp::create(builder, step.getLoc(), step.getSymName(), "worker", placement.replicaSize,
                                        placement.sharedSize, layout.getInputSize(), /*registers=*/0, /*channels=*/0);
    body = builder.createBlock(&program.getBody());
    declareInputs();
    if (failed(lowerBlock(step.getBody().front())))
      return failure();
    program.setRegisters(nextRegister);
    program.setChannels(nextChannel);
    step.erase();
    return program;
  }

private:
  //===--------------------------------------------------------------------===//
  // Buffers
  //===--------------------------------------------------------------------===//

  /// The slice that holds a tensor of type `type` in storage `id`; all slices stand at the start of the program.
  Value getSlice(StorageId id, RankedTensorType type, StringAttr input = {}, bool isUnsigned = false) {
    Value &slice = slices[{id, type}];
    if (slice)
      return slice;
    OpBuilder::InsertionGuard guard(builder);
    Block &entry = program.getBody().front();
    if (lastSlice)
      builder.setInsertionPointAfter(lastSlice);
    else
      builder.setInsertionPointToStart(&entry);
    const Storage &storage = plan.storages[id];
    auto op = device::SliceOp::create(builder, step.getLoc(), device::BufferType::get(builder.getContext(), type), storage.space,
                                      storage.offset, input, isUnsigned, DenseI64ArrayAttr());
    lastSlice = op;
    slice = op;
    return slice;
  }

  Value getSlice(Value value) { return getSlice(plan.storageOf.at(value), cast<RankedTensorType>(value.getType())); }

  /// Batch tensors are declared even if the program does not read them: they are what the host has to give.
  void declareInputs() {
    for (BlockArgument argument : step.getArguments()) {
      auto binding = step.getArgAttrOfType<device::BindingAttr>(argument.getArgNumber(), "device.binding");
      if (binding.getKind() == device::BindingKind::Batch)
        getSlice(plan.storageOf.at(argument), cast<RankedTensorType>(argument.getType()), builder.getStringAttr(binding.getName()),
                 static_cast<bool>(step.getArgAttr(argument.getArgNumber(), "replica.unsigned")));
    }
  }

  //===--------------------------------------------------------------------===//
  // Once
  //===--------------------------------------------------------------------===//

  /// Goes on inside a `device.once`, opening one if the last command is not in one already.
  void enterOnce(Location loc) {
    if (replicas == 1 || openOnce)
      return;
    auto once = device::OnceOp::create(builder, loc, nextChannel++);
    openOnce = once;
    builder.setInsertionPointToStart(builder.createBlock(&once.getBody()));
  }

  /// Goes on behind the open `device.once`, if there is one.
  void leaveOnce() {
    if (!openOnce)
      return;
    builder.setInsertionPointAfter(openOnce);
    openOnce = nullptr;
  }

  void copyBefore(Operation *op) {
    auto it = plan.copiesBefore.find(op);
    if (it == plan.copiesBefore.end())
      return;
    for (const StorageCopy &copy : it->second) {
      if (isPrivate(plan.storages[copy.destination].space))
        leaveOnce();
      else
        enterOnce(copy.location);
      device::CopyOp::create(builder, copy.location, getSlice(copy.source, copy.type), getSlice(copy.destination, copy.type));
    }
  }

  //===--------------------------------------------------------------------===//
  // Commands
  //===--------------------------------------------------------------------===//

  LogicalResult lowerBlock(Block &block) {
    for (Operation &op : block) {
      copyBefore(&op);
      LogicalResult result =
          TypeSwitch<Operation *, LogicalResult>(&op)
              .Case<device::InvokeOp, collective::StartOp, collective::WaitOp, collective::BarrierOp, scf::ForOp, scf::IfOp,
                    scf::WhileOp, func::ReturnOp>([&](auto typed) { return lower(typed); })
              .Default([](Operation *) { return success(); });
      if (failed(result))
        return failure();
    }
    // A region of its own ends what was open inside it.
    leaveOnce();
    return success();
  }

  LogicalResult lower(device::InvokeOp invoke) {
    if (plan.once.contains(invoke))
      enterOnce(invoke.getLoc());
    else
      leaveOnce();
    SmallVector<Value> reads, writes, scratch;
    SmallVector<int64_t> registers;
    for (Value operand : invoke.getOperands()) {
      if (isa<RankedTensorType>(operand.getType())) {
        reads.push_back(getSlice(operand));
        continue;
      }
      FailureOr<int64_t> index = getRegister(operand);
      if (failed(index))
        return invoke.emitError("expected an index that is a loop's induction variable or a constant");
      registers.push_back(*index);
    }
    for (Value result : invoke.getResults())
      writes.push_back(getSlice(result));
    if (auto it = plan.scratch.find(invoke); it != plan.scratch.end()) {
      auto type = RankedTensorType::get({plan.storages[it->second].size}, builder.getI8Type());
      scratch.push_back(getSlice(it->second, type));
    }
    device::LaunchOp::create(builder, invoke.getLoc(), invoke.getKernelAttr(), reads, writes, scratch,
                             registers.empty() ? DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(registers));
    return success();
  }

  LogicalResult lower(collective::StartOp start) {
    leaveOnce();
    SmallVector<Value> operands, results;
    for (auto [id, operand] : llvm::zip_equal(plan.startOperands.at(start), start.getInputs()))
      operands.push_back(getSlice(id, cast<RankedTensorType>(operand.getType())));
    auto wait = cast<collective::WaitOp>(*start->user_begin());
    for (Value result : wait.getResults())
      results.push_back(getSlice(result));
    device::StartOp::create(builder, start.getLoc(), start.getKindAttr(), start.getReductionAttr(), start.getGroupAttr(),
                            builder.getI64IntegerAttr(*start.getChannel()), operands, results, start.getAxisAttr());
    return success();
  }

  LogicalResult lower(collective::WaitOp wait) {
    leaveOnce();
    device::WaitOp::create(builder, wait.getLoc(), *wait.getStart().getChannel());
    return success();
  }

  LogicalResult lower(collective::BarrierOp barrier) {
    leaveOnce();
    device::BarrierOp::create(builder, barrier.getLoc(), barrier.getGroupAttr(), builder.getI64IntegerAttr(*barrier.getChannel()));
    return success();
  }

  LogicalResult lower(func::ReturnOp returnOp) {
    leaveOnce();
    for (auto [i, value] : llvm::enumerate(returnOp.getOperands())) {
      auto binding = step.getResultAttrOfType<device::BindingAttr>(i, "device.binding");
      if (binding.getKind() == device::BindingKind::Variable)
        continue;
      auto copy = plan.outputCopies.find(i);
      StorageId id = copy == plan.outputCopies.end() ? plan.storageOf.at(value) : copy->second;
      device::OutputOp::create(builder, returnOp.getLoc(), binding, getSlice(id, cast<RankedTensorType>(value.getType())));
    }
    device::ReturnOp::create(builder, returnOp.getLoc());
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Control flow
  //===--------------------------------------------------------------------===//

  Block *createBlockAtEnd() {
    OpBuilder::InsertionGuard guard(builder);
    return builder.createBlock(&program.getBody(), program.getBody().end());
  }

  /// The register that holds an index; a constant is set, a loaded integer is loaded, where it is asked for.
  FailureOr<int64_t> getRegister(Value index) {
    if (auto it = registers.find(index); it != registers.end())
      return it->second;
    APInt constant;
    if (matchPattern(index, m_ConstantInt(&constant))) {
      device::SetRegisterOp::create(builder, index.getLoc(), nextRegister, constant.getSExtValue());
      return nextRegister++;
    }
    if (auto cast = index.getDefiningOp<arith::IndexCastOp>())
      index = cast.getIn();
    auto extract = index.getDefiningOp<tensor::ExtractOp>();
    if (!extract || !extract.getIndices().empty())
      return failure();
    device::LoadRegisterOp::create(builder, index.getLoc(), nextRegister, getSlice(extract.getTensor()));
    return nextRegister++;
  }

  LogicalResult lower(scf::ForOp loop) {
    leaveOnce();
    Location loc = loop.getLoc();
    FailureOr<int64_t> lower = getRegister(loop.getLowerBound()), upper = getRegister(loop.getUpperBound()), stride = getRegister(loop.getStep());
    if (failed(lower) || failed(upper) || failed(stride))
      return loop.emitError("expected bounds that are constants or integers in memory");
    // The induction variable has a register of its own, so that the loop can run again.
    int64_t induction = nextRegister++;
    device::SetRegisterOp::create(builder, loc, induction, 0);
    device::AddRegisterOp::create(builder, loc, induction, *lower);
    registers[loop.getInductionVar()] = induction;

    Block *header = createBlockAtEnd();
    device::JumpOp::create(builder, loc, header);
    Block *bodyBlock = createBlockAtEnd();
    builder.setInsertionPointToEnd(bodyBlock);
    if (failed(lowerBlock(*loop.getBody())))
      return failure();
    device::AddRegisterOp::create(builder, loc, induction, *stride);
    device::JumpOp::create(builder, loc, header);
    Block *exit = createBlockAtEnd();
    builder.setInsertionPointToEnd(header);
    device::BranchGreaterEqualOp::create(builder, loc, induction, *upper, exit, bodyBlock);
    builder.setInsertionPointToEnd(exit);
    return success();
  }

  FailureOr<Value> getCondition(Value condition) {
    auto extract = condition.getDefiningOp<tensor::ExtractOp>();
    if (!extract || !extract.getIndices().empty())
      return failure();
    return getSlice(extract.getTensor());
  }

  LogicalResult lower(scf::IfOp branch) {
    leaveOnce();
    FailureOr<Value> condition = getCondition(branch.getCondition());
    if (failed(condition))
      return branch.emitError("expected a condition that is in memory");
    Block *from = builder.getInsertionBlock();
    Block *thenBlock = createBlockAtEnd();
    builder.setInsertionPointToEnd(thenBlock);
    if (failed(lowerBlock(branch.getThenRegion().front())))
      return failure();
    Block *thenEnd = builder.getInsertionBlock();
    Block *elseBlock = createBlockAtEnd();
    builder.setInsertionPointToEnd(elseBlock);
    if (!branch.getElseRegion().empty() && failed(lowerBlock(branch.getElseRegion().front())))
      return failure();
    Block *elseEnd = builder.getInsertionBlock();
    Block *exit = createBlockAtEnd();
    builder.setInsertionPointToEnd(thenEnd);
    device::JumpOp::create(builder, branch.getLoc(), exit);
    builder.setInsertionPointToEnd(elseEnd);
    device::JumpOp::create(builder, branch.getLoc(), exit);
    builder.setInsertionPointToEnd(from);
    device::BranchUnlessOp::create(builder, branch.getLoc(), *condition, elseBlock, thenBlock);
    builder.setInsertionPointToEnd(exit);
    return success();
  }

  LogicalResult lower(scf::WhileOp loop) {
    leaveOnce();
    Block *before = createBlockAtEnd();
    device::JumpOp::create(builder, loop.getLoc(), before);
    builder.setInsertionPointToEnd(before);
    if (failed(lowerBlock(*loop.getBeforeBody())))
      return failure();
    FailureOr<Value> condition = getCondition(loop.getConditionOp().getCondition());
    if (failed(condition))
      return loop.emitError("expected a condition that is in memory");
    Block *beforeEnd = builder.getInsertionBlock();
    Block *after = createBlockAtEnd();
    builder.setInsertionPointToEnd(after);
    if (failed(lowerBlock(*loop.getAfterBody())))
      return failure();
    device::JumpOp::create(builder, loop.getLoc(), before);
    Block *exit = createBlockAtEnd();
    builder.setInsertionPointToEnd(beforeEnd);
    device::BranchUnlessOp::create(builder, loop.getLoc(), *condition, exit, after);
    builder.setInsertionPointToEnd(exit);
    return success();
  }

  func::FuncOp step;
  const StoragePlan &plan;
  const StepLayout &layout;
  OpBuilder builder;
  int64_t replicas;
  device::ProgramOp program;
  Block *body = nullptr;
  device::OnceOp openOnce;
  Operation *lastSlice = nullptr;
  int64_t nextChannel = 0, nextRegister = 0;
  llvm::DenseMap<std::pair<StorageId, Type>, Value> slices;
  llvm::DenseMap<Value, int64_t> registers;
};

} // namespace

FailureOr<device::ProgramOp> lockstep::buildProgram(func::FuncOp step, const StoragePlan &plan, const PlacementResult &placement,
                                     const StepLayout &layout, int64_t replicas) {
  return ProgramBuilder(step, plan, layout, replicas).run(placement);
}
