//===- CheckBounds.cpp - Run-time checks of memory accesses ---------------===//

#include "passes/Analysis/UserLocation.h"
#include "passes/Passes.h"
#include "runtime/artifact/GpuSymbols.h"

#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"

namespace lockstep {
#define GEN_PASS_DEF_CHECKBOUNDSPASS
#include "passes/Passes.h.inc"
} // namespace lockstep

using namespace lockstep;
using namespace mlir;

namespace {

/// The function of the object that records a failed check; NativeCode.cpp
/// defines it.
constexpr StringLiteral kFail = "lockstep_fail";

/// A condition for an access to be valid: `value` is in [0, `bound`), or equal
/// to `bound` if `isEqual`.
struct Requirement {
  Value value, bound;
  bool isEqual = false;
  int64_t dimension = 0;
  MemRefType type;
};

/// The requirements of the accesses of one operation, in the order in which
/// they are checked.
class Requirements {
public:
  explicit Requirements(Operation *op) : builder(op), loc(op->getLoc()) {
    TypeSwitch<Operation *>(op)
        .Case<memref::LoadOp, memref::StoreOp>([&](auto access) {
          addElement(access.getMemRef(), access.getIndices());
        })
        .Case<vector::LoadOp, vector::StoreOp>([&](auto access) {
          addVector(access.getBase(), access.getIndices(),
                    constant(access.getVectorType().getNumElements()));
        })
        .Case<vector::MaskedLoadOp, vector::MaskedStoreOp>([&](auto access) {
          addVector(access.getBase(), access.getIndices(),
                    getActive(access.getMask()));
        })
        .Case([&](memref::SubViewOp view) { addSlice(view); })
        .Case([&](memref::CastOp cast) { addSizes(cast); });
  }

  SmallVector<Requirement> all;

private:
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  Value getSize(Value memref, int64_t dimension) {
    return builder.createOrFold<memref::DimOp>(loc, memref, dimension);
  }

  void addElement(Value memref, ValueRange indices) {
    for (auto [dimension, index] : llvm::enumerate(indices))
      all.push_back({index, getSize(memref, dimension), false,
                     static_cast<int64_t>(dimension),
                     cast<MemRefType>(memref.getType())});
  }

  /// Requires that the first and the last of `active` elements from the indices
  /// on, along the last dimension, are in bounds.
  void addVector(Value memref, ValueRange indices, Value active) {
    addElement(memref, indices);
    Value last = arith::SubIOp::create(
        builder, loc,
        arith::AddIOp::create(builder, loc, indices.back(), active),
        constant(1));
    all.push_back(
        {last, all.back().bound, false, all.back().dimension, all.back().type});
  }

  /// The number of lanes of a mask that are set, which are the first ones.
  Value getActive(Value mask) {
    if (auto constantMask = mask.getDefiningOp<vector::ConstantMaskOp>())
      return constant(constantMask.getMaskDimSizes().front());
    if (auto createMask = mask.getDefiningOp<vector::CreateMaskOp>())
      return createMask.getOperands().front();
    return constant(1);
  }

