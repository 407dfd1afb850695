//===- CollectiveOrder.cpp - All replicas issue the same collectives ------===//

#include "passes/Verify/CollectiveOrder.h"

#include "dialect/Interfaces/CollectiveOpInterface.h"
#include "dialect/Interfaces/ReplicaContext.h"
#include "dialect/Replica/ReplicaDialect.h"
#include "passes/Analysis/UserLocation.h"
#include "passes/Verify/GroupComponents.h"
#include "passes/Verify/Paths.h"
#include "passes/Verify/ReasonNotes.h"
#include "passes/Verify/SideBySide.h"
#include "passes/Verify/Verdict.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Dominance.h"

using namespace lockstep;
using namespace mlir;

namespace {

/// Walks one function and reports the collectives whose order is not proven.
class OrderVerifier {
public:
  /// With a judge it emits errors; without one it only collects the branches
  /// and loops that are refused.
  OrderVerifier(FunctionOpInterface function,
                const UniformityAnalysis &uniformity, Judge *judge)
      : uniformity(uniformity),
        matcher(uniformity.getSymbols(), uniformity.getBrokenRule()),
        judge(judge), inReplicaForm(isa<OpensContextInterface>(*function)) {}

  LogicalResult verify(Region &region) {
    for (Block &block : region) {
      size_t outside = around.size();
      llvm::append_range(around, uniformity.getDivergencesOf(&block));
      for (Operation &op : block)
        verify(&op);
      around.resize(outside);
    }
    return success(valid);
  }

  /// Branches and loops in which replicas could issue different sequences.
  std::vector<Operation *> refused;

private:
  void verify(Operation *op) {
    if (isCollective(op, uniformity.getSymbols()))
      verifyReached(op);
    if (op->getNumRegions() == 0)
      return;
    if (!isa<OpensContextInterface, scf::IfOp, scf::IndexSwitchOp, scf::ForOp,
             scf::WhileOp, scf::ExecuteRegionOp>(op)) {
      if (Operation *collective = findCollective(op, uniformity.getSymbols());
          collective &&
          !uniformity.isBroken(UniformityRule::OrderlessRegionsAreAllowed))
        reportUnordered(collective, op);
      return;
    }
    if (Divergence divergence = uniformity.getDivergence(op);
        divergence && !verifyDivergent(op, divergence))
      return;
    for (Region &region : op->getRegions())
      if (!uniformity.getConstants().isNeverEntered(region))
        (void)verify(region);
  }

  //===--------------------------------------------------------------------===//
  // Branches and loops of scf
  //===--------------------------------------------------------------------===//

  /// True if the replicas that take part in collectives in `op` issue the same
  /// sequence on every path through it. [2.3-control-flow]
  bool verifyDivergent(Operation *op, Divergence divergence) {
    bool loops = isa<scf::ForOp, scf::WhileOp>(op);
    if (uniformity.isBroken(loops ? UniformityRule::TripCountsAreIgnored
                                  : UniformityRule::ConditionsAreIgnored))
      return true;
    for (const GroupComponent &component :
         findComponents(op, divergence.partition, uniformity)) {
      // Equalities learned for the ranks of one component need not hold for
      // others.
      matcher =
          SequenceMatcher(uniformity.getSymbols(), uniformity.getBrokenRule());
      auto counts = [&](Operation *collective) {
        return component.isSplit(uniformity.getMembers(collective));
      };
      bool isEqual = loops ? verifyIterations(op, divergence, component, counts)
                           : verifySides(op, divergence, component, counts);
      if (!isEqual)
        return false;
    }
    return true;
  }

