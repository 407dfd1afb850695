//===- SideBySide.cpp - Two sequences of collectives as a table -----------===//

#include "passes/Verify/SideBySide.h"

#include "dialect/Interfaces/CollectiveOpInterface.h"
#include "dialect/Replica/ReplicaDialect.h"
#include "passes/Analysis/UserLocation.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/Support/raw_ostream.h"

using namespace lockstep;
using namespace mlir;

/// The most equal lines that are shown before a difference.
static constexpr size_t kEqualLinesShown = 3;

std::string lockstep::describeCollective(Operation *collective) {
  std::string text;
  llvm::raw_string_ostream out(text);
  if (auto interface = dyn_cast<CollectiveOpInterface>(collective))
    out << interface.getKindName() << " in group "
        << interface.getGroupSymbol();
  else
    out << collective->getName().stripDialect();
  if (auto reduction =
          collective->getAttrOfType<replica::ReductionAttr>("reduction"))
    out << " " << replica::stringifyReduction(reduction.getValue());
  if (auto variable = collective->getAttrOfType<FlatSymbolRefAttr>("variable"))
    out << " " << variable;
  if (auto channel = collective->getAttrOfType<IntegerAttr>("channel"))
    out << " on channel " << channel.getInt();
  if (collective->getNumOperands() > 0) {
    out << " of ";
    llvm::interleaveComma(collective->getOperandTypes(), out);
  }
  if (auto axis = collective->getAttrOfType<IntegerAttr>("axis"))
    out << " along axis " << axis.getInt();
  return text;
}

std::string lockstep::describeWithLine(Operation *collective) {
  std::string line = userLocation(collective->getLoc());
  return describeCollective(collective) +
         (line.empty() ? "" : " (" + line + ")");
}

std::string lockstep::describeNext(Operation *op,
                                   SymbolTableCollection &symbols) {
  for (; op && !isa<FunctionOpInterface>(op); op = op->getParentOp()) {
    for (Operation *next = op->getNextNode(); next; next = next->getNextNode())
      if (Operation *found = findCollective(next, symbols))
        return "goes on to " + describeWithLine(found);
    if (Operation *parent = op->getParentOp();
        parent && (isa<LoopLikeOpInterface>(parent) ||
                   !op->getBlock()->hasNoSuccessors()))
      return "goes on";
  }
  return "goes on to the end";
}

//===----------------------------------------------------------------------===//
// Details
//===----------------------------------------------------------------------===//

static std::string describeAttributes(Operation *op, Operation *other) {
  std::string text;
  llvm::raw_string_ostream out(text);
  for (Operation *owner : {op, other})
    for (NamedAttribute named : owner->getAttrs()) {
      StringRef name = named.getName();
      // `describeCollective` prints the listed attributes. Attributes that only
      // `other` has are added when it is the owner.
      if (llvm::is_contained({"kind", "reduction", "group", "variable",
                              "channel", "axis", "operandSegmentSizes"},
                             name) ||
          (owner == other && op->hasAttr(name)))
        continue;
      if (owner == op && other->getAttr(name) != named.getValue())
        out << ", " << name << " = " << named.getValue();
      else if (owner == other)
        out << ", no " << name;
    }
  return text;
}

static std::string describeBounds(scf::ForOp loop, scf::ForOp other) {
  static constexpr StringLiteral kNames[] = {"from", "to", "step"};
  std::string text;
  for (unsigned i = 0; i < 3; ++i) {
    if (loop->getOperand(i) == other->getOperand(i))
      continue;
    std::optional<int64_t> mine = getConstantIntValue(loop->getOperand(i)),
                           theirs = getConstantIntValue(other->getOperand(i));
    if (!mine || mine != theirs)
      text += " " + kNames[i].str() + " " +
              (mine     ? std::to_string(*mine)
               : theirs ? "a value"
                        : "another value");
  }
  return text;
}

