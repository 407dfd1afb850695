//===- Lifetimes.cpp - Live ranges of values in a step --------------------===//

#include "passes/Memory/Lifetimes.h"

#include "passes/Memory/Storage.h"

using namespace lockstep;
using namespace mlir;

Lifetimes::Lifetimes(func::FuncOp step) { number(step.getBody().front(), 0); }

int64_t Lifetimes::number(Block &block, int64_t next) {
  for (Operation &op : block) {
    positions[&op].first = next++;
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        next = number(inner, next);
    positions[&op].second =
        op.getNumRegions() > 0 ? next++ : positions[&op].first;
  }
  return next;
}

int64_t Lifetimes::getLastUse(Value value) const {
  int64_t last = -1;
  for (Operation *user : value.getUsers()) {
    Operation *ancestor = value.getParentBlock()->findAncestorOpInBlock(*user);
    // A user outside of the block of the definition has no ancestor in it.
    last = std::max(last, ancestor ? getLast(ancestor) : getLast(user));
    if (isView(user))
      last = std::max(last, getLastUse(user->getResult(0)));
    // The memory of a condition or bound is read where the extracted scalar is
    // used.
    if (user->getNumResults() == 1 &&
        user->getResult(0).getType().isIntOrIndexOrFloat())
      last = std::max(last, getLastUse(user->getResult(0)));
  }
  return last;
}
