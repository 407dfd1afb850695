//===- EmitUpdates.cpp - Code of the threads of a nest of updates ---------===//

#include "passes/Codegen/Gpu/EmitThreads.h"
#include "passes/Codegen/Gpu/ThreadBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace lockstep;
using namespace mlir;

namespace {
class UpdateEmitter : ThreadBuilder {
public:
  using ThreadBuilder::ThreadBuilder;

  /// A thread executes one iteration of the distributed loops, and of the
  /// others what belongs to its part.
  void emit(const Phase &phase) {
    UpdateNest nest = *phase.updates;
    builder.setInsertionPoint(nest.root);
    loc = nest.root.getLoc();
    Value number = getNumber();
    onlyIf(isBelow(number, constant(phase.iterations)), [&] {
      SmallVector<OpFoldResult> sizes;
      for (int64_t size : nest.getSizes())
        sizes.push_back(builder.getIndexAttr(size));
      SmallVector<Value> own = delinearize(number, sizes);
      nest.root->moveBefore(builder.getInsertionBlock()->getTerminator());
      if (nest.owner)
        guard(nest, own.front());
      for (auto [loop, index] :
           llvm::zip_equal(nest.distributed, ArrayRef(own).drop_front()))
        replaceByIteration(loop, index);
    });
  }

private:
  /// Leaves out the accesses that belong to other parts.
  void guard(const UpdateNest &nest, Value part) {
    OpBuilder::InsertionGuard restore(builder);
    builder.setInsertionPoint(nest.firstOwned);
    Value isOwn = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::eq,
        arith::RemUIOp::create(builder, loc, nest.owner, constant(nest.parts)),
        part);
    auto branch = scf::IfOp::create(builder, loc, isOwn);
    Block &body = *branch.thenBlock(), &outer = *branch->getBlock();
    body.getOperations().splice(body.begin(), outer.getOperations(),
                                nest.firstOwned->getIterator(),
                                std::next(nest.lastOwned->getIterator()));
  }

  /// Replaces a loop by its iteration of this number.
  void replaceByIteration(scf::ForOp loop, Value number) {
    OpBuilder::InsertionGuard restore(builder);
    builder.setInsertionPoint(loop);
    Value index = arith::AddIOp::create(
        builder, loc, loop.getLowerBound(),
        arith::MulIOp::create(builder, loc, number, loop.getStep()));
    loop.getInductionVar().replaceAllUsesWith(index);
    Block &body = *loop.getBody();
    loop->getBlock()->getOperations().splice(loop->getIterator(),
                                             body.getOperations(), body.begin(),
                                             std::prev(body.end()));
    loop.erase();
  }
};
} // namespace

void lockstep::emitUpdates(func::FuncOp function, const Phase &phase) {
  UpdateEmitter(function, phase.threads).emit(phase);
}
