//===- RoleExchanges.cpp - One role's part in exchanges -------------------===//

#include "passes/Roles/RoleExchanges.h"

#include "passes/Analysis/SizeBounds.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace lockstep;
using namespace mlir;

collective::StartOp RoleExchanges::createStart(
    Location loc, collective::Kind kind, collective::Reduction reduction,
    FlatSymbolRefAttr group, int64_t root, int64_t channel, ValueRange inputs,
    TypeRange results, ValueRange sizes) {
  return collective::StartOp::create(
      builder, loc,
      collective::PendingType::get(builder.getContext(),
                                   llvm::to_vector(results)),
      kind, reduction, group.getValue(), builder.getI64IntegerAttr(channel),
      inputs, sizes,
      /*axis=*/IntegerAttr(),
      /*bytes_per_pack=*/0, /*bounds=*/DenseI64ArrayAttr(),
      builder.getI64IntegerAttr(root), /*sources=*/DenseI64ArrayAttr());
}

collective::StartOp RoleExchanges::createPart(const Exchange &exchange,
                                              collective::StartOp start) {
  SmallVector<Value> inputs, sizes;
  ArrayRef<Type> results;
  if (exchange.sends(role)) {
    inputs = lookup(start.getInputs());
  } else {
    sizes = lookup(start.getSizes());
    results = start.getPending().getType().getResults();
  }
  auto part = createStart(start.getLoc(), exchange.kind, start.getReduction(),
                          roles.getGroupWithReplicas(exchange.server),
                          roles.getRank(exchange.server), channels.of(start),
                          inputs, results, sizes);
  part.setAxisAttr(start.getAxisAttr());
  part.setBytesPerPackAttr(start.getBytesPerPackAttr());
  if (!exchange.sends(role))
    part.setBoundsAttr(start.getBoundsAttr());
  return part;
}

void RoleExchanges::buildStart(collective::StartOp start) {
  if (std::optional<Exchange> exchange = placement.getExchange(start))
    mapping.map(start.getPending(), createPart(*exchange, start).getPending());
  else
    builder.clone(*start, mapping);
}

void RoleExchanges::buildWait(collective::WaitOp wait) {
  std::optional<Exchange> exchange = placement.getExchange(wait.getStart());
  if (!exchange) {
    builder.clone(*wait, mapping);
  } else if (exchange->sends(role)) {
    collective::WaitOp::create(builder, wait.getLoc(), TypeRange(),
                               mapping.lookup(wait.getPending()),
                               lookup(wait.getInputs()));
  } else {
    auto own = collective::WaitOp::create(
        builder, wait.getLoc(), wait.getResultTypes(),
        mapping.lookup(wait.getPending()), ValueRange());
    mapping.map(wait.getResults(), own.getResults());
  }
}

void RoleExchanges::transfer(ValueRange values) {
  for (Value value : values) {
    if (placement.isDecision(value)) {
      transferDecision(value);
      continue;
    }
    for (Role to : placement.getTransfers(value))
      if (Role from = *placement.getHome(value); role == from || role == to)
        transfer(value, from, to);
  }
}

void RoleExchanges::transfer(Value value, Role from, Role to) {
  // Dynamic sizes are sent before the value.
  SmallVector<Value> sizes;
  SmallVector<int64_t> bounds;
  auto type = cast<RankedTensorType>(value.getType());
  for (int64_t dimension = 0; dimension < type.getRank(); ++dimension)
    if (type.isDynamicDim(dimension)) {
      sizes.push_back(transferSize(value, dimension, from, to));
      bounds.push_back(
          *findSizeBound(value, dimension, roles.get(kReplicas).getRanks()));
    }
  Value own = role == from ? mapping.lookup(value) : Value();
  Value result = sendOrReceive(value.getLoc(), type, own, from, to,
                               channels.of(value, to), sizes, bounds);
  if (role == to)
    mapping.map(value, result);
}

void RoleExchanges::transferDecision(Value decision) {
  SmallVector<Role> holders = placement.getHolders(decision);
  if (holders.size() < 2 || !llvm::is_contained(holders, role))
    return;
  Role from = *placement.getHome(decision);
  bool senderTests = llvm::any_of(decision.getUsers(), [&](Operation *user) {
    return placement.executes(from, user);
  });
  Location loc = decision.getLoc();
  SmallVector<Value, 1> inputs;
  SmallVector<Type, 1> results;
  if (role == from)
    inputs.push_back(mapping.lookup(decision));
  if (role != from || senderTests)
    results.push_back(decision.getType());
  FlatSymbolRefAttr group = roles.getGroupOf(
      holders, /*allReplicas=*/from != kReplicas || senderTests);
  auto start =
      createStart(loc, collective::Kind::Broadcast, collective::Reduction::None,
                  group, roles.getRank(from), channels.of(decision, from),
                  inputs, results, ValueRange());
  auto wait = collective::WaitOp::create(builder, loc, results, start, inputs);
  if (!results.empty())
    mapping.map(decision, wait.getResult(0));
}

Value RoleExchanges::transferSize(Value value, int64_t dimension, Role from,
                                  Role to) {
  Location loc = value.getLoc();
  auto type = RankedTensorType::get({}, builder.getI64Type());
  Value size, own;
  if (role == from) {
    size =
        tensor::DimOp::create(builder, loc, mapping.lookup(value), dimension);
    own = tensor::FromElementsOp::create(
        builder, loc, type,
        arith::IndexCastOp::create(builder, loc, builder.getI64Type(), size)
            .getResult());
  }
  Value given = sendOrReceive(loc, type, own, from, to,
                              channels.of(value, to, dimension), {}, {});
  if (role == from)
    return size;
  return arith::IndexCastOp::create(
      builder, loc, builder.getIndexType(),
      tensor::ExtractOp::create(builder, loc, given, ValueRange()));
}

Value RoleExchanges::sendOrReceive(Location loc, RankedTensorType type,
                                   Value own, Role from, Role to,
                                   int64_t channel, ValueRange sizes,
                                   ArrayRef<int64_t> bounds) {
  FlatSymbolRefAttr group = to == kReplicas ? roles.getGroupWithReplicas(from)
                                            : roles.getPair(from, to);
  SmallVector<Value, 1> inputs;
  SmallVector<Type, 1> results;
  if (own)
    inputs.push_back(own);
  else
    results.push_back(type);
  auto start =
      createStart(loc, collective::Kind::Broadcast, collective::Reduction::None,
                  group, roles.getRank(from), channel, inputs, results,
                  results.empty() ? ValueRange() : sizes);
  if (!results.empty() && !bounds.empty())
    start.setBounds(bounds);
  auto wait = collective::WaitOp::create(builder, loc, results, start, inputs);
  return results.empty() ? Value() : wait.getResult(0);
}
