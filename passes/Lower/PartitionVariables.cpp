//===- PartitionVariables.cpp - Assign variables to servers ---------------===//
//
// Each variable of a strategy with parameter servers is assigned a role. A
// variable that is split becomes one variable per shard, and operations on it
// become operations on the shards.
//
//===----------------------------------------------------------------------===//

#include "dialect/Device/DeviceDialect.h"
#include "dialect/Replica/ServerLayout.h"
#include "passes/Lower/Elementwise.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_PARTITIONVARIABLESPASS
#include "passes/Passes.h.inc"

namespace {

/// Rows `first` to `first + rows` of a value.
ElementsAttr sliceRows(ElementsAttr value, int64_t first,
                       RankedTensorType type) {
  auto dense = cast<DenseElementsAttr>(value);
  if (dense.isSplat())
    return dense.resizeSplat(type);
  int64_t rowElements = type.getNumElements() / type.getDimSize(0);
  SmallVector<Attribute> elements(
      llvm::drop_begin(dense.getValues<Attribute>(), first * rowElements));
  elements.truncate(type.getNumElements());
  return DenseElementsAttr::get(type, elements);
}

/// The variables that hold the shards of a split variable.
struct ShardedVariable {
  struct Part {
    replica::VariableOp variable;
    int64_t firstRow;

    RankedTensorType getType() const {
      return cast<RankedTensorType>(replica::VariableOp(variable).getType());
    }
  };
  SmallVector<Part> parts;
};

/// Rewrites one use of a variable to uses of its shards.
class UseRewriter {
public:
  UseRewriter(Operation *op, const ShardedVariable &sharded)
      : op(op), sharded(sharded), builder(op) {}

  void run() {
    TypeSwitch<Operation *>(op)
        .Case<replica::ReadOp, replica::ScatterOp, replica::LookupOp>(
            [&](auto typed) { rewrite(typed); })
        .Default([&](Operation *) { rewriteAssignment(); });
    op->erase();
  }

private:
  /// The same operation on one of the shards.
  Operation *cloneFor(const ShardedVariable::Part &part) {
    Operation *copy = builder.clone(*op);
    copy->setAttr("variable",
                  FlatSymbolRefAttr::get(replica::VariableOp(part.variable)));
    return copy;
  }

  void rewrite(replica::ReadOp read) {
    SmallVector<Value> rows;
    for (const ShardedVariable::Part &part : sharded.parts) {
      Operation *copy = cloneFor(part);
      copy->getResult(0).setType(part.getType());
      rows.push_back(copy->getResult(0));
    }
    read.replaceAllUsesWith(tensor::ConcatOp::create(builder, op->getLoc(),
                                                     read.getType(), /*dim=*/0,
                                                     rows)
                                .getResult());
  }

  Value getFirstRow(OpBuilder &b, const ShardedVariable::Part &part,
                    Type type) {
    return arith::ConstantOp::create(b, op->getLoc(),
                                     b.getIntegerAttr(type, part.firstRow));
  }

  /// `indices` relative to the first row of a shard. They may not fit into a
  /// narrow type, which is widened.
  Value countFrom(const ShardedVariable::Part &part, Value indices) {
    Location loc = op->getLoc();
    auto type = cast<RankedTensorType>(indices.getType());
    bool isNarrow = type.getElementTypeBitWidth() < 32;
    auto wide = isNarrow
                    ? cast<RankedTensorType>(type.clone(builder.getI64Type()))
                    : type;
    return createElementwise(
        builder, loc, wide, indices, [&](OpBuilder &b, ValueRange in) -> Value {
          Value index =
              isNarrow ? arith::ExtSIOp::create(b, loc, b.getI64Type(), in[0])
                             .getResult()
                       : in[0];
          return arith::SubIOp::create(b, loc, index,
                                       getFirstRow(b, part, index.getType()));
        });
  }

  /// An index outside of a table changes nothing, so all slices are scattered
  /// to every shard, with indices relative to its first row.
  void rewrite(replica::ScatterOp scatter) {
    for (const ShardedVariable::Part &part : sharded.parts) {
      Value own = countFrom(part, scatter.getIndices());
      cast<replica::ScatterOp>(cloneFor(part)).getIndicesMutable().assign(own);
    }
  }

  /// All ids are looked up in every shard; for each id, the row of the last
  /// shard that does not begin behind it is chosen.
  void rewrite(replica::LookupOp lookup) {
    Value rows;
    for (const ShardedVariable::Part &part : sharded.parts) {
      Value ids = countFrom(part, lookup.getIds());
      auto own = cast<replica::LookupOp>(cloneFor(part));
      own.getIdsMutable().assign(ids);
      rows = rows ? chooseRows(part, lookup.getIds(), own.getResult(), rows)
                  : own.getResult();
    }
    lookup.replaceAllUsesWith(rows);
  }

  /// The rows of `here` for ids not below the shard's first row; those of
  /// `before` for other ids.
  Value chooseRows(const ShardedVariable::Part &part, Value ids, Value here,
                   Value before) {
    Location loc = op->getLoc();
    auto type = cast<RankedTensorType>(here.getType());
    Value init = tensor::EmptyOp::create(
        builder, loc, tensor::getMixedSizes(builder, loc, here),
        type.getElementType());
    AffineMap all = builder.getMultiDimIdentityMap(type.getRank()),
              first = all.getMajorSubMap(1);
    SmallVector<utils::IteratorType> iterators(type.getRank(),
                                               utils::IteratorType::parallel);
    return linalg::GenericOp::create(
               builder, loc, TypeRange(type), ValueRange{ids, here, before},
               init, ArrayRef<AffineMap>{first, all, all, all}, iterators,
               [&](OpBuilder &b, Location, ValueRange in) {
                 Value isBehind = arith::CmpIOp::create(
                     b, loc, arith::CmpIPredicate::sge, in[0],
                     getFirstRow(b, part, in[0].getType()));
                 linalg::YieldOp::create(
                     b, loc,
                     arith::SelectOp::create(b, loc, isBehind, in[1], in[2])
                         .getResult());
               })
        .getResult(0);
  }

