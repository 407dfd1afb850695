//===- BuildProgram.cpp - Convert a planned step to a device program ------===//

#include "passes/Memory/BuildProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

#include <map>

using namespace lockstep;
using namespace mlir;

namespace {

class ProgramBuilder {
public:
  ProgramBuilder(func::FuncOp step, const StoragePlan &plan,
                 const StepLayout &layout, int64_t replicas)
      : step(step), plan(plan), layout(layout), builder(step),
        replicas(replicas) {}

  FailureOr<device::ProgramOp> run(const PlacementResult &placement) {
    nextChannel = device::getSharedChannels(step);
    step.walk([&](CollectiveOpInterface op) {
      nextChannel = std::max<int64_t>(nextChannel, *op.getChannelNumber() + 1);
    });
    auto role = step->getAttrOfType<FlatSymbolRefAttr>(device::kRole);
    program = device::ProgramOp::create(
        builder, step.getLoc(), step.getSymName(),
        role ? role.getValue() : StringRef(device::kWorkerRole),
        placement.replicaSize, placement.sharedSize, layout.getInputSize(),
        /*registers=*/0,
        /*channels=*/0, step->getAttrOfType<StringAttr>(device::kStep));
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

  /// The slice that holds `tensor` in storage `id`.
  Value getSlice(StorageId id, Value tensor, bool isUnsigned = false) {
    auto type = cast<RankedTensorType>(tensor.getType());
    if (type.hasStaticShape())
      return getSlice(id, type, {}, isUnsigned);
    return getSlice(id, type, {}, isUnsigned, getSizeRegisters(tensor),
                    builder.getI64IntegerAttr(getByteSize(tensor)));
  }

  Value getSlice(Value tensor) {
    return getSlice(plan.storageOf.at(tensor), tensor);
  }

  /// The slice of type `type` in storage `id`. An output that is unsigned has a
  /// slice of its own. All slices are in the prologue,
  /// at the start of the program.
  Value getSlice(StorageId id, RankedTensorType type, StringAttr input = {},
                 bool isUnsigned = false, DenseI64ArrayAttr sizeRegisters = {},
                 IntegerAttr bound = {}) {
    Value &slice =
        slices[{id, type, sizeRegisters, unsigned(isUnsigned && !input)}];
    if (slice)
      return slice;
    OpBuilder::InsertionGuard guard(builder);
    setInsertionPointInPrologue();
    const Storage &storage = plan.storages[id];
    auto op = device::SliceOp::create(
        builder, step.getLoc(),
        device::BufferType::get(builder.getContext(), type), storage.space,
        storage.offset, input, isUnsigned, sizeRegisters, bound);
    lastInPrologue = op;
    slice = op;
    return slice;
  }

  /// Sets the insertion point to the end of the prologue: the operations at the
  /// start of the program that define slices and constant registers.
  void setInsertionPointInPrologue() {
    if (lastInPrologue)
      builder.setInsertionPointAfter(lastInPrologue);
    else
      builder.setInsertionPointToStart(&program.getBody().front());
  }

  /// For each dimension of `tensor` the register with its size, or -1 if it is
  /// static.
  DenseI64ArrayAttr getSizeRegisters(Value tensor) {
    auto type = cast<RankedTensorType>(tensor.getType());
    SmallVector<int64_t> result(type.getRank(), -1);
    unsigned next = 0;
    SmallVector<OpFoldResult> sizes = getDynamicSizes(tensor);
    for (int64_t d = 0; d < type.getRank(); ++d)
      if (type.isDynamicDim(d)) {
        OpFoldResult size = sizes[next++];
        std::optional<int64_t> constant = getConstantIntValue(size);
        result[d] = constant ? getConstantRegister(tensor.getLoc(), *constant)
                             : registers.at(cast<Value>(size));
      }
    return builder.getDenseI64ArrayAttr(result);
  }

  /// Batch tensors are declared even if the program does not read them, because
  /// the host has to supply them.
  void declareInputs() {
    for (BlockArgument argument : step.getArguments()) {
      auto binding = step.getArgAttrOfType<device::BindingAttr>(
          argument.getArgNumber(), "device.binding");
      if (binding.getKind() == device::BindingKind::Batch)
        getSlice(plan.storageOf.at(argument),
                 cast<RankedTensorType>(argument.getType()),
                 builder.getStringAttr(binding.getName()),
                 static_cast<bool>(step.getArgAttr(argument.getArgNumber(),
                                                   "replica.unsigned")));
    }
    llvm::StringMap<StorageId> declared;
    step.walk([&](device::LoadBatchOp load) {
      for (auto [name, result] : llvm::zip_equal(
               load.getNames().getAsRange<StringAttr>(), load.getResults()))
        if (declared.try_emplace(name, plan.storageOf.at(result)).second)
          getSlice(plan.storageOf.at(result),
                   cast<RankedTensorType>(result.getType()), name);
    });
  }

  //===--------------------------------------------------------------------===//
  // Sections that one replica executes
  //===--------------------------------------------------------------------===//

  /// Continues inside a `device.once`, which is created if the last command is
  /// not in one already.
  void enterOnce(Location loc) {
    if (replicas == 1 || openOnce)
      return;
    auto once = device::OnceOp::create(builder, loc, nextChannel++);
    openOnce = once;
    builder.setInsertionPointToStart(builder.createBlock(&once.getBody()));
  }

  /// Continues behind the open `device.once`, if there is one.
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
      device::CopyOp::create(builder, copy.location,
                             getSlice(copy.source, copy.value),
                             getSlice(copy.destination, copy.value));
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
              .Case<device::InvokeOp, device::LoadBatchOp, collective::StartOp,
                    collective::WaitOp, collective::BarrierOp, scf::ForOp,
                    scf::IfOp, scf::WhileOp, func::ReturnOp,
                    arith::IndexCastOp>(
                  [&](auto typed) { return lower(typed); })
              .Default([](Operation *) { return success(); });
      if (failed(result))
        return failure();
    }
    // A `device.once` does not extend beyond its region.
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
        return invoke.emitError("expected an index that is a loop's induction "
                                "variable, a constant or an integer in memory");
      registers.push_back(*index);
    }
    for (Value result : invoke.getResults())
      writes.push_back(getSlice(result));
    if (auto it = plan.scratch.find(invoke); it != plan.scratch.end()) {
      auto type = RankedTensorType::get({plan.storages[it->second].size},
                                        builder.getI8Type());
      scratch.push_back(getSlice(it->second, type));
    }
    device::LaunchOp::create(builder, invoke.getLoc(), invoke.getKernelAttr(),
                             reads, writes, scratch,
                             registers.empty()
                                 ? DenseI64ArrayAttr()
                                 : builder.getDenseI64ArrayAttr(registers));
    return success();
  }

  LogicalResult lower(device::LoadBatchOp load) {
    leaveOnce();
    device::NextOp::create(builder, load.getLoc());
    return success();
  }

  LogicalResult lower(collective::StartOp start) {
    leaveOnce();
    SmallVector<Value> operands, results;
    for (auto [id, operand] :
         llvm::zip_equal(plan.startOperands.at(start), start.getInputs()))
      operands.push_back(getSlice(id, operand));
    auto wait = cast<collective::WaitOp>(*start->user_begin());
    for (Value result : wait.getResults())
      results.push_back(getSlice(result));
    device::StartOp::create(builder, start.getLoc(), start.getKindAttr(),
                            start.getReductionAttr(), start.getGroupAttr(),
                            builder.getI64IntegerAttr(*start.getChannel()),
                            operands, results, start.getAxisAttr(),
                            start.getRootAttr(), start.getSourcesAttr());
    return success();
  }

  LogicalResult lower(collective::WaitOp wait) {
    leaveOnce();
    device::WaitOp::create(builder, wait.getLoc(),
                           *wait.getStart().getChannel());
    return success();
  }

  LogicalResult lower(collective::BarrierOp barrier) {
    leaveOnce();
    device::BarrierOp::create(builder, barrier.getLoc(), barrier.getGroupAttr(),
                              builder.getI64IntegerAttr(*barrier.getChannel()));
    return success();
  }

  LogicalResult lower(func::ReturnOp returnOp) {
    leaveOnce();
    for (auto [i, value] : llvm::enumerate(returnOp.getOperands())) {
      auto binding =
          step.getResultAttrOfType<device::BindingAttr>(i, "device.binding");
      if (binding.getKind() != device::BindingKind::Variable)
        device::OutputOp::create(builder, returnOp.getLoc(), binding,
                                 getSlice(plan.outputs.at(i), value,
                                          /*isUnsigned=*/
                                          static_cast<bool>(step.getResultAttr(
                                              i, "replica.unsigned"))));
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

  /// The register that holds an index.
  FailureOr<int64_t> getRegister(Value index) {
    if (auto it = registers.find(index); it != registers.end())
      return it->second;
    if (std::optional<int64_t> constant = getConstantIntValue(index))
      return getConstantRegister(index.getLoc(), *constant);
    return failure();
  }

  /// A register that is set to `value` at the start of the program.
  int64_t getConstantRegister(Location loc, int64_t value) {
    auto [it, isNew] = constantRegisters.try_emplace(value, nextRegister);
    if (isNew) {
      OpBuilder::InsertionGuard guard(builder);
      setInsertionPointInPrologue();
      lastInPrologue =
          device::SetRegisterOp::create(builder, loc, nextRegister++, value);
    }
    return it->second;
  }

  /// Loads an integer from memory that is used as a size or bound.
  LogicalResult lower(arith::IndexCastOp cast) {
    auto extract = cast.getIn().getDefiningOp<tensor::ExtractOp>();
    if (!cast.getType().isIndex() || !extract || !extract.getIndices().empty())
      return success();
    leaveOnce();
    registers[cast] = nextRegister;
    device::LoadRegisterOp::create(builder, cast.getLoc(), nextRegister++,
                                   getSlice(extract.getTensor()));
    return success();
  }

  LogicalResult lower(scf::ForOp loop) {
    leaveOnce();
    Location loc = loop.getLoc();
    FailureOr<int64_t> lower = getRegister(loop.getLowerBound()),
                       upper = getRegister(loop.getUpperBound()),
                       stride = getRegister(loop.getStep());
    if (failed(lower) || failed(upper) || failed(stride))
      return loop.emitError(
          "expected bounds that are constants or integers in memory");
    // The induction variable has a separate register, since that of the lower
    // bound must keep its value for the next execution of the loop.
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
    device::BranchGreaterEqualOp::create(builder, loc, induction, *upper, exit,
                                         bodyBlock);
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
    if (!branch.getElseRegion().empty() &&
        failed(lowerBlock(branch.getElseRegion().front())))
      return failure();
    Block *elseEnd = builder.getInsertionBlock();
    Block *exit = createBlockAtEnd();
    builder.setInsertionPointToEnd(thenEnd);
    device::JumpOp::create(builder, branch.getLoc(), exit);
    builder.setInsertionPointToEnd(elseEnd);
    device::JumpOp::create(builder, branch.getLoc(), exit);
    builder.setInsertionPointToEnd(from);
    device::BranchUnlessOp::create(builder, branch.getLoc(), *condition,
                                   elseBlock, thenBlock);
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
    FailureOr<Value> condition =
        getCondition(loop.getConditionOp().getCondition());
    if (failed(condition))
      return matchPattern(loop.getConditionOp().getCondition(), m_One())
                 ? loop.emitError("expected a loop that ends, found one whose "
                                  "condition is always true")
                 : loop.emitError("expected a condition that is in memory");
    Block *beforeEnd = builder.getInsertionBlock();
    Block *after = createBlockAtEnd();
    builder.setInsertionPointToEnd(after);
    if (failed(lowerBlock(*loop.getAfterBody())))
      return failure();
    device::JumpOp::create(builder, loop.getLoc(), before);
    Block *exit = createBlockAtEnd();
    builder.setInsertionPointToEnd(beforeEnd);
    device::BranchUnlessOp::create(builder, loop.getLoc(), *condition, exit,
                                   after);
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
  Operation *lastInPrologue = nullptr;
  int64_t nextChannel = 0, nextRegister = 0;
  llvm::DenseMap<std::tuple<StorageId, Type, Attribute, unsigned>, Value>
      slices;
  /// The registers of indices: loaded sizes and bounds, induction variables.
  llvm::DenseMap<Value, int64_t> registers;
  /// Not a DenseMap, whose two reserved keys (the greatest and the least
  /// number) may be bounds.
  std::map<int64_t, int64_t> constantRegisters;
};

} // namespace

FailureOr<device::ProgramOp>
lockstep::buildProgram(func::FuncOp step, const StoragePlan &plan,
                       const PlacementResult &placement,
                       const StepLayout &layout, int64_t replicas) {
  return ProgramBuilder(step, plan, layout, replicas).run(placement);
}