std::string lockstep::describeDetail(const Item &item, const Item &other) {
  Operation *op = item.op, *there = other.op;
  if (item.isCollective() != other.isCollective() ||
      op->getName() != there->getName())
    return "";
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return describeBounds(loop, cast<scf::ForOp>(there));
  if (isa<scf::WhileOp>(op))
    return " of an unknown number of iterations";
  if (!item.isCollective())
    return op->getOperand(0) == there->getOperand(0) ? ""
                                                     : " on another condition";
  std::string text = describeAttributes(op, there);
  if (!text.empty() || describeCollective(op) != describeCollective(there))
    return text;
  if (op->getResultTypes() != there->getResultTypes()) {
    llvm::raw_string_ostream out(text);
    llvm::interleaveComma(op->getResultTypes(), out << " to ");
    return text;
  }
  return isa<replica::MergeCallOp>(op) ? " with another region or argument"
                                       : " of sizes that may differ";
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

namespace {

/// Lines of two columns.
class Table {
public:
  explicit Table(SequenceMatcher &matcher) : matcher(matcher) {}

  void compare(const IssuedPath &lhs, const IssuedPath &rhs, unsigned depth) {
    std::optional<size_t> found =
        matcher.findDifference(lhs.sequence, rhs.sequence);
    size_t difference =
        found.value_or(std::min(lhs.sequence.size(), rhs.sequence.size()));
    size_t first =
        difference > kEqualLinesShown ? difference - kEqualLinesShown : 0;
    if (first > 0)
      add(depth,
          "(" + std::to_string(first) +
              (first == 1 ? " equal line)" : " equal lines)"),
          "", false);
    for (size_t i = first; i < difference; ++i)
      add(depth, describe(lhs.sequence[i]), describe(rhs.sequence[i]), false);
    if (!found)
      return;
    const Item *left =
        difference < lhs.sequence.size() ? &lhs.sequence[difference] : nullptr;
    const Item *right =
        difference < rhs.sequence.size() ? &rhs.sequence[difference] : nullptr;
    bool isInside = left && right && !left->isCollective() &&
                    !right->isCollective() &&
                    left->regions.size() == right->regions.size();
    if (isInside)
      for (auto [mine, other] : llvm::zip_equal(left->regions, right->regions))
        if (!matcher.areEqual(mine, other)) {
          add(depth, describe(*left), describe(*right), false);
          return compare({"", mine, "(nothing more in it)"},
                         {"", other, "(nothing more in it)"}, depth + 1);
        }
    add(depth, left ? describe(*left, right) : lhs.after,
        right ? describe(*right, left) : rhs.after, true);
  }

  void add(unsigned depth, std::string left, std::string right, bool differs) {
    lines.push_back({std::string(2 * depth, ' ') + left,
                     std::string(2 * depth, ' ') + right, differs});
  }

  std::string print() const {
    size_t width = 0;
    for (const Line &line : lines)
      width = std::max(width, line.left.size());
    std::string text;
    for (const Line &line : lines) {
      text += "\n    " + line.left +
              std::string(width - line.left.size(), ' ') +
              (line.differs ? " != " : " | ") + (line.differs ? "" : " ") +
              line.right;
      while (text.back() == ' ')
        text.pop_back();
    }
    return text;
  }

private:
  struct Line {
    std::string left, right;
    bool differs;
  };

  /// Describes `item`; with `other`, also how it differs from that.
  std::string describe(const Item &item, const Item *other = nullptr) const {
    std::string line = userLocation(item.op->getLoc()),
                detail = other ? describeDetail(item, *other) : "";
    if (!line.empty())
      line = " (" + line + ")";
    if (item.isCollective())
      return describeCollective(item.op) + detail + line;
    std::string text =
        (isa<LoopLikeOpInterface>(item.op) ? "loop" : "branch") + detail;
    if (auto loop = dyn_cast<scf::ForOp>(item.op))
      if (std::optional<llvm::APInt> iterations = loop.getStaticTripCount())
        text += " of " + std::to_string(iterations->getZExtValue()) +
                (iterations->isOne() ? " iteration" : " iterations");
    size_t inside = 0;
    Operation *first = nullptr;
    item.op->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (!isCollective(op, matcher.getSymbols()))
        return WalkResult::advance();
      first = first ? first : op;
      ++inside;
      return WalkResult::skip();
    });
    text += " with " + describeCollective(first) +
            (inside > 1 ? " and " + std::to_string(inside - 1) + " more" : "");
    return text + line;
  }

  SequenceMatcher &matcher;
  std::vector<Line> lines;
};

} // namespace

std::string lockstep::describeSideBySide(const IssuedPath &lhs,
                                         const IssuedPath &rhs,
                                         SequenceMatcher &matcher) {
  Table table(matcher);
  table.add(0, lhs.who, rhs.who, false);
  table.compare(lhs, rhs, 0);
  return table.print();
}