  /// Requires that the first and the last element of each dimension that has
  /// elements are in bounds.
  void addSlice(memref::SubViewOp view) {
    auto toValue = [&](OpFoldResult value) {
      return getValueOrCreateConstantIndexOp(builder, loc, value);
    };
    for (auto [d, offset, size, stride] :
         llvm::enumerate(view.getMixedOffsets(), view.getMixedSizes(),
                         view.getMixedStrides())) {
      std::optional<int64_t> count = getConstantIntValue(size);
      if (count && *count == 0)
        continue;
      auto dimension = static_cast<int64_t>(d);
      Value bound = getSize(view.getSource(), dimension);
      // A slice without elements may begin at the end.
      Value steps =
          arith::SubIOp::create(builder, loc, toValue(size), constant(1));
      Value last = arith::AddIOp::create(
          builder, loc, toValue(offset),
          arith::MulIOp::create(builder, loc, steps, toValue(stride)));
      if (count) {
        all.push_back(
            {toValue(offset), bound, false, dimension, view.getSourceType()});
        all.push_back({last, bound, false, dimension, view.getSourceType()});
        continue;
      }
      Value isEmpty = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::sle, toValue(size), constant(0));
      Value zero = constant(0),
            end = arith::AddIOp::create(builder, loc, bound, constant(1));
      auto unlessEmpty = [&](Value index) -> Value {
        return arith::SelectOp::create(builder, loc, isEmpty, zero, index);
      };
      Value some = arith::SelectOp::create(builder, loc, isEmpty, end, bound);
      all.push_back({unlessEmpty(toValue(offset)), some, false, dimension,
                     view.getSourceType()});
      all.push_back(
          {unlessEmpty(last), some, false, dimension, view.getSourceType()});
    }
  }

  void addSizes(memref::CastOp cast) {
    auto from = dyn_cast<MemRefType>(cast.getSource().getType()),
         to = dyn_cast<MemRefType>(cast.getType());
    if (!from || !to)
      return;
    for (int64_t d = 0; d < to.getRank(); ++d)
      if (from.isDynamicDim(d) && !to.isDynamicDim(d))
        all.push_back({getSize(cast.getSource(), d), constant(to.getDimSize(d)),
                       true, d, to});
  }

  OpBuilder builder;
  Location loc;
};

struct CheckBounds : lockstep::impl::CheckBoundsPassBase<CheckBounds> {
  using CheckBoundsPassBase::CheckBoundsPassBase;

  void runOnOperation() override {
    // Blocks allow a kernel to return from any operation.
    OpPassManager toBlocks(func::FuncOp::getOperationName());
    toBlocks.addPass(createSCFToControlFlowPass());
    for (auto function :
         llvm::to_vector(getOperation().getOps<func::FuncOp>())) {
      bool hasAssertions =
          function.walk([](cf::AssertOp) { return WalkResult::interrupt(); })
              .wasInterrupted();
      if (!accesses && !hasAssertions)
        continue;
      if (gpu)
        function.walk([&](scf::WhileOp loop) { checkOthers(loop); });
      if (failed(runPipeline(toBlocks, function)))
        return signalPassFailure();
      check(function);
    }
  }

private:
  void check(func::FuncOp function) {
    SmallVector<Operation *> ops;
    function.walk([&](Operation *op) { ops.push_back(op); });
    failure = nullptr;
    for (Operation *op : ops) {
      if (auto assertion = dyn_cast<cf::AssertOp>(op)) {
        branch(assertion);
        continue;
      }
      if (accesses)
        for (const Requirement &requirement : Requirements(op).all)
          if (!holds(requirement))
            branch(op, requirement);
    }
  }

