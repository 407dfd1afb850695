//===- Verdict.cpp - Wrong, or not provable -------------------------------===//

#include "passes/Verify/Verdict.h"

#include "dialect/Replica/ReplicaDialect.h"
#include "passes/Analysis/UserLocation.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"

using namespace lockstep;
using namespace mlir;

/// If an error depends on more branches, their inputs are not compared, as that
/// takes quadratic time.
static constexpr size_t kMostBranches = 32;

static constexpr StringLiteral kVerdict = "verdict", kReason = "reason",
                               kCondition = "condition", kInputs = "arguments";

//===----------------------------------------------------------------------===//
// Diagnostics
//===----------------------------------------------------------------------===//

StringRef lockstep::toString(const Verdict &verdict) {
  return verdict.isWrong ? "wrong" : "not provable";
}

void lockstep::attachVerdict(InFlightDiagnostic &diagnostic,
                             const Verdict &verdict) {
  diagnostic << " (" << toString(verdict) << ": " << verdict.reason << ")";
  Diagnostic *underlying = diagnostic.getUnderlyingDiagnostic();
  if (!underlying)
    return;
  Builder builder(underlying->getLocation().getContext());
  SmallVector<NamedAttribute> entries = {
      builder.getNamedAttr(kVerdict, builder.getStringAttr(toString(verdict))),
      builder.getNamedAttr(kReason, builder.getStringAttr(verdict.reason))};
  if (std::string line =
          verdict.condition ? userLocation(verdict.condition->getLoc()) : "";
      !line.empty())
    entries.push_back(
        builder.getNamedAttr(kCondition, builder.getStringAttr(line)));
  underlying->getMetadata().push_back(
      DiagnosticArgument(Attribute(builder.getDictionaryAttr(entries))));
  if (verdict.inputs)
    underlying->getMetadata().push_back(
        DiagnosticArgument(Attribute(verdict.inputs)));
}

static DictionaryAttr findEntries(Diagnostic &diagnostic, StringRef key) {
  for (const DiagnosticArgument &argument : diagnostic.getMetadata())
    if (argument.getKind() ==
        DiagnosticArgument::DiagnosticArgumentKind::Attribute)
      if (auto entries = dyn_cast<DictionaryAttr>(argument.getAsAttribute());
          entries && entries.contains(key))
        return entries;
  return {};
}

DictionaryAttr lockstep::findVerdict(Diagnostic &diagnostic) {
  return findEntries(diagnostic, kVerdict);
}
DictionaryAttr lockstep::findInputs(Diagnostic &diagnostic) {
  return findEntries(diagnostic, kInputs);
}

static std::string describe(Operation *branch) {
  std::string line = userLocation(branch->getLoc());
  return "'" + branch->getName().getStringRef().str() + "'" +
         (line.empty() ? "" : " (" + line + ")");
}

static std::string describe(RankPair ranks) {
  return "replicas " + std::to_string(std::min(ranks.first, ranks.second)) +
         " and " + std::to_string(std::max(ranks.first, ranks.second));
}

static Verdict isWrong(std::string reason, Operation *condition) {
  return {true, std::move(reason), condition};
}
static Verdict isOpen(std::string reason, Operation *condition) {
  return {false, std::move(reason), condition};
}

//===----------------------------------------------------------------------===//
// Paths to an operation
//===----------------------------------------------------------------------===//

/// The values that decide which path is taken through a branch or loop.
static SmallVector<Value> getConditions(Operation *branch) {
  if (auto loop = dyn_cast<scf::ForOp>(branch))
    return {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()};
  if (auto loop = dyn_cast<scf::WhileOp>(branch))
    return {loop.getConditionOp().getCondition()};
  auto between = dyn_cast<BranchOpInterface>(branch);
  SmallVector<Value> conditions;
  for (OpOperand &operand : branch->getOpOperands())
    if (!between ||
        !between.getSuccessorBlockArgument(operand.getOperandNumber()))
      conditions.push_back(operand.get());
  return conditions;
}

/// An operation in a region of several blocks is assumed to be
/// control-dependent on all branches between them.
std::vector<Judge::Step> Judge::getControlPath(Operation *place) const {
  std::vector<Step> path;
  for (Operation *op = place; op != function; op = op->getParentOp()) {
    Region *region = op->getParentRegion();
    Operation *parent = region->getParentOp();
    // The before-region of a while is executed at least once.
    bool isAlwaysReached =
        isa<scf::WhileOp>(parent) && region->getRegionNumber() == 0;
    if (isa<scf::IfOp, scf::IndexSwitchOp, scf::ForOp, scf::WhileOp>(parent) &&
        !isAlwaysReached)
      path.push_back({parent, region->getRegionNumber()});
    if (!region->hasOneBlock())
      for (Block &block : *region)
        if (block.getNumSuccessors() > 1)
          path.push_back({block.getTerminator(), 0});
  }
  return path;
}

