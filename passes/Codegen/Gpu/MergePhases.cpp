//===- MergePhases.cpp - Phases that one launch executes ------------------===//

#include "passes/Codegen/Gpu/MergePhases.h"

#include "dialect/Interfaces/ElementBytes.h"
#include "passes/Codegen/Aliases.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

#include <map>

using namespace lockstep;
using namespace mlir;

/// Calls `body` for each buffer or view that an operation in `op` may write.
static void forWritten(Operation *op, llvm::function_ref<void(Value)> body) {
  op->walk([&](Operation *inner) {
    if (auto generic = dyn_cast<linalg::GenericOp>(inner)) {
      for (Value init : generic.getDpsInits())
        body(init);
      return WalkResult::skip();
    }
    if (inner->hasTrait<OpTrait::HasRecursiveMemoryEffects>() ||
        isMemoryEffectFree(inner) ||
        hasSingleEffect<MemoryEffects::Read>(inner))
      return WalkResult::advance();
    for (Value operand : inner->getOperands())
      if (isa<BaseMemRefType>(operand.getType()))
        body(operand);
    return WalkResult::advance();
  });
}

/// Whether `phase` accesses memory that `other` writes.
static bool accessesWritten(const Phase &phase, const Phase &other,
                            const Aliases &aliases) {
  bool found = false;
  for (Operation *writer : other.ops)
    forWritten(writer, [&](Value buffer) {
      found = found || llvm::any_of(phase.ops, [&](Operation *op) {
                return aliases.mayTouch(op, buffer);
              });
    });
  return found;
}

/// Whether a phase takes no longer than a launch, and may have any neighbors.
static bool mayShareLaunch(const Phase &phase) {
  return phase.group && phase.kind != Phase::Kind::Tiles &&
         phase.rows.empty() && phase.blocks <= kFewBlocks;
}

/// The number of threads of a block of a phase that shares a launch.
static int64_t getSharedThreads(const Phase &phase) {
  return phase.kind == Phase::Kind::ThreadPerIteration ? kMaxThreads
                                                       : phase.threads;
}

std::vector<SmallVector<size_t>>
lockstep::divideAmongLaunches(func::FuncOp function,
                              std::vector<Phase> &phases) {
  Aliases aliases(function);
  // The length of the longest chain of phases that each one depends on: those
  // of the same length do not depend on each other.
  SmallVector<size_t> levels(phases.size(), 0);
  for (size_t i = 0; i < phases.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (levels[i] <= levels[j] &&
          (accessesWritten(phases[i], phases[j], aliases) ||
           accessesWritten(phases[j], phases[i], aliases)))
        levels[i] = levels[j] + 1;
  std::vector<SmallVector<size_t>> launches;
  // The launches that take further phases, by level and number of threads.
  std::map<std::pair<size_t, int64_t>, size_t> open;
  for (size_t i = 0; i < phases.size(); ++i) {
    if (mayShareLaunch(phases[i])) {
      auto [found, isNew] = open.try_emplace(
          {levels[i], getSharedThreads(phases[i])}, launches.size());
      if (!isNew) {
        launches[found->second].push_back(i);
        continue;
      }
    }
    launches.push_back({i});
  }
  llvm::stable_sort(launches, [&](const auto &a, const auto &b) {
    return levels[a.front()] < levels[b.front()];
  });
  for (ArrayRef<size_t> numbers : launches)
    if (numbers.size() > 1)
      for (size_t i : numbers)
        if (phases[i].kind == Phase::Kind::ThreadPerIteration)
          phases[i].setThreads(kMaxThreads);
  return launches;
}

int64_t PhaseCode::countSharedBytes() {
  llvm::SmallSetVector<Operation *, 4> globals;
  function.walk([&](memref::GetGlobalOp get) {
    globals.insert(
        SymbolTable::lookupNearestSymbolFrom(get, get.getNameAttr()));
  });
  int64_t bytes = 0;
  for (Operation *global : globals) {
    MemRefType type = cast<memref::GlobalOp>(global).getType();
    bytes += type.getNumElements() * getElementBytes(type.getElementType());
  }
  return bytes;
}

namespace {
/// Builds the function of several phases.
class PhaseMerger {
public:
  PhaseMerger(ArrayRef<PhaseCode> phases, func::FuncOp merged)
      : phases(phases), merged(merged), builder(merged.getContext()) {
    int64_t first = 0;
    for (const PhaseCode &phase : phases) {
      firstBlocks.push_back(first);
      first += phase.blocks;
    }
  }

  void run() {
    Location loc = merged.getLoc();
    builder.setInsertionPointToStart(merged.addEntryBlock());
    block = NVVM::BlockIdXOp::create(builder, loc, builder.getI32Type());
    func::ReturnOp::create(builder, loc);
    builder.setInsertionPointAfterValue(block);
    emit(0, phases.size());
  }

private:
  Value constant(Location loc, int64_t value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI32IntegerAttr(value));
  }

  /// Emits the code for the blocks of the phases from `first` to before `end`.
  void emit(size_t first, size_t end) {
    if (end - first == 1)
      return take(phases[first].function, firstBlocks[first]);
    size_t middle = (first + end) / 2;
    Location loc = merged.getLoc();
    Value isBefore =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, block,
                              constant(loc, firstBlocks[middle]));
    auto branch = scf::IfOp::create(builder, loc, isBefore,
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    emit(first, middle);
    builder.setInsertionPointToStart(branch.elseBlock());
    emit(middle, end);
  }

  /// Moves the code of a phase, whose first block has the number `first`.
  void take(func::FuncOp phase, int64_t first) {
    for (auto [argument, value] :
         llvm::zip_equal(phase.getArguments(), merged.getArguments()))
      argument.replaceAllUsesWith(value);
    phase.walk([&](NVVM::BlockIdXOp number) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPoint(number);
      Location loc = number.getLoc();
      number.replaceAllUsesWith(
          first == 0
              ? block
              : arith::SubIOp::create(builder, loc, block, constant(loc, first))
                    .getResult());
      number.erase();
    });
    Block &body = phase.getBody().front();
    builder.getBlock()->getOperations().splice(
        builder.getInsertionPoint(), body.getOperations(), body.begin(),
        std::prev(body.end()));
    phase.erase();
  }

  ArrayRef<PhaseCode> phases;
  func::FuncOp merged;
  OpBuilder builder;
  /// The number of the first block of each phase.
  SmallVector<int64_t> firstBlocks;
  Value block;
};
} // namespace

func::FuncOp lockstep::mergePhases(ArrayRef<PhaseCode> phases) {
  func::FuncOp first = phases.front().function;
  OpBuilder builder(first);
  auto merged = func::FuncOp::create(
      builder, first.getLoc(), first.getSymName(), first.getFunctionType());
  merged->setDiscardableAttrs(first->getDiscardableAttrDictionary());
  PhaseMerger(phases, merged).run();
  return merged;
}
