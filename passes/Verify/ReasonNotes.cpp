//===- ReasonNotes.cpp - How a value became varying, as notes -------------===//

#include "passes/Verify/ReasonNotes.h"

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Device/DeviceDialect.h"
#include "dialect/Replica/ReplicaDialect.h"
#include "passes/Analysis/UserLocation.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace lockstep;
using namespace mlir;

/// Notes that are emitted from each end of a long chain of reasons.
static constexpr size_t kNotesAtEachEnd = 6;

InFlightDiagnostic lockstep::emitUserError(Location location) {
  return emitError(getUserLocation(location));
}

std::string lockstep::describeArgument(FunctionOpInterface function,
                                       unsigned index) {
  if (auto name = function.getArgAttrOfType<StringAttr>(index, "replica.batch"))
    return ("batch argument '" + name.getValue() + "'").str();
  if (auto binding = function.getArgAttrOfType<device::BindingAttr>(
          index, "device.binding")) {
    if (binding.getKind() == device::BindingKind::Rank)
      return "the number of the replica";
    return (stringifyBindingKind(binding.getKind()) + " argument '" +
            binding.getName() + "'")
        .str();
  }
  return "argument " + std::to_string(index);
}

static std::string describeSource(Operation *op) {
  std::string name = "'" + op->getName().getStringRef().str() + "'";
  if (auto wait = dyn_cast<collective::WaitOp>(op); wait && wait.getStart()) {
    // Results in parts differ between ranks, whatever the members are.
    if (wait.getStart().getKindProperties().isSameForAll())
      return name + " gives a value to the members of group @" +
             wait.getStart().getGroup().str() + " that other ranks do not have";
  }
  if (auto read = dyn_cast<replica::ReadOp>(op))
    return ("variable '" + read.getVariable() +
            "' is synchronized on read: each replica has its own value")
        .str();
  if (isa<CallOpInterface>(op))
    return name +
           " calls a function whose results may be different on each replica";
  if (llvm::any_of(op->getOperandTypes(), llvm::IsaPred<BaseMemRefType>))
    return name + " reads memory, which may be different on each replica";
  if (!isFunctionOfOperands(op))
    return name + " is not known to give equal results for equal operands";
  if (isa<device::InvokeOp>(op))
    return name + " invokes a kernel that is not known to give equal results "
                  "for equal operands";
  return name + " is different on each replica";
}

/// A sentence for one reason.
static std::string describe(Value value, const Reason &reason) {
  std::string name = "'" + reason.op->getName().getStringRef().str() + "'";
  switch (reason.kind) {
  case VaryingBy::Source:
    return describeSource(reason.op);
  case VaryingBy::Argument:
    return describeArgument(cast<FunctionOpInterface>(reason.op),
                            cast<BlockArgument>(value).getArgNumber()) +
           " is different on each replica";
  case VaryingBy::Operand:
    if (reason.op->getNumSuccessors() > 0 ||
        isa<LoopLikeOpInterface>(reason.op))
      return name + " carries it from a value that may differ";
    return name + " makes it from a value that may differ";
  case VaryingBy::Control:
    return "it depends on the path through this " + name +
           ", whose condition may differ";
  case VaryingBy::Variable:
    return "the variable that it is read from gets a value here that may "
           "differ";
  }
  llvm_unreachable("unknown reason");
}

static Location getLocation(Value value, const Reason &reason) {
  return getUserLocation(reason.kind == VaryingBy::Argument
                             ? value.getLoc()
                             : reason.op->getLoc());
}

/// The chain of reasons from `value` to its source, one for each line of the
/// user's program; `lineBefore` is the line of the note before them.
static SmallVector<std::pair<Location, std::string>>
collectNotes(const UniformityAnalysis &uniformity, Value value,
             std::optional<RankPair> ranks, StringRef lineBefore) {
  SmallVector<std::pair<Location, std::string>> notes;
  std::string last = lineBefore.str();
  auto chain = uniformity.explain(value, ranks);
  for (auto [index, step] : llvm::enumerate(chain)) {
    auto &[at, reason] = step;
    Location location = getLocation(at, reason);
    std::string line = userLocation(location);
    // An argument without a line is reported at the line that uses it.
    if (line.empty() && !notes.empty())
      location = notes.back().first;
    bool isSource = index + 1 == chain.size();
    if (!line.empty() && line == last) {
      // Of several operations on one line, keep the one nearest to the source.
      if (!notes.empty())
        notes.pop_back();
      else if (!isSource)
        continue;
    }
    notes.emplace_back(location, describe(at, reason));
    last = line;
  }
  return notes;
}

static void attachNotes(InFlightDiagnostic &diagnostic,
                        ArrayRef<std::pair<Location, std::string>> notes) {
  size_t skipFrom = notes.size(), skipTo = notes.size();
  if (notes.size() > 2 * kNotesAtEachEnd + 1) {
    skipFrom = kNotesAtEachEnd;
    skipTo = notes.size() - kNotesAtEachEnd;
  }
  for (size_t i = 0; i < notes.size(); ++i) {
    if (i == skipFrom) {
      diagnostic.attachNote(notes[i].first)
          << "(" << skipTo - skipFrom << " more steps from here)";
      i = skipTo;
    }
    diagnostic.attachNote(notes[i].first) << notes[i].second;
  }
}

void lockstep::attachReasonChain(InFlightDiagnostic &diagnostic,
                                 const UniformityAnalysis &uniformity,
                                 Value value, std::optional<RankPair> ranks) {
  attachNotes(diagnostic,
              collectNotes(uniformity, value, ranks, /*lineBefore=*/""));
}

void lockstep::attachDivergenceNotes(InFlightDiagnostic &diagnostic,
                                     const UniformityAnalysis &uniformity,
                                     Divergence divergence,
                                     std::optional<RankPair> ranks,
                                     const std::string &more) {
  bool loops = isa<LoopLikeOpInterface>(divergence.branch);
  Location location = getUserLocation(divergence.branch->getLoc());
  diagnostic.attachNote(location)
      << "the "
      << (loops ? "trip count of this loop" : "condition of this branch")
      << " may differ between replicas ('" << divergence.branch->getName()
      << "')" << more;
  attachNotes(diagnostic, collectNotes(uniformity, divergence.condition, ranks,
                                       userLocation(location)));
}
