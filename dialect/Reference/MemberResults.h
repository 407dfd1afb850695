//===- MemberResults.h - what members of a group get ------------*- C++ -*-===//

#ifndef LOCKSTEP_DIALECT_REFERENCE_MEMBERRESULTS_H
#define LOCKSTEP_DIALECT_REFERENCE_MEMBERRESULTS_H

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Reference/Machine.h"

namespace lockstep::interpret {

/// Appends to `results`, one list for each member of the group, what a
/// collective makes of `operands`, what each of them has. `ranks` are those of
/// the members, ascending. Of a result that a member does not get nothing is
/// said; here it is zeros. Error: shapes that do not fit each other.
llvm::LogicalResult
makeResults(Machine &machine, collective::StartOp op,
            llvm::ArrayRef<int64_t> ranks,
            llvm::ArrayRef<llvm::SmallVector<Value>> operands,
            std::vector<llvm::SmallVector<Value>> &results);

} // namespace lockstep::interpret

#endif