/// Removes ranks from `ranks` that are known not to take the step. Some rank
/// takes it: operations that no rank reaches are not checked.
Judge::Taken Judge::classify(const Step &step, llvm::BitVector &ranks) const {
  const RankConstants &constants = uniformity.getConstants();
  if (isa<scf::IfOp, scf::IndexSwitchOp>(step.branch) &&
      matchPattern(step.branch->getOperand(0), m_Constant()))
    return Taken::Always;
  llvm::BitVector taking;
  if (auto loop = dyn_cast<scf::ForOp>(step.branch)) {
    if (loop.getStaticTripCount())
      return Taken::Always;
    for (uint64_t iterations : constants.getTripCounts(loop))
      taking.push_back(iterations > 0);
  } else {
    for (unsigned region : constants.getTakenRegions(step.branch))
      taking.push_back(region == step.region);
  }
  if (taking.empty() || taking.size() != ranks.size())
    return Taken::ByInput;
  ranks &= taking;
  return taking.all() ? Taken::Always : Taken::ByRank;
}

/// Branches and loops inside of `branch` may issue the collectives that seem to
/// be missing.
void Judge::addInside(Operation *branch,
                      llvm::SetVector<Operation *> &others) const {
  branch->walk([&](Operation *inner) {
    if (inner != branch &&
        isa<scf::IfOp, scf::IndexSwitchOp, scf::ForOp, scf::WhileOp>(inner) &&
        findCollective(inner, uniformity.getSymbols()))
      others.insert(inner);
  });
}

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

bool Judge::isKnown(const Divergence &divergence) const {
  if (isa<scf::ForOp>(divergence.branch))
    return !uniformity.getConstants().getTripCounts(divergence.branch).empty();
  return !uniformity.getConstants().lookup(divergence.condition).empty();
}

Verdict Judge::judgeMissing(Operation *collective, const Divergence &divergence,
                            std::optional<RankPair> ranks) {
  return judge({collective, divergence.condition, divergence.branch,
                divergence.partition, isKnown(divergence), ranks});
}

Verdict Judge::judgeDifferent(const Item &lhs, const Item &rhs,
                              const Divergence &divergence,
                              std::optional<RankPair> ranks) {
  Operation *place = lhs.isCollective()
                         ? lhs.op
                         : findCollective(lhs.op, uniformity.getSymbols());
  Question question{place,
                    divergence.condition,
                    divergence.branch,
                    divergence.partition,
                    isKnown(divergence),
                    ranks};
  if (std::optional<Verdict> undecided = findUndecided(lhs, rhs, divergence))
    return searchCounterexample(question, std::move(*undecided));
  return judge(question);
}

/// What is not known about two items at the same position, whichever replicas
/// issue them; nullopt if they are certain to differ.
std::optional<Verdict>
Judge::findUndecided(const Item &lhs, const Item &rhs,
                     const Divergence &divergence) const {
  auto isLoop = [](const Item &item) {
    return isa<scf::ForOp, scf::WhileOp>(item.op);
  };
  if (isLoop(lhs) || isLoop(rhs) ||
      (!lhs.isCollective() && !rhs.isCollective()))
    return isOpen("whether " + describe(lhs.op) + " and " + describe(rhs.op) +
                      " issue the same could not be decided",
                  lhs.isCollective() ? rhs.op : lhs.op);
  if (lhs.isCollective() && rhs.isCollective()) {
    Operation *left = lhs.op, *right = rhs.op;
    auto hasDynamic = [](Operation *op) {
      return llvm::any_of(op->getOperandTypes(), [](Type type) {
        auto shaped = dyn_cast<ShapedType>(type);
        return shaped && !shaped.hasStaticShape();
      });
    };
    bool areLike = left->getName() == right->getName() &&
                   left->getAttrDictionary() == right->getAttrDictionary();
    if (areLike && (hasDynamic(left) || hasDynamic(right)))
      return isOpen(
          "whether the sizes of their operands are equal could not be decided",
          divergence.branch);
    if (areLike && left->getOperandTypes() == right->getOperandTypes() &&
        left->getResultTypes() == right->getResultTypes())
      return isOpen("whether what they do with the values of all replicas is "
                    "the same could not be decided",
                    divergence.branch);
    // Two groups in opposite orders deadlock only if they share two ranks that
    // take different paths.
    if (uniformity.getMembers(left) != uniformity.getMembers(right))
      return isOpen("whether members of both groups take different paths could "
                    "not be decided",
                    divergence.branch);
  }
  return std::nullopt;
}

