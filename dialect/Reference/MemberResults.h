//===- MemberResults.h - The results of a group's members -------*- C++ -*-===//

#ifndef LOCKSTEP_DIALECT_REFERENCE_MEMBERRESULTS_H
#define LOCKSTEP_DIALECT_REFERENCE_MEMBERRESULTS_H

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Reference/Machine.h"

namespace lockstep::interpret {

/// Appends to `results`, one list for each member of the group, the results of
/// a collective; `operands` are those of each member, and `ranks` the ranks of
/// the members, ascending. The result of a member that receives none is
/// unspecified; here it is zeros. Error: shapes that do not match.
llvm::LogicalResult
makeResults(Machine &machine, collective::StartOp op,
            llvm::ArrayRef<int64_t> ranks,
            llvm::ArrayRef<llvm::SmallVector<Value>> operands,
            std::vector<llvm::SmallVector<Value>> &results);

} // namespace lockstep::interpret

#endif
