//===- ServerLayout.cpp - The placement of variables on servers -----------===//

#include "dialect/Replica/ServerLayout.h"

#include "dialect/Interfaces/ElementBytes.h"
#include "dialect/Replica/Strategy.h"
#include "runtime/model/ServerCluster.h"

#include "mlir/IR/DialectImplementation.h"

using namespace lockstep;
using namespace lockstep::replica;
using namespace mlir;

//===----------------------------------------------------------------------===//
// PartitionerAttr
//===----------------------------------------------------------------------===//

static runtime::Expected<runtime::Partitioner>
toPartitioner(PartitionRule rule, std::optional<int64_t> bytes,
              std::optional<int64_t> shards) {
  switch (rule) {
  case PartitionRule::Fixed:
    return runtime::Partitioner::fixedShards(shards.value_or(0));
  case PartitionRule::MinSize:
    return runtime::Partitioner::minSize(
        bytes.value_or(runtime::Partitioner::defaultMinShardBytes),
        shards.value_or(1));
  case PartitionRule::MaxSize:
    return runtime::Partitioner::maxSize(bytes.value_or(0), shards);
  }
  llvm_unreachable("unknown rule");
}

LogicalResult
PartitionerAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                        PartitionRule rule, std::optional<int64_t> bytes,
                        std::optional<int64_t> shards) {
  runtime::Expected<runtime::Partitioner> partitioner =
      toPartitioner(rule, bytes, shards);
  return partitioner ? success()
                     : emitError() << partitioner.status().message();
}

Attribute PartitionerAttr::parse(AsmParser &parser, Type) {
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseLess())
    return {};
  FailureOr<PartitionRule> rule = FieldParser<PartitionRule>::parse(parser);
  if (failed(rule))
    return {};
  std::optional<int64_t> bytes, shards;
  auto parseNumber = [&](std::optional<int64_t> &number) {
    return parser.parseInteger(number.emplace());
  };
  if (*rule == PartitionRule::Fixed) {
    if (parseNumber(shards))
      return {};
  } else {
    if (succeeded(parser.parseOptionalKeyword("bytes")) && parseNumber(bytes))
      return {};
    if (succeeded(parser.parseOptionalKeyword("shards")) && parseNumber(shards))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(location); },
                    parser.getContext(), *rule, bytes, shards);
}

void PartitionerAttr::print(AsmPrinter &printer) const {
  printer << "<" << stringifyPartitionRule(getRule());
  if (getBytes())
    printer << " bytes " << *getBytes();
  if (getShards())
    printer << (getRule() == PartitionRule::Fixed ? " " : " shards ")
            << *getShards();
  printer << ">";
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

/// The number of parts along each axis; 1 if the strategy has no partitioner.
static std::vector<int64_t> getPartitions(StrategyOp strategy,
                                          RankedTensorType type) {
  PartitionerAttr rule = strategy.getPartitionerAttr();
  if (!rule)
    return std::vector<int64_t>(type.getRank(), 1);
  uint64_t elementBytes = getElementBytes(type.getElementType());
  // The attribute's verifier has checked that this succeeds.
  return toPartitioner(rule.getRule(), rule.getBytes(), rule.getShards())
      ->partitions(type.getShape(), elementBytes);
}

FailureOr<std::vector<PlacedVariable>>
lockstep::replica::computeLayout(ModuleOp module) {
  std::vector<PlacedVariable> placed;
  if (StrategyProperties::of(module).placement != Placement::Servers)
    return placed;
  StrategyOp strategy = *module.getOps<StrategyOp>().begin();
  if (!strategy.getServers())
    return strategy.emitError(
        "expected a number of servers; run 'set-replicas' first");

  runtime::Layout layout(runtime::ServerCluster{
      .workers = 1, .servers = static_cast<unsigned>(*strategy.getServers())});
  // The first shard of each variable, with which others may be colocated.
  llvm::StringMap<runtime::PlacedShard> first;
  for (auto variable : module.getOps<VariableOp>()) {
    auto type = cast<RankedTensorType>(variable.getType());
    std::vector<runtime::PlacedShard> parts;
    if (std::optional<StringRef> other = variable.getColocateWith()) {
      parts.push_back(
          runtime::Layout::placeBeside(first.at(*other), type.getShape()));
    } else {
      runtime::Expected<std::vector<runtime::PlacedShard>> split =
          layout.place(type.getShape(), getPartitions(strategy, type));
      if (!split)
        return variable.emitError(split.status().message());
      parts = std::move(*split);
    }
    first[variable.getSymName()] = parts.front();
    PlacedVariable &result = placed.emplace_back(PlacedVariable{variable, {}});
    int64_t row = 0;
    for (const runtime::PlacedShard &part : parts) {
      int64_t rows = part.shape.empty() ? 1 : part.shape.front();
      result.shards.push_back({row, rows, part.server});
      row += rows;
    }
  }
  return placed;
}
