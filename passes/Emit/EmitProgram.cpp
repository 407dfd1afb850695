//===- EmitProgram.cpp - Emit the commands of a program -------------------===//

#include "passes/Emit/EmitProgram.h"

#include "passes/Analysis/UserLocation.h"
#include "passes/Emit/Elements.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace lockstep;
using namespace mlir;

uint32_t EmitContext::getLocation(Location loc) {
  std::string text = userLocationOrName(loc);
  auto [it, inserted] = locations.try_emplace(text, tables.locations.size());
  if (inserted)
    tables.locations.push_back(text);
  return it->second;
}

namespace {

class ProgramEmitter {
public:
  explicit ProgramEmitter(EmitContext &context) : context(context) {}

  FailureOr<EmittedProgram> run(device::ProgramOp op) {
    program->name = op.getStepName().str();
    program->role = op.getRole().str();
    program->replica_size = op.getReplicaSize();
    program->shared_size = op.getSharedSize();
    program->input_size = op.getInputSize();
    program->registers = op.getRegisters();
    program->channels = op.getChannels();
    for (Block &block : op.getBody()) {
      blockStarts[&block] = program->commands.size();
      if (failed(emitCommands(block)))
        return failure();
    }
    for (auto [target, block] : jumps)
      *target = blockStarts.lookup(block);
    return EmittedProgram{std::move(program), std::move(commandLocations)};
  }

private:
  LogicalResult emitCommands(Block &block) {
    for (Operation &op : block) {
      LogicalResult result =
          TypeSwitch<Operation *, LogicalResult>(&op)
              .Case<device::SliceOp, device::OutputOp, device::LaunchOp,
                    device::StartOp, device::WaitOp, device::BarrierOp,
                    device::OnceOp, device::CopyOp, device::SetRegisterOp,
                    device::AddRegisterOp, device::LoadRegisterOp,
                    device::NextOp, device::JumpOp, device::BranchUnlessOp,
                    device::BranchGreaterEqualOp, device::ReturnOp>(
                  [&](auto typed) { return emitCommand(typed); })
              .Default([](Operation *other) {
                return other->emitError("'")
                       << other->getName() << "' has no place in an artifact";
              });
      if (failed(result))
        return failure();
    }
    return success();
  }

  /// Appends a command and returns its table. In the object API of FlatBuffers,
  /// a union owns its table by a raw pointer.
  template <typename TableT> TableT *append(Operation *op) {
    auto command = std::make_unique<artifact::CommandT>();
    TableT table;
    command->body.Set(std::move(table));
    command->location = context.getLocation(op->getLoc());
    commandLocations.push_back(op->getLoc());
    auto *body = static_cast<TableT *>(command->body.value);
    program->commands.push_back(std::move(command));
    return body;
  }

  LogicalResult emitCommand(device::SliceOp slice) {
    auto type = emitTensorType(slice, slice.getType().getTensor(),
                               slice.getIsUnsigned());
    if (failed(type))
      return failure();
    buffers[slice] = program->buffers.size();
    auto table = std::make_unique<artifact::BufferT>();
    table->space = static_cast<artifact::Space>(slice.getSpace());
    table->offset = slice.getOffset();
    table->size = slice.getByteSize();
    if (std::optional<ArrayRef<int64_t>> registers = slice.getSizeRegisters())
      table->size_registers.assign(registers->begin(), registers->end());
    if (StringAttr input = slice.getInputAttr()) {
      auto binding = std::make_unique<artifact::BindingT>();
      binding->name = input.str();
      binding->type = std::make_unique<artifact::TensorTypeT>(**type);
      binding->offset = slice.getOffset();
      program->inputs.push_back(std::move(binding));
    }
    table->type = std::move(*type);
    program->buffers.push_back(std::move(table));
    return success();
  }

  LogicalResult emitCommand(device::OutputOp output) {
    auto table = std::make_unique<artifact::OutputT>();
    table->name = output.getBinding().getName().str();
    switch (output.getBinding().getKind()) {
    case device::BindingKind::Metric:
      table->kind = artifact::OutputKind::metric;
      break;
    case device::BindingKind::Sum:
      table->kind = artifact::OutputKind::sum;
      break;
    case device::BindingKind::Count:
      table->kind = artifact::OutputKind::count;
      break;
    default:
      table->kind = artifact::OutputKind::result;
    }
    table->buffer = buffers.at(output.getBuffer());
    program->outputs.push_back(std::move(table));
    return success();
  }

  void appendBuffers(std::vector<uint32_t> &indices, ValueRange values) {
    for (Value value : values)
      indices.push_back(buffers.at(value));
  }

  LogicalResult emitCommand(device::LaunchOp launch) {
    auto it = context.kernels.find(launch.getKernel());
    if (it == context.kernels.end())
      return launch.emitError("unknown kernel '") << launch.getKernel() << "'";
    auto *body = append<artifact::LaunchT>(launch);
    body->kernel = it->second;
    appendBuffers(body->buffers, launch.getReads());
    appendBuffers(body->buffers, launch.getWrites());
    appendBuffers(body->buffers, launch.getScratch());
    body->reads = launch.getReads().size();
    body->writes = launch.getWrites().size();
    if (std::optional<ArrayRef<int64_t>> registers = launch.getRegisters())
      body->registers.assign(registers->begin(), registers->end());
    return success();
  }

  FailureOr<uint32_t> getGroup(Operation *op, StringRef name) {
    auto it = context.groups.find(name);
    if (it == context.groups.end())
      return op->emitError("unknown group '") << name << "'", failure();
    return it->second;
  }

