//===- SplitVariables.cpp - Exchange a large gradient in pieces -----------===//
//
// A variable becomes several variables with some of its rows each, so that a
// piece of its gradient is exchanged while the next one is computed.
//
//===----------------------------------------------------------------------===//

#include "dialect/Device/DeviceDialect.h"
#include "dialect/Interfaces/ElementBytes.h"
#include "dialect/Replica/ReplicaDialect.h"
#include "dialect/Replica/Strategy.h"
#include "passes/Passes.h"
#include "passes/Remarks/Remarks.h"
#include "passes/Simplify/DividedUpdates.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_SPLITVARIABLESPASS
#include "passes/Passes.h.inc"

namespace {

/// Adds the variables from which a step computes the new value of `name`,
/// element by element, if sums are added to them as well, and those whose new
/// values depend on the same sums.
void addUpdatedWith(const DividedUpdates &updates, StringAttr name,
                    const llvm::DenseSet<StringAttr> &summed,
                    llvm::SetVector<StringAttr> &names) {
  func::FuncOp function = updates.getFunction();
  Operation *terminator = function.getBody().front().getTerminator();
  llvm::SetVector<Value> reached;
  for (auto [i, value] : llvm::enumerate(terminator->getOperands()))
    if (getBoundVariable(function, i) == name)
      reached.insert(value);
  for (unsigned i = 0; i < reached.size(); ++i) {
    Value value = reached[i];
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (argument.getOwner()->getParentOp() == function)
        if (StringAttr bound = getBoundVariable(function, argument);
            summed.contains(bound))
          names.insert(bound);
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (auto operands = getElementwiseOperands(op))
      reached.insert_range(*operands);
    if (!updates.dependsOnSum(op))
      continue;
    for (OpOperand &use : value.getUses())
      if (use.getOwner() != terminator) {
        if (updates.dependsOnSum(use.getOwner()))
          reached.insert_range(use.getOwner()->getResults());
      } else if (StringAttr bound =
                     getBoundVariable(function, use.getOperandNumber())) {
        names.insert(bound);
      }
  }
}

struct SplitVariables : impl::SplitVariablesPassBase<SplitVariables> {
  using SplitVariablesPassBase::SplitVariablesPassBase;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    auto variables = getOperation().getOps<replica::VariableOp>();
    auto found = llvm::find_if(variables, [&](replica::VariableOp each) {
      return each.getStoredName() == variable;
    });
    if (found == variables.end())
      return refuse(getOperation().getLoc(), "it is unknown, or split already");
    replica::VariableOp seed = *found;
    FailureOr<int64_t> replicas = replica::getReplicaCount(getOperation());
    if (failed(replicas))
      return signalPassFailure();
    if (*replicas < 2 ||
        replica::StrategyProperties::of(getOperation()).placement !=
            replica::Placement::Mirrored)
      return refuse(getUpdateLocation(seed),
                    "there are no replicas with copies of it");
    std::vector<DividedUpdates> steps;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        steps.emplace_back(function, *replicas, /*reassociate=*/false);
    llvm::DenseSet<StringAttr> summed;
    for (const DividedUpdates &updates : steps)
      updates.forSummedVariables(
          [&](StringAttr name, Value) { summed.insert(name); });
    llvm::SetVector<StringAttr> names;
    names.insert(seed.getSymNameAttr());
    SmallVector<replica::VariableOp> whole;
    for (unsigned i = 0; i < names.size(); ++i) {
      whole.push_back(symbols.lookup<replica::VariableOp>(names[i]));
      for (const DividedUpdates &updates : steps)
        addUpdatedWith(updates, names[i], summed, names);
    }
    for (replica::VariableOp each : whole)
      if (std::string reason = whyNot(each, seed, symbols); !reason.empty())
        return refuse(getUpdateLocation(seed), reason);
    for (replica::VariableOp each : whole)
      split(each, symbols);
  }

private:
  void refuse(Location loc, const std::string &reason) {
    if (!required) {
      remark::missed(loc, decision(Stage::Simplify, "NotSplit", variable))
          << ("variable '" + variable + "' is not split: " + reason);
      return;
    }
    emitError(loc) << "expected a variable that can be split into "
                   << int64_t(pieces) << " pieces, found '" << variable
                   << "': " << reason;
    signalPassFailure();
  }

  /// Why a variable that is updated with `seed` cannot be split; else empty.
  std::string whyNot(replica::VariableOp each, replica::VariableOp seed,
                     const SymbolTable &symbols) {
    auto type = cast<RankedTensorType>(each.getType());
    std::string text = each == seed ? "it"
                                    : "'" + each.getStoredName().str() +
                                          "', which is updated with it,";
    if (type.getShape() != cast<RankedTensorType>(seed.getType()).getShape())
      return text + " has another shape";
    int64_t rows = type.getRank() == 0 ? 0 : type.getDimSize(0);
    if (pieces < 2 || rows == 0 || rows % pieces != 0)
      return text + " has " + countText(rows, "row");
    // Pieces that are gathered are next to each other in memory.
    if (int64_t bytes = getByteSize(type) / pieces; bytes % kAlignment != 0)
      return text + " would have pieces of " + std::to_string(bytes) +
             " bytes, no multiple of " + std::to_string(kAlignment);
    if (each->hasAttr(device::kShard))
      return text + " is a shard of another variable";
    auto variables = getOperation().getOps<replica::VariableOp>();
    for (int64_t i = 0; i < pieces; ++i) {
      std::string name = nameOf(each.getStoredName(), i);
      if (symbols.lookup(nameOf(each.getSymName(), i)) ||
          llvm::any_of(variables, [&](replica::VariableOp other) {
            return other.getStoredName() == name;
          }))
        return "there is a variable '" + name + "'";
    }
    if (each.isPerReplica())
      return text + " differs between the replicas";
    if (each.getInitialAttr() && !each.getInitialAttr().isSplat())
      return text + " has an initial value whose elements differ";
    return "";
  }