  bool verifyIterations(Operation *op, Divergence divergence,
                        const GroupComponent &component,
                        llvm::function_ref<bool(Operation *)> counts) {
    Operation *collective = findCollective(op, uniformity.getSymbols(), counts);
    if (!collective)
      return true;
    Region *region = collective->getParentRegion();
    while (region->getParentOp() != op)
      region = region->getParentOp()->getParentRegion();
    Sequence iteration = matcher.getSequence(*region, counts);
    std::string left = "in one more iteration", right = "out of the loop",
                after = describeNext(op, uniformity.getSymbols()),
                done = "; up to the first difference";
    if (SmallVector<uint64_t> counts =
            isa<scf::ForOp>(op) ? uniformity.getConstants().getTripCounts(op)
                                : SmallVector<uint64_t>();
        !counts.empty()) {
      auto [more, fewer] = findDifferent(counts, component);
      if (counts[more] < counts[fewer])
        std::swap(more, fewer);
      left = describeRank(more) + " (" + std::to_string(counts[more]) +
             " iterations)";
      right = describeRank(fewer) + " (" + std::to_string(counts[fewer]) +
              (counts[fewer] == 1 ? " iteration)" : " iterations)");
      if (counts[fewer] > 0)
        done = ", after " + std::to_string(counts[fewer]) +
               (counts[fewer] == 1 ? " equal iteration" : " equal iterations");
      ranks = RankPair(more, fewer);
    } else {
      ranks = component.separated;
    }
    refuse(divergence, [&] {
      reportMissing(collective, divergence,
                    done + " they issue" +
                        describeSideBySide({left, iteration, ""},
                                           {right, {}, after}, matcher));
    });
    return false;
  }

  bool verifySides(Operation *op, Divergence divergence,
                   const GroupComponent &component,
                   llvm::function_ref<bool(Operation *)> counts) {
    std::vector<Sequence> sides;
    for (Region &region : op->getRegions())
      sides.push_back(matcher.getSequence(region, counts));
    SmallVector<unsigned> taken = uniformity.getConstants().getTakenRegions(op);
    // The lowest rank that takes each side; a side that no member takes does
    // not matter.
    std::vector<std::optional<unsigned>> who(sides.size());
    for (size_t rank = taken.size(); rank-- > 0;)
      if (component.contains(rank))
        who[taken[rank]] = rank;
    std::optional<size_t> first;
    for (size_t i = 0; i < sides.size(); ++i) {
      if (!taken.empty() && !who[i])
        continue;
      if (!first) {
        first = i;
        continue;
      }
      std::optional<size_t> difference =
          matcher.findDifference(sides[*first], sides[i]);
      if (!difference)
        continue;
      ranks =
          taken.empty() ? component.separated : RankPair(*who[*first], *who[i]);
      std::string after = describeNext(op, uniformity.getSymbols());
      IssuedPath left{describeOutcome(op, *first, who[*first]), sides[*first],
                      after},
          right{describeOutcome(op, i, who[i]), sides[i], after};
      refuse(divergence, [&] { report(left, right, *difference, divergence); });
      return false;
    }
    return true;
  }

  /// Two members with different counts. [10-loops]
  static RankPair findDifferent(ArrayRef<uint64_t> counts,
                                const GroupComponent &component) {
    std::optional<unsigned> first;
    for (unsigned rank = 0; rank < counts.size(); ++rank) {
      if (!component.contains(rank))
        continue;
      if (!first)
        first = rank;
      if (counts[rank] != counts[*first])
        return {*first, rank};
    }
    llvm_unreachable("the members of a component that is split differ");
  }

  std::string describeRank(unsigned rank) const {
    return (inReplicaForm ? "replica " : "rank ") + std::to_string(rank);
  }

  std::string describeOutcome(Operation *op, unsigned region,
                              std::optional<unsigned> rank) const {
    std::string outcome;
    if (isa<scf::IfOp>(op))
      outcome = region == 0 ? "true" : "false";
    else
      outcome =
          region == 0
              ? "default"
              : "case " +
                    std::to_string(
                        cast<scf::IndexSwitchOp>(op).getCases()[region - 1]);
    if (rank)
      return describeRank(*rank) + " (" + outcome + ")";
    return isa<scf::IfOp>(op) ? "where it is " + outcome : "in the " + outcome;
  }

  //===--------------------------------------------------------------------===//
  // Blocks
  //===--------------------------------------------------------------------===//

  /// True if all paths from a branch between blocks issue the same sequence.
  bool isAligned(Divergence divergence) {
    auto [known, isNew] = aligned.try_emplace(divergence.branch, false);
    if (isNew)
      known->second = haveEqualPaths(divergence);
    return known->second;
  }