Verdict Judge::judgeReached(Operation *place, const Divergence &divergence) {
  return judge({place, divergence.condition, divergence.branch,
                divergence.partition, isKnown(divergence), std::nullopt,
                place});
}

Verdict Judge::judgeValue(Value value, Operation *place) {
  // A value that is equal wherever it is defined can be varying only because
  // some replicas do not reach its definition.
  if (uniformity.isEqualWhereDefined(value))
    if (Divergence divergence = uniformity.getDivergenceAround(
            value.getDefiningOp() ? value.getDefiningOp() : place))
      return judgeReached(place, divergence);
  bool isKnown = !uniformity.getConstants().lookup(value).empty();
  return judge({place, value, nullptr, uniformity.getPartition(value), isKnown,
                std::nullopt, place});
}

std::optional<Witness> Judge::findWitness(const Question &question) {
  if (!findsExamples)
    return std::nullopt;
  if (!question.use)
    return search.findBlocked(question.branch, refused.getArrayRef());
  return search.findDifferent(question.use,
                              question.branch ? Value() : question.value,
                              question.branch);
}

/// Executes the program on random inputs where its form does not decide, or
/// decides `wrong` under an assumption about inputs.
Verdict Judge::searchCounterexample(const Question &question,
                                    Verdict staticVerdict) {
  std::optional<Witness> witness = findWitness(question);
  std::string does = question.branch
                         ? " can lead replicas along different paths"
                         : " can make it different";
  if (!witness) {
    if (!staticVerdict.isWrong)
      return staticVerdict;
    Verdict verdict =
        isOpen("whether " + staticVerdict.reason + " could not be decided: " +
                   (findsExamples ? search.describeEffort()
                                  : "lockstep-verify searches for an example"),
               staticVerdict.condition);
    verdict.isUnconfirmed = true;
    return verdict;
  }
  Verdict verdict = isWrong("", witness->branch);
  verdict.hasExample = true;
  verdict.inputs = search.getInputs(*witness);
  bool isInside = witness->branch != question.branch;
  SmallVector<Value> values = isInside ? getConditions(witness->branch)
                                       : SmallVector<Value>{question.value};
  // Only inputs that may make the values differ can be named as the cause.
  Inputs own = Inputs::perReplicaInputsOf(values, uniformity);
  Value differs;
  std::string example =
      search.describe(*witness, own.arguments.getArrayRef(), &differs);
  if (differs) {
    Inputs named;
    named.arguments.insert(differs);
    verdict.reason = named.describe() + does;
    if (isInside)
      verdict.reason += " in " + describe(witness->branch);
  } else if (question.branch) {
    verdict.reason = describe(witness->ranks) + " take different paths" +
                     (isInside ? " in " + describe(witness->branch) : "");
    example = search.describe(
        *witness, Inputs::of(values).arguments.getArrayRef(), &differs);
  } else {
    verdict.reason = "replicas have different values";
    example.clear();
  }
  if (!example.empty())
    verdict.reason += ", for example " + example;
  return verdict;
}

/// The constants of the ranks decide the paths of the ranks; other conditions
/// on the path must not depend on the rank.
Verdict Judge::judgeByRank(const Question &question,
                           const llvm::BitVector &ranks) const {
  std::optional<RankPair> pair = question.ranks;
  if (!pair || !ranks.test(pair->first) || !ranks.test(pair->second))
    pair = question.ranks ? std::nullopt
                          : uniformity.getPartitions().findSeparated(
                                question.partition, ranks);
  if (!pair)
    return isOpen(
        "whether replicas that differ come there could not be decided",
        question.branch);
  return isWrong(describe(*pair) + (question.branch ? " take different paths"
                                                    : " have different values"),
                 question.branch);
}

Verdict Judge::judge(const Question &question) {
  StaticVerdict fromForm = judgeStatically(question);
  Operation *other = question.use ? findOtherWriter(question.use) : nullptr;
  if (fromForm.state == StaticVerdict::Final &&
      !(fromForm.verdict.isWrong && other))
    return fromForm.verdict;
  Verdict verdict = searchCounterexample(question, std::move(fromForm.verdict));
  // A later write to the same variable may restore a value that is equal on all
  // replicas.
  if (verdict.isUnconfirmed && other)
    return isOpen("whether " + describe(other) +
                      " replaces it could not be decided",
                  verdict.condition);
  return verdict;
}