  static std::string nameOf(StringRef whole, int64_t piece) {
    return (whole + ".piece" + Twine(piece)).str();
  }

  void split(replica::VariableOp whole, SymbolTable &symbols) {
    StringAttr name = whole.getSymNameAttr();
    Location location = getUpdateLocation(whole);
    auto type = cast<RankedTensorType>(whole.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[0] /= pieces;
    RankedTensorType pieceType = type.clone(shape);
    OpBuilder builder(whole);
    SmallVector<StringAttr> names;
    for (int64_t i = 0; i < pieces; ++i) {
      auto piece = cast<replica::VariableOp>(builder.clone(*whole));
      piece.setSymName(nameOf(whole.getSymName(), i));
      if (StringAttr path = whole.getPathAttr())
        piece.setPath(nameOf(path, i));
      piece.setType(pieceType);
      if (ElementsAttr initial = whole.getInitialAttr())
        piece.setInitialAttr(
            cast<SplatElementsAttr>(initial).resizeSplat(pieceType));
      piece->setAttr(device::kShard, device::ShardAttr::get(
                                         &getContext(), whole.getStoredName(),
                                         i * shape[0], type.getDimSize(0)));
      names.push_back(piece.getSymNameAttr());
    }
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal()) {
        splitArgument(function, name, names, pieceType);
        splitResult(function, name, names, pieceType);
      }
    remark::passed(location, decision(Stage::Simplify, "Split", name))
        << ("variable '" + whole.getStoredName().str() + "' (" +
            typeText(type) + ") is split into " + countText(pieces, "piece") +
            " of " + countText(shape[0], "row"));
    symbols.erase(whole);
  }

  /// The attributes of an argument or a result for each variable of `names`
  /// that takes the place of the one which has `attributes`.
  SmallVector<DictionaryAttr> bindTo(ArrayRef<StringAttr> names,
                                     DictionaryAttr attributes) {
    return llvm::map_to_vector(names, [&](StringAttr name) {
      NamedAttrList list(attributes);
      list.set("device.binding",
               device::BindingAttr::get(&getContext(),
                                        device::BindingKind::Variable, name));
      return list.getDictionary(&getContext());
    });
  }

  /// The argument that is bound to the variable becomes one for each piece.
  void splitArgument(func::FuncOp function, StringAttr name,
                     ArrayRef<StringAttr> names, RankedTensorType pieceType) {
    Block &body = function.getBody().front();
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      BlockArgument whole = function.getArgument(i);
      if (getBoundVariable(function, whole) != name)
        continue;
      Location loc = whole.getLoc();
      SmallVector<DictionaryAttr> bindings =
          bindTo(names, function.getArgAttrDict(i));
      SmallVector<unsigned> positions(names.size(), i + 1);
      SmallVector<Type> types(names.size(), pieceType);
      SmallVector<Location> locations(names.size(), loc);
      (void)function.insertArguments(positions, types, bindings, locations);
      if (whole.use_empty()) {
        (void)function.eraseArgument(i);
        i += names.size() - 1;
        continue;
      }
      // A gather takes place in the order of first uses.
      Operation *first = nullptr;
      for (Operation *user : whole.getUsers()) {
        Operation *op = body.findAncestorOpInBlock(*user);
        if (!first || op->isBeforeInBlock(first))
          first = op;
      }
      OpBuilder builder(first);
      SmallVector<Value> rows(body.getArguments().slice(i + 1, names.size()));
      whole.replaceAllUsesWith(tensor::ConcatOp::create(
          builder, first->getLoc(), whole.getType(), /*dim=*/0, rows));
      (void)function.eraseArgument(i);
      i += names.size() - 1;
    }
  }

  /// The result that is bound to the variable becomes one for each piece.
  void splitResult(func::FuncOp function, StringAttr name,
                   ArrayRef<StringAttr> names, RankedTensorType pieceType) {
    Operation *terminator = function.getBody().front().getTerminator();
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      if (getBoundVariable(function, i) != name)
        continue;
      Value whole = terminator->getOperand(i);
      SmallVector<DictionaryAttr> bindings =
          bindTo(names, function.getResultAttrDict(i));
      OpBuilder builder(terminator);
      SmallVector<OpFoldResult> offsets(pieceType.getRank(),
                                        builder.getIndexAttr(0)),
          sizes = getAsIndexOpFoldResult(&getContext(), pieceType.getShape()),
          strides(pieceType.getRank(), builder.getIndexAttr(1));
      SmallVector<Value> rows;
      for (size_t piece = 0; piece < names.size(); ++piece) {
        offsets[0] = builder.getIndexAttr(piece * pieceType.getDimSize(0));
        auto slice = tensor::ExtractSliceOp::create(
            builder, whole.getLoc(), pieceType, whole, offsets, sizes, strides);
        slice->setAttr(replica::kShardOfValue, builder.getUnitAttr());
        rows.push_back(slice);
      }
      SmallVector<unsigned> positions(names.size(), i + 1);
      SmallVector<Type> types(names.size(), pieceType);
      (void)function.insertResults(positions, types, bindings);
      (void)function.eraseResult(i);
      terminator->setOperands(i, 1, rows);
      i += names.size() - 1;
    }
  }
};

} // namespace
} // namespace lockstep