  /// The condition of a loop on a GPU may depend on what a thread would have
  /// stored that has returned: the others return when a check has failed. What
  /// they assert is never recorded, since that has been.
  void checkOthers(scf::WhileOp loop) {
    Location loc = loop.getLoc();
    OpBuilder builder = OpBuilder::atBlockBegin(loop.getBeforeBody());
    Value state = LLVM::LoadOp::create(
        builder, loc, builder.getI64Type(),
        LLVM::AddressOfOp::create(builder, loc, declareRecord()),
        /*alignment=*/8, /*isVolatile=*/true);
    Value zero = arith::ConstantIntOp::create(builder, loc, 0, 64);
    Value isNone = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                         state, zero);
    cf::AssertOp::create(builder, loc, isNone, "");
  }

  static bool holds(const Requirement &requirement) {
    APInt value, bound;
    if (!matchPattern(requirement.value, m_ConstantInt(&value)) ||
        !matchPattern(requirement.bound, m_ConstantInt(&bound)))
      return false;
    return requirement.isEqual ? value == bound : value.ult(bound);
  }

  /// Creates the block that records a failure and returns from the kernel, so
  /// that nothing is read or written out of bounds. On a GPU, the threads that
  /// others wait for may return: barriers do not wait for those that have.
  Block *createFailure(func::FuncOp function) {
    Location loc = function.getLoc();
    OpBuilder builder(&getContext());
    Type index = builder.getIndexType(), i64 = builder.getI64Type(),
         text = gpu ? i64 : Type(LLVM::LLVMPointerType::get(&getContext()));
    Block *block =
        builder.createBlock(&function.getBody(), function.getBody().end(),
                            {text, index, index}, {loc, loc, loc});
    SmallVector<Value> arguments{block->getArgument(0)};
    for (BlockArgument number : block->getArguments().drop_front())
      arguments.push_back(
          arith::IndexCastOp::create(builder, loc, i64, number));
    if (gpu)
      recordOnGpu(builder, loc, arguments);
    else
      LLVM::CallOp::create(builder, loc, TypeRange(),
                           declareFail().getSymName(), arguments);
    func::ReturnOp::create(builder, loc);
    return block;
  }

  /// Stores the arguments behind the state of the record, if no thread has done
  /// so before. The host reads them when the kernel has ended.
  void recordOnGpu(OpBuilder &builder, Location loc, ValueRange arguments) {
    Type i64 = builder.getI64Type();
    LLVM::GlobalOp record = declareRecord();
    Value address = LLVM::AddressOfOp::create(builder, loc, record);
    auto number = [&](int64_t value) -> Value {
      return LLVM::ConstantOp::create(builder, loc, i64,
                                      builder.getI64IntegerAttr(value));
    };
    Value exchange = LLVM::AtomicCmpXchgOp::create(
        builder, loc, address, number(0), number(1),
        LLVM::AtomicOrdering::monotonic, LLVM::AtomicOrdering::monotonic);
    Value isFirst = LLVM::ExtractValueOp::create(builder, loc, exchange, 1);
    Block *block = builder.getBlock();
    Region *region = block->getParent();
    Block *note = builder.createBlock(region, region->end()),
          *done = builder.createBlock(region, region->end());
    builder.setInsertionPointToEnd(block);
    cf::CondBranchOp::create(builder, loc, isFirst, note, ValueRange(), done,
                             ValueRange());
    builder.setInsertionPointToEnd(note);
    for (auto [i, argument] : llvm::enumerate(arguments)) {
      Value field = LLVM::GEPOp::create(
          builder, loc, address.getType(), i64, address,
          ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i + 1)});
      LLVM::StoreOp::create(builder, loc, argument, field);
    }
    cf::BranchOp::create(builder, loc, done);
    builder.setInsertionPointToEnd(done);
  }

  /// Four numbers, as GpuSymbols.h describes them.
  LLVM::GlobalOp declareRecord() {
    ModuleOp module = getOperation();
    StringRef symbol = runtime::gpuFaultSymbol;
    if (auto declared = module.lookupSymbol<LLVM::GlobalOp>(symbol))
      return declared;
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    auto type = LLVM::LLVMArrayType::get(builder.getI64Type(), 4);
    auto zeros = DenseIntElementsAttr::get(
        RankedTensorType::get({4}, builder.getI64Type()), int64_t(0));
    return LLVM::GlobalOp::create(builder, module.getLoc(), type,
                                  /*isConstant=*/false, LLVM::Linkage::External,
                                  symbol, zeros,
                                  /*alignment=*/8, kGlobalMemory);
  }

  LLVM::LLVMFuncOp declareFail() {
    ModuleOp module = getOperation();
    if (auto declared = module.lookupSymbol<LLVM::LLVMFuncOp>(kFail))
      return declared;
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    Type pointer = LLVM::LLVMPointerType::get(&getContext()),
         i64 = builder.getI64Type();
    auto type = LLVM::LLVMFunctionType::get(
        LLVM::LLVMVoidType::get(&getContext()), {pointer, i64, i64});
    return LLVM::LLVMFuncOp::create(builder, module.getLoc(), kFail, type);
  }

  /// The message may name both operands of a comparison of indices.
  void branch(cf::AssertOp assertion) {
    OpBuilder builder(assertion);
    Value zero = arith::ConstantIndexOp::create(builder, assertion.getLoc(), 0),
          value = zero, bound = zero;
    if (auto comparison = assertion.getArg().getDefiningOp<arith::CmpIOp>();
        comparison && comparison.getLhs().getType().isIndex()) {
      value = comparison.getLhs();
      bound = comparison.getRhs();
    }
    branch(assertion, assertion.getArg(), assertion.getMsg().str() + '\0',
           value, bound);
    assertion.erase();
  }

  void branch(Operation *op, const Requirement &requirement) {
    OpBuilder builder(op);
    auto predicate = requirement.isEqual ? arith::CmpIPredicate::eq
                                         : arith::CmpIPredicate::ult;
    Value fits = arith::CmpIOp::create(builder, op->getLoc(), predicate,
                                       requirement.value, requirement.bound);
    branch(op, fits, getMessage(op, requirement), requirement.value,
           requirement.bound);
  }

  /// Continues with `op` if `condition` holds, else branches to the block that
  /// records a failure.
  void branch(Operation *op, Value condition, const std::string &text,
              Value value, Value bound) {
    if (!failure)
      failure = createFailure(op->getParentOfType<func::FuncOp>());
    Block *block = op->getBlock(), *rest = block->splitBlock(op);
    OpBuilder builder = OpBuilder::atBlockEnd(block);
    const Message &known = getKnown(op, text);
    Value message;
    if (gpu)
      message =
          arith::ConstantIntOp::create(builder, op->getLoc(), known.number, 64);
    else
      message = LLVM::AddressOfOp::create(builder, op->getLoc(), known.global);
    cf::CondBranchOp::create(builder, op->getLoc(), condition, rest,
                             ValueRange(), failure,
                             ValueRange{message, value, bound});
  }

  /// In the text, `{value}` and `{bound}` are placeholders for the numbers.
  static std::string getMessage(Operation *op, const Requirement &requirement) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    if (std::string line = userLocation(op->getLoc()); !line.empty())
      stream << line << ": ";
    stream << (requirement.isEqual ? "expected a size of {bound}"
                                   : "expected an index in [0, {bound})")
           << " for dimension " << requirement.dimension << " of "
           << RankedTensorType::get(requirement.type.getShape(),
                                    requirement.type.getElementType())
           << ", found {value} [E_OUT_OF_RANGE]" << '\0';
    return text;
  }

  /// A text in the module. Its number is that of its symbol, by which the
  /// runtime finds it in the image of a GPU.
  struct Message {
    LLVM::GlobalOp global;
    int64_t number = 0;
  };

  const Message &getKnown(Operation *op, const std::string &text) {
    auto [known, isNew] = messages.try_emplace(text);
    if (isNew) {
      OpBuilder builder = OpBuilder::atBlockBegin(getOperation().getBody());
      auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), text.size());
      int64_t number = messages.size();
      auto global = LLVM::GlobalOp::create(
          builder, op->getLoc(), type, /*isConstant=*/true,
          gpu ? LLVM::Linkage::External : LLVM::Linkage::Internal,
          runtime::gpuTextSymbol(number), builder.getStringAttr(text),
          /*alignment=*/0, gpu ? kGlobalMemory : 0);
      known->second = {global, number};
    }
    return known->second;
  }

  /// The address space of what all threads of a GPU access.
  static constexpr unsigned kGlobalMemory = 1;

  llvm::StringMap<Message> messages;
  /// Of the function that is being checked; null until it is needed.
  Block *failure = nullptr;
};
} // namespace
