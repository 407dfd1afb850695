//===- CollectivePlan.cpp - from a start command to ranges and tiles ------===//

#include "runtime/collectives/CollectivePlan.h"

#include "runtime/collectives/ReduceTree.h"
#include "runtime/schema/RoleInfo.h"
#include "runtime/schema/Types.h"

namespace lockstep::runtime {

using artifact::Buffer;
using artifact::CollectiveKind;

static Address addressOf(const Buffer *buffer) {
  return {buffer->offset(), uint32_t(buffer->space())};
}

static bool isShared(const Buffer *buffer) {
  return buffer->space() == artifact::Space::shared ||
         buffer->space() == artifact::Space::variable;
}

static bool continues(const Address &first, uint64_t bytes,
                      const Address &second) {
  return first.space == second.space && first.offset + bytes == second.offset;
}

/// `operand` or `result` is null if the members of this role have none.
static void addRange(CollectivePlan &plan, const Buffer *operand,
                     const Buffer *result) {
  const Buffer *either = operand ? operand : result;
  ReduceRange range;
  range.operand = operand ? addressOf(operand) : Address();
  range.result = result ? addressOf(result) : Address();
  range.element = either->type()->element();
  range.functions = &reduceFunctions(range.element, plan.reduction);
  range.elements = either->size() / elementSize(either->type()->element());
  if (plan.properties().shape == ShapeRule::slice)
    range.elements /= plan.members.size();
  range.resultSize =
      uint32_t(elementSize((result ? result : operand)->type()->element()));
  range.blockElements = reduceBlockBytes / range.functions->accumulatorSize;
  range.direct = operand && result &&
                 plan.properties().resultHolders == Holders::all &&
                 isShared(result) && operand->space() != result->space() &&
                 range.resultSize == range.functions->accumulatorSize;
  if (range.elements == 0)
    return;
  // Addresss of a reduce_scatter are strided by member, so they cannot be
  // merged; and roles with different memory layouts would merge differently.
  if (!plan.ranges.empty() && plan.kind == CollectiveKind::all_reduce &&
      plan.isOneRole) {
    ReduceRange &last = plan.ranges.back();
    if (last.functions == range.functions &&
        last.resultSize == range.resultSize && last.direct == range.direct &&
        continues(last.operand, last.elements * last.functions->elementSize,
                  range.operand) &&
        continues(last.result, last.elements * last.resultSize, range.result)) {
      last.elements += range.elements;
      return;
    }
  }
  plan.ranges.push_back(range);
}

static void addGather(CollectivePlan &plan, const Buffer *operand,
                      const Buffer *result, int32_t axis) {
  const Buffer *either = operand ? operand : result;
  GatherOperand gather;
  gather.operand = operand ? addressOf(operand) : Address();
  gather.result = result ? addressOf(result) : Address();
  // An operand never has more bytes than fit into the result, so either bounds
  // the other.
  gather.operandBytes = either->size();
  gather.resultBytes = result ? result->size() : 0;
  gather.elementSize = uint32_t(elementSize(either->type()->element()));
  gather.axis = axis;
  if (const auto *shape = either->type()->shape()) {
    for (uint32_t i = 0; i < shape->size(); ++i) {
      bool dynamic = shape->Get(i) < 0;
      gather.shape.push_back(shape->Get(i));
      gather.registers.push_back(dynamic ? either->size_registers()->Get(i)
                                         : -1);
      gather.dynamic |= dynamic;
    }
  }
  if (result)
    if (const auto *shape = result->type()->shape();
        shape && uint32_t(axis) < shape->size()) {
      gather.resultRows = shape->Get(uint32_t(axis));
      // The bound of the result is checked where it is dynamic.
      plan.dynamic |= gather.resultRows < 0;
    }
  gather.firstDimension = plan.publishedDimensions;
  plan.publishedDimensions += uint32_t(gather.shape.size());
  plan.dynamic |= gather.dynamic;
  plan.gathers.push_back(std::move(gather));
}

static void addScatter(CollectivePlan &plan, const Buffer *rows,
                       const Buffer *counts, const Buffer *result) {
  addGather(plan, rows, result, 0);
  GatherOperand &gather = plan.gathers.back();
  gather.counts = counts ? addressOf(counts) : Address();
  gather.rowBytes = gather.elementSize;
  for (size_t i = 1; i < gather.shape.size(); ++i)
    gather.rowBytes *= uint64_t(gather.shape[i]);
  gather.shape.resize(1);
  gather.registers.resize(1);
  plan.publishedDimensions = 1;
  plan.dynamic = true;
}

void CollectivePlan::setMembers(const artifact::Artifact &artifact,
                                uint32_t group, const RankRange &here) {
  members = ranksOf(artifact, group);
  firstLocal = positionOf(here.first);
  localCount = positionOf(here.end()) - firstLocal;
  allAreMembers = localCount == here.count;
}

/// Whether the root of a collective, which is in another role than `program`,
/// has operands.
static bool rootHasOperands(const artifact::Artifact &artifact,
                            const artifact::Program &program, uint32_t channel,
                            uint32_t root) {
  std::vector<RoleInfo> roles = rolesOf(artifact);
  auto role = std::find_if(roles.begin(), roles.end(), [&](const RoleInfo &r) {
    return r.ranks.contains(root);
  });
  for (const artifact::Program *other : *artifact.programs())
    if (other->name()->string_view() == program.name()->string_view() &&
        other->role()->string_view() == role->name)
      for (const artifact::Command *command : *other->commands())
        if (const auto *start = command->body_as_Start();
            start && start->channel() == channel)
          return start->operands() && start->operands()->size() > 0;
  return false;
}

static void setRoot(CollectivePlan &plan, const artifact::Artifact &artifact,
                    const artifact::Program &program,
                    const artifact::Start &start) {
  if (start.root() != -1)
    plan.root = plan.positionOf(uint32_t(start.root()));
  if (plan.properties().operandHolders == Holders::all &&
      plan.properties().resultHolders == Holders::root)
    plan.rootContributes = plan.members.size() == 1 ||
                           rootHasOperands(artifact, program, plan.channel,
                                           plan.members[plan.root]);
}

static void countTiles(CollectivePlan &plan) {
  for (ReduceRange &range : plan.ranges) {
    range.firstTile = plan.tiles;
    uint64_t blocks =
        (range.elements + range.blockElements - 1) / range.blockElements;
    if (plan.properties().shape == ShapeRule::slice)
      blocks *= plan.members.size();
    plan.tiles += int64_t(blocks);
  }
  // One tile copies one member's operand to all results; of a scatter, it
  // writes one member's result.
  if (plan.kind == CollectiveKind::all_gather ||
      plan.kind == CollectiveKind::gather)
    plan.tiles = int64_t(plan.gathers.size() * plan.members.size());
  else if (plan.kind == CollectiveKind::broadcast)
    plan.tiles = int64_t(plan.gathers.size());
  else if (plan.kind == CollectiveKind::scatter)
    plan.tiles = int64_t(plan.localCount);
  else if (plan.properties().isMoved())
    plan.tiles = int64_t(plan.moves.size());
}

Expected<CollectivePlan> planCollective(const artifact::Artifact &artifact,
                                        const artifact::Program &program,
                                        const artifact::Start &start,
                                        const RankRange &here) {
  CollectivePlan plan;
  plan.kind = start.kind();
  plan.reduction = start.reduction();
  plan.channel = start.channel();
  plan.setMembers(artifact, start.group(), here);
  for (const RoleInfo &role : rolesOf(artifact))
    if (role.name == program.role()->string_view())
      plan.isOneRole = role.ranks.contains(plan.members.front()) &&
                       role.ranks.contains(plan.members.back());
  setRoot(plan, artifact, program, start);

  uint32_t operands = start.operands() ? start.operands()->size() : 0,
           results = start.results() ? start.results()->size() : 0;
  auto buffer = [&](const flatbuffers::Vector<uint32_t> *indices, uint32_t i) {
    return program.buffers()->Get(indices->Get(i));
  };
  plan.hasOperands = operands > 0;
  plan.hasResults = results > 0;
  for (uint32_t i = 0; i < results; ++i) {
    bool shared = isShared(buffer(start.results(), i));
    if (i && shared != plan.sharedResults)
      return unsupported(
          "a collective with results in shared and in private memory");
    plan.sharedResults = shared;
  }
  if (plan.kind == CollectiveKind::scatter) {
    addScatter(plan, operands ? buffer(start.operands(), 0) : nullptr,
               operands ? buffer(start.operands(), 1) : nullptr,
               results ? buffer(start.results(), 0) : nullptr);
    plan.bytes = plan.gathers[0].operandBytes;
  } else {
    for (uint32_t i = 0; i < std::max(operands, results); ++i) {
      const Buffer *operand =
          i < operands ? buffer(start.operands(), i) : nullptr;
      const Buffer *result = i < results ? buffer(start.results(), i) : nullptr;
      plan.bytes += (operand ? operand : result)->size();
      if (plan.properties().isReduction)
        addRange(plan, operand, result);
      else
        addGather(plan, operand, result,
                  plan.kind == CollectiveKind::broadcast ? 0 : start.axis());
    }
  }
  if (plan.properties().isMoved())
    planMoves(plan, start);
  countTiles(plan);
  return plan;
}

uint64_t collectiveScratchBytes(uint32_t members) {
  return (uint64_t(scratchBlocks(members)) + 2) * reduceBlockBytes +
         members * sizeof(void *);
}

} // namespace lockstep::runtime