/// The last operation that writes to the variable to which `op` does, other
/// than `op`; null if there is none.
Operation *Judge::findOtherWriter(Operation *op) {
  auto name = op->getAttrOfType<FlatSymbolRefAttr>("variable");
  if (!name)
    return nullptr;
  if (lastWrites.empty())
    function->walk([&](Operation *writer) {
      if (auto variable = writer->getAttrOfType<FlatSymbolRefAttr>("variable");
          variable && !isa<replica::ReadOp, replica::LookupOp>(writer)) {
        auto &[last, before] = lastWrites[variable];
        before = last;
        last = writer;
      }
    });
  auto [last, before] = lastWrites.lookup(name);
  return last == op ? before : last;
}

Judge::StaticVerdict Judge::judgeStatically(const Question &question) const {
  llvm::BitVector ranks(uniformity.getPartitions().getNumRanks(), true);
  if (std::optional<llvm::BitVector> members =
          uniformity.getMembers(question.place))
    ranks &= *members;
  // All other branches on which the answer depends.
  llvm::SetVector<Operation *> onPath, others;
  for (const Step &step : getControlPath(question.place)) {
    if (step.branch == question.branch)
      continue;
    Taken taken = classify(step, ranks);
    bool isInside =
        question.branch && question.branch->isProperAncestor(step.branch);
    if (taken == Taken::ByRank && isInside)
      return {
          isOpen("whether replicas that differ come there could not be decided",
                 step.branch)};
    if (taken == Taken::ByInput)
      onPath.insert(step.branch);
  }
  if (question.branch) {
    others.insert_range(refused);
    addInside(question.branch, others);
    others.remove(question.branch);
  }
  others.insert_range(onPath);
  if (others.size() > kMostBranches)
    return {
        isOpen("it depends on " + std::to_string(others.size()) + " branches",
               question.branch),
        StaticVerdict::Final};
  Inputs ofValue = Inputs::of(question.value);
  std::vector<Inputs> inputs;
  for (Operation *other : others)
    inputs.push_back(Inputs::of(getConditions(other)));

  auto mayAgree = [&](Operation *one, Operation *other) -> StaticVerdict {
    return {isOpen("whether " + describe(one) + " and " + describe(other) +
                       " decide alike could not be decided",
                   one)};
  };
  std::string name =
      question.branch ? "the condition of " + describe(question.branch) : "it";
  Verdict verdict;
  if (question.isKnown) {
    for (auto [other, from] : llvm::zip_equal(others, inputs))
      if (from.hasRank)
        return question.branch ? mayAgree(question.branch, other)
                               : StaticVerdict{isOpen(
                                     "whether replicas that differ come there "
                                     "could not be decided",
                                     other)};
    verdict = judgeByRank(question, ranks);
  } else {
    if (!ranks.empty() && ranks.count() < 2)
      return {
          isOpen("whether replicas that differ come there could not be decided",
                 question.branch)};
    Inputs own = Inputs::perReplicaInputsOf(question.value, uniformity);
    if (own.arguments.empty()) {
      std::string from = own.describe();
      return {isOpen("whether " + name + " differs could not be decided" +
                         (from.empty() ? "" : ": it follows from " + from),
                     question.branch)};
    }
    // A condition that shares inputs with other branches may be the same for
    // all replicas that reach it.
    for (auto [other, from] : llvm::zip_equal(others, inputs))
      if (ofValue.intersects(from))
        return question.branch
                   ? mayAgree(question.branch, other)
                   : StaticVerdict{isOpen(
                         "whether values that differ come there through " +
                             describe(other) + " could not be decided",
                         other)};
    own.variables.clear();
    verdict = isWrong(own.describe() +
                          (question.branch
                               ? " can lead replicas along different paths"
                               : " can make it different"),
                      question.branch);
  }
  if (!verdict.isWrong)
    return {verdict};
  // The conditions of all branches on the path must be satisfiable together:
  // each has inputs, and none in common with the others.
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!onPath.contains(others[i]))
      continue;
    bool isFree =
        (!inputs[i].arguments.empty() || !inputs[i].variables.empty()) &&
        !inputs[i].intersects(ofValue);
    for (size_t j = 0; j < inputs.size(); ++j)
      isFree &= i == j || !onPath.contains(others[j]) ||
                !inputs[i].intersects(inputs[j]);
    if (!isFree)
      return {isOpen("whether " + describe(others[i]) +
                         " leads there could not be decided",
                     others[i])};
  }
  // A verdict that follows from replica numbers alone holds for all inputs.
  return {verdict, question.isKnown && onPath.empty() ? StaticVerdict::Final
                                                      : StaticVerdict::Open};
}