  bool haveEqualPaths(Divergence divergence) {
    // A matcher of its own: the equalities it learns hold only if the paths are
    // equal.
    SequenceMatcher matcher(uniformity.getSymbols(),
                            uniformity.getBrokenRule());
    PathFinder paths(matcher, postDominance);
    Block *origin = divergence.branch->getBlock();
    Block *join = getJoin(postDominance, origin);
    std::optional<Sequence> first;
    for (Block *successor : origin->getSuccessors()) {
      std::optional<Sequence> sequence = paths.find(successor, join);
      if (!sequence || (first && !matcher.areEqual(*first, *sequence)))
        return false;
      first = std::move(sequence);
    }
    return true;
  }

  /// All members of the group of a collective must reach it.
  void verifyReached(Operation *op) {
    if (uniformity.isBroken(UniformityRule::EarlyExitsAreIgnored))
      return;
    std::optional<llvm::BitVector> members = uniformity.getMembers(op);
    // At the limit, the analysis may have left out branches, and whether their
    // paths are equal is not known.
    bool areAllKnown = around.size() < UniformityAnalysis::kMostDivergences;
    for (const Divergence &divergence : around) {
      if (!isSplit(members, divergence.partition, uniformity) ||
          (areAllKnown && isAligned(divergence)))
        continue;
      if (reported.insert(divergence.branch).second)
        refuse(divergence, [&] { reportUnreached(op, divergence); });
      return;
    }
  }

  void reportUnreached(Operation *op, Divergence divergence) {
    PathFinder paths(matcher, postDominance);
    Block *origin = divergence.branch->getBlock();
    Block *join = getJoin(postDominance, origin);
    Operation *place = op;
    while (place->getParentRegion() != origin->getParent())
      place = place->getParentOp();
    std::optional<IssuedPath> with, without;
    Sequence sequences[2];
    for (Block *successor : origin->getSuccessors()) {
      std::string line =
          successor->empty() ? "" : userLocation(successor->front().getLoc());
      std::string where = line.empty() ? "one path" : "to " + line;
      Sequence through;
      if (!with &&
          paths.findThrough(successor, join, place->getBlock(), through)) {
        sequences[0] = std::move(through);
        with = IssuedPath{where, sequences[0], "goes on"};
      } else if (!without) {
        sequences[1] = paths.findAny(successor, join);
        without = IssuedPath{where, sequences[1],
                             join ? "goes on behind the branch"
                                  : "goes on to the end"};
      }
    }
    std::string comparison;
    if (with && without &&
        matcher.findDifference(with->sequence, without->sequence))
      comparison = "; up to the first difference they issue" +
                   describeSideBySide(*with, *without, matcher);
    ranks = members(op) ? uniformity.getPartitions().findSeparated(
                              divergence.partition, *members(op))
                        : std::nullopt;
    reportMissing(op, divergence, comparison);
  }

  std::optional<llvm::BitVector> members(Operation *op) const {
    return uniformity.getMembers(op);
  }

  //===--------------------------------------------------------------------===//
  // Errors
  //===--------------------------------------------------------------------===//

  void refuse(Divergence divergence, llvm::function_ref<void()> report) {
    valid = false;
    refused.push_back(divergence.branch);
    if (judge)
      report();
  }

  void report(const IssuedPath &lhs, const IssuedPath &rhs, size_t difference,
              Divergence divergence) {
    auto at = [&](const IssuedPath &path) {
      return difference < path.sequence.size()
                 ? findCollective(path.sequence[difference].op,
                                  uniformity.getSymbols())
                 : nullptr;
    };
    Operation *left = at(lhs), *right = at(rhs);
    std::string comparison = "; up to the first difference they issue" +
                             describeSideBySide(lhs, rhs, matcher);
    if (!left || !right)
      return reportMissing(left ? left : right, divergence, comparison);
    InFlightDiagnostic diagnostic = emitUserError(left->getLoc());
    diagnostic << "'" << left->getName()
               << "' is issued by some replicas, while others issue "
               << (left->getName() == right->getName() ? "a different '" : "'")
               << right->getName()
               << "' in its place [E_COLLECTIVE_DIVERGENCE]";
    attachVerdict(diagnostic, judge->judgeDifferent(lhs.sequence[difference],
                                                    rhs.sequence[difference],
                                                    divergence, ranks));
    auto attachNote = [&](Operation *collective, const char *who,
                          const Item &item, const Item &other) {
      Diagnostic &note =
          diagnostic.attachNote(getUserLocation(collective->getLoc()))
          << who << " issue ";
      describe(note, collective);
      bool isInside = item.regions.size() == other.regions.size() &&
                      !llvm::all_of_zip(item.regions, other.regions,
                                        [&](auto &mine, auto &theirs) {
                                          return matcher.areEqual(mine, theirs);
                                        });
      if (std::string detail = isInside ? "" : describeDetail(item, other);
          !detail.empty())
        note << (item.isCollective()                 ? ""
                 : isa<LoopLikeOpInterface>(item.op) ? " in a loop"
                                                     : " in a branch")
             << detail;
    };
    attachNote(left, "some replicas", lhs.sequence[difference],
               rhs.sequence[difference]);
    attachNote(right, "other replicas", rhs.sequence[difference],
               lhs.sequence[difference]);
    attachDivergenceNotes(diagnostic, uniformity, divergence, ranks,
                          comparison);
  }