  void rewriteAssignment() {
    Value value = op->getOperand(0);
    for (const ShardedVariable::Part &part : sharded.parts) {
      RankedTensorType type = part.getType();
      SmallVector<OpFoldResult> offsets(type.getRank(),
                                        builder.getIndexAttr(0)),
          strides(type.getRank(), builder.getIndexAttr(1)), sizes;
      offsets[0] = builder.getIndexAttr(part.firstRow);
      for (int64_t size : type.getShape())
        sizes.push_back(builder.getIndexAttr(size));
      auto rows = tensor::ExtractSliceOp::create(
          builder, op->getLoc(), type, value, offsets, sizes, strides);
      rows->setAttr(replica::kShardOfValue, builder.getUnitAttr());
      cloneFor(part)->setOperand(0, rows);
    }
  }

  Operation *op;
  const ShardedVariable &sharded;
  OpBuilder builder;
};

struct PartitionVariables
    : impl::PartitionVariablesPassBase<PartitionVariables> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<std::vector<replica::PlacedVariable>> layout =
        replica::computeLayout(module);
    if (failed(layout))
      return signalPassFailure();
    if (layout->empty())
      return;
    FailureOr<int64_t> replicas = replica::getReplicaCount(module);
    if (failed(replicas))
      return signalPassFailure();
    createRoles(*replicas,
                *(*module.getOps<replica::StrategyOp>().begin()).getServers());
    llvm::DenseMap<StringAttr, ShardedVariable> sharded;
    for (replica::PlacedVariable &placed : *layout) {
      // The variable has been placed, and the one that the attribute names may
      // be split.
      placed.variable.removeColocateWithAttr();
      if (placed.variable.isOnRead())
        continue;
      ElementsAttr initial = placed.variable.getInitialAttr();
      if (initial && !placed.isWhole() && !isa<DenseElementsAttr>(initial)) {
        placed.variable.emitError("expected dense elements as the initial "
                                  "value of a variable with shards, found ")
            << initial;
        return signalPassFailure();
      }
      if (placed.isWhole())
        placed.variable->setAttr(device::kRole,
                                 getRole(placed.shards.front().server));
      else
        sharded.try_emplace(placed.variable.getSymNameAttr(), split(placed));
    }
    SmallVector<Operation *> uses;
    module.walk([&](Operation *op) {
      auto variable = op->getAttrOfType<FlatSymbolRefAttr>("variable");
      if (variable && sharded.contains(variable.getAttr()))
        uses.push_back(op);
    });
    for (Operation *use : uses)
      UseRewriter(
          use,
          sharded
              .find(use->getAttrOfType<FlatSymbolRefAttr>("variable").getAttr())
              ->second)
          .run();
    for (replica::PlacedVariable &placed : *layout)
      if (sharded.contains(placed.variable.getSymNameAttr()))
        placed.variable.erase();
  }

  static std::string getRoleName(unsigned server) {
    return "server" + std::to_string(server);
  }
  FlatSymbolRefAttr getRole(unsigned server) {
    return FlatSymbolRefAttr::get(&getContext(), getRoleName(server));
  }

  void createRoles(int64_t replicas, int64_t servers) {
    OpBuilder builder = OpBuilder::atBlockBegin(getOperation().getBody());
    SymbolTable symbols(getOperation());
    auto create = [&](StringRef name, int64_t firstRank, int64_t ranks) {
      // Rename a variable of that name; its path keeps the stored name.
      if (auto variable = symbols.lookup<replica::VariableOp>(name)) {
        variable.setPath(variable.getStoredName());
        (void)symbols.renameToUnique(variable, {});
      }
      symbols.insert(device::RoleOp::create(builder, getOperation().getLoc(),
                                            name, firstRank, ranks));
    };
    create(device::kWorkerRole, 0, replicas);
    for (int64_t server = 0; server < servers; ++server)
      create(getRoleName(server), replicas + server, 1);
  }

  ShardedVariable split(const replica::PlacedVariable &placed) {
    replica::VariableOp whole = placed.variable;
    OpBuilder builder(whole);
    auto type = cast<RankedTensorType>(whole.getType());
    ShardedVariable sharded;
    for (auto [index, shard] : llvm::enumerate(placed.shards)) {
      SmallVector<int64_t> shape(type.getShape());
      shape[0] = shard.rows;
      auto part = cast<replica::VariableOp>(builder.clone(*whole));
      std::string suffix = ".shard" + std::to_string(index);
      part.setSymName((whole.getSymName() + suffix).str());
      if (StringAttr path = whole.getPathAttr())
        part.setPath((path.getValue() + suffix).str());
      part.setType(type.clone(shape));
      if (whole.getInitialAttr())
        part.setInitialAttr(sliceRows(whole.getInitialAttr(), shard.firstRow,
                                      type.clone(shape)));
      part->setAttr(device::kRole, getRole(shard.server));
      part->setAttr(device::kShard,
                    device::ShardAttr::get(&getContext(), whole.getStoredName(),
                                           shard.firstRow, type.getDimSize(0)));
      sharded.parts.push_back({part, shard.firstRow});
    }
    return sharded;
  }
};

} // namespace
} // namespace lockstep