  /// A group without a list of ranks consists of all replicas.
  bool hasRank(const artifact::GroupT &group, uint64_t rank) const {
    return group.ranks.empty() ? rank < context.tables.replicas
                               : llvm::is_contained(group.ranks, rank);
  }

  LogicalResult emitCommand(device::StartOp start) {
    FailureOr<uint32_t> group = getGroup(start, start.getGroup());
    if (failed(group))
      return failure();
    if (std::optional<uint64_t> root = start.getRoot();
        root && !hasRank(*context.tables.groups[*group], *root))
      return start.emitError("expected a root among the ranks of group '")
             << start.getGroup() << "', found " << *root;
    if (collective::propertiesOf(start.getKind()).isMoved())
      for (Value operand : start.getInputs())
        if (RankedTensorType type =
                cast<device::BufferType>(operand.getType()).getTensor();
            !type.hasStaticShape())
          return start.emitError("expected operands of static shape for kind '")
                 << stringifyKind(start.getKind()) << "', found " << type;
    auto *body = append<artifact::StartT>(start);
    body->kind = static_cast<artifact::CollectiveKind>(start.getKind());
    body->reduction = static_cast<artifact::Reduction>(start.getReduction());
    body->channel = start.getChannel();
    body->group = *group;
    appendBuffers(body->operands, start.getInputs());
    appendBuffers(body->results, start.getOutputs());
    body->axis = start.getAxis().value_or(0);
    if (std::optional<uint64_t> root = start.getRoot())
      body->root = *root;
    if (std::optional<ArrayRef<int64_t>> sources = start.getSources())
      body->sources.assign(sources->begin(), sources->end());
    return success();
  }

  LogicalResult emitCommand(device::WaitOp wait) {
    append<artifact::WaitT>(wait)->channel = wait.getChannel();
    return success();
  }

  LogicalResult emitCommand(device::BarrierOp barrier) {
    FailureOr<uint32_t> group = getGroup(barrier, barrier.getGroup());
    if (failed(group))
      return failure();
    auto *body = append<artifact::BarrierT>(barrier);
    body->channel = barrier.getChannel();
    body->group = *group;
    return success();
  }

  LogicalResult emitCommand(device::OnceOp once) {
    auto *body = append<artifact::OnceT>(once);
    body->channel = once.getChannel();
    if (failed(emitCommands(once.getBody().front())))
      return failure();
    body->end = program->commands.size();
    append<artifact::EndOnceT>(once);
    return success();
  }

  LogicalResult emitCommand(device::CopyOp copy) {
    auto *body = append<artifact::CopyT>(copy);
    body->source = buffers.at(copy.getSource());
    body->destination = buffers.at(copy.getDestination());
    return success();
  }

  LogicalResult emitCommand(device::SetRegisterOp op) {
    auto *body = append<artifact::SetRegisterT>(op);
    body->register_ = op.getIndex();
    body->value = op.getValue();
    return success();
  }

  LogicalResult emitCommand(device::AddRegisterOp op) {
    auto *body = append<artifact::AddRegisterT>(op);
    body->register_ = op.getIndex();
    body->source = op.getSource();
    return success();
  }

  LogicalResult emitCommand(device::LoadRegisterOp op) {
    auto *body = append<artifact::LoadRegisterT>(op);
    body->register_ = op.getIndex();
    body->buffer = buffers.at(op.getSource());
    return success();
  }

  LogicalResult emitCommand(device::NextOp next) {
    append<artifact::NextT>(next);
    return success();
  }

  LogicalResult emitCommand(device::JumpOp jump) {
    // A jump to the next block needs no command.
    if (jump.getTarget() != jump->getBlock()->getNextNode())
      jumps.push_back(
          {&append<artifact::JumpT>(jump)->target, jump.getTarget()});
    return success();
  }

  LogicalResult expectNext(Operation *op, Block *next) {
    if (next == op->getBlock()->getNextNode())
      return success();
    return op->emitError(
        "expected the block of its second successor to follow");
  }

  LogicalResult emitCommand(device::BranchUnlessOp branch) {
    auto *body = append<artifact::BranchUnlessT>(branch);
    body->condition = buffers.at(branch.getCondition());
    jumps.push_back({&body->target, branch.getTarget()});
    return expectNext(branch, branch.getNext());
  }

  LogicalResult emitCommand(device::BranchGreaterEqualOp branch) {
    auto *body = append<artifact::BranchGreaterEqualT>(branch);
    body->lhs = branch.getLhs();
    body->rhs = branch.getRhs();
    jumps.push_back({&body->target, branch.getTarget()});
    return expectNext(branch, branch.getNext());
  }

  LogicalResult emitCommand(device::ReturnOp op) {
    append<artifact::ReturnT>(op);
    return success();
  }

  EmitContext &context;
  std::unique_ptr<artifact::ProgramT> program =
      std::make_unique<artifact::ProgramT>();
  std::vector<Location> commandLocations;
  llvm::DenseMap<Value, uint32_t> buffers;
  llvm::DenseMap<Block *, uint32_t> blockStarts;
  /// Targets of jumps, which are known when all blocks have been emitted.
  std::vector<std::pair<uint32_t *, Block *>> jumps;
};

} // namespace

FailureOr<EmittedProgram> lockstep::emitProgram(device::ProgramOp op,
                                                EmitContext &context) {
  return ProgramEmitter(context).run(op);
}