  static void describe(Diagnostic &note, Operation *collective) {
    note << "'" << collective->getName() << "'";
    if (auto reduction =
            collective->getAttrOfType<replica::ReductionAttr>("reduction"))
      note << " " << replica::stringifyReduction(reduction.getValue());
    if (auto interface = dyn_cast<CollectiveOpInterface>(collective))
      note << " " << interface.getKindName() << " in group "
           << interface.getGroupSymbol();
    if (auto channel = collective->getAttrOfType<IntegerAttr>("channel"))
      note << " on channel " << channel.getInt();
    if (collective->getNumOperands() > 0)
      note << " of " << collective->getOperandTypes();
  }

  void reportMissing(Operation *collective, Divergence divergence,
                     const std::string &comparison) {
    InFlightDiagnostic diagnostic = emitUserError(collective->getLoc());
    bool loops = isa<scf::ForOp, scf::WhileOp>(divergence.branch);
    diagnostic << "'" << collective->getName() << "' is "
               << (loops ? "in a loop whose trip count may differ"
                         : "under a condition that may differ")
               << " between replicas: some would wait in it for others that "
                  "never come ";
    // A branch that the front end resolved for each replica: the replicas have
    // different programs instead of different paths through one program.
    diagnostic << (divergence.branch->hasAttr("replica.static")
                       ? "[E_COLLECTIVE_DIVERGENCE]"
                       : "[E_COLLECTIVE_IN_CONTROL_FLOW]");
    attachVerdict(diagnostic,
                  judge->judgeMissing(collective, divergence, ranks));
    attachDivergenceNotes(diagnostic, uniformity, divergence, ranks,
                          comparison);
  }

  void reportUnordered(Operation *collective, Operation *op) {
    valid = false;
    if (!judge)
      return;
    InFlightDiagnostic diagnostic = emitUserError(collective->getLoc());
    diagnostic << "'" << collective->getName() << "' is inside of '"
               << op->getName()
               << "', which does not say in which order or how often it is "
                  "issued [E_COLLECTIVE_IN_CONTROL_FLOW]";
    attachVerdict(diagnostic, {false, "the order and number are open", op});
    diagnostic.attachNote(getUserLocation(op->getLoc()))
        << "'" << op->getName() << "' is here";
  }

  const UniformityAnalysis &uniformity;
  SequenceMatcher matcher;
  PostDominanceInfo postDominance;
  /// Branches between blocks because of which some replicas may not reach the
  /// current operation.
  SmallVector<Divergence> around;
  /// For each branch between blocks that has been asked about, whether all
  /// paths from it issue the same sequence.
  llvm::DenseMap<Operation *, bool> aligned;
  /// Branches between blocks that have an error already.
  llvm::DenseSet<Operation *> reported;
  /// The two ranks that the error being reported compares.
  std::optional<RankPair> ranks;
  Judge *judge;
  bool inReplicaForm;
  bool valid = true;
};

} // namespace

LogicalResult
lockstep::verifyCollectiveOrder(FunctionOpInterface function,
                                const UniformityAnalysis &uniformity,
                                Judge &judge) {
  OrderVerifier finder(function, uniformity, nullptr);
  if (succeeded(finder.verify(function.getFunctionBody())))
    return success();
  // The verdict on one branch depends on which others are refused.
  for (Operation *branch : finder.refused)
    judge.addRefused(branch);
  return OrderVerifier(function, uniformity, &judge)
      .verify(function.getFunctionBody());
}
