//===- EmitArtifact.cpp - Device IR to artifact ---------------------------===//

#include "passes/Emit/EmitArtifact.h"

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Device/DeviceDialect.h"
#include "dialect/Interfaces/ElementBytes.h"
#include "dialect/Interfaces/PlainValues.h"
#include "dialect/Replica/ReplicaDialect.h"
#include "passes/Emit/Certify.h"
#include "passes/Emit/Elements.h"
#include "passes/Emit/Formulas.h"
#include "passes/Verify/UserLocation.h"

#include "runtime/artifact/ArtifactWriter.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace lockstep;
using namespace mlir;

namespace {

class ArtifactEmitter {
public:
  explicit ArtifactEmitter(ModuleOp module) : module(module), tables(writer.tables) {}

  LogicalResult run(raw_ostream &os, bool allowUnproven) {
    if (failed(emitModule()))
      return failure();
    llvm::sort(tables.constant_outputs,
               [](const auto &a, const auto &b) { return std::tie(a->program, a->name) < std::tie(b->program, b->name); });
    auto locate = [&](StringRef name, StringRef role, uint32_t command) { return getCommandLocation(name, role, command); };
    if (failed(certify(module, tables, locate, allowUnproven)))
      return failure();
    auto bytes = writer.finish();
    if (!bytes)
      return module.emitError(bytes.status().message());
    os.write(reinterpret_cast<const char *>(bytes->data()), bytes->size());
    return success();
  }

private:
  //===--------------------------------------------------------------------===//
  // Tables of the module
  //===--------------------------------------------------------------------===//

  LogicalResult emitModule() {
    tables.name = module.getSymName().value_or("").str();
    FailureOr<int64_t> replicas = getReplicas(module);
    if (failed(replicas))
      return failure();
    tables.replicas = *replicas;
    // By kind: the bytes do not depend on the order in which operations of different kinds stand.
    return success(
        succeeded(emitAll<collective::GroupOp>()) && succeeded(emitAll<device::RoleOp>()) && succeeded(emitAll<device::VariableOp>()) &&
        succeeded(emitAll<device::ScalarOp>()) && succeeded(emitAll<device::ConstantsOp>()) && succeeded(emitAll<device::KernelOp>()) &&
        succeeded(emitAll<device::EntryOp>()) && succeeded(emitAll<device::BinaryOp>()) && succeeded(emitAll<device::ProgramOp>()) &&
        succeeded(emitAll<device::ConstantOutputOp>()) && succeeded(emitAll<device::RemarkOp>()));
  }

  template <typename OpT> LogicalResult emitAll() {
    for (OpT op : module.getOps<OpT>())
      if (failed(emit(op)))
        return failure();
    return success();
  }

  LogicalResult emit(device::ConstantOutputOp output) {
    auto table = std::make_unique<artifact::ConstantOutputT>();
    table->program = output.getProgram().str();
    table->name = output.getName().str();
    table->value = plainValueToJson(output.getValue());
    tables.constant_outputs.push_back(std::move(table));
    return success();
  }

  LogicalResult emit(device::RemarkOp remark) {
    auto table = std::make_unique<artifact::RemarkT>();
    table->stage = remark.getStage().str();
    table->kind = remark.getKind().str();
    table->message = remark.getMessage().str();
    table->program = remark.getProgram().value_or("").str();
    table->location = getLocation(remark.getLoc());
    tables.remarks.push_back(std::move(table));
    return success();
  }

  /// A kernel, or what stands for it when its body is native code.
  template <typename OpT>
    requires std::is_same_v<OpT, device::KernelOp> || std::is_same_v<OpT, device::EntryOp>
  LogicalResult emit(OpT kernel) {
    kernels[kernel.getSymName()] = tables.kernels.size();
    auto table = std::make_unique<artifact::KernelT>();
    table->symbol = kernel.getSymName().str();
    table->grid = kernel.getGrid();
    table->flops = kernel.getFlops();
    table->bytes = kernel.getBytes();
    table->location = getLocation(kernel.getLoc());
    if (failed(emitFormulas(kernel, *table, tables)))
      return failure();
    tables.kernels.push_back(std::move(table));
    return success();
  }

  LogicalResult emit(device::BinaryOp binary) {
    auto table = std::make_unique<artifact::BinaryT>();
    table->target = binary.getTarget().str();
    FailureOr<std::vector<std::byte>> bytes = getBytes(binary, binary.getObject());
    if (failed(bytes))
      return failure();
    table->segment = writer.addSegment(std::move(*bytes));
    tables.binaries.push_back(std::move(table));
    return success();
  }

  LogicalResult emit(device::RoleOp role) {
    roles[role.getSymName()] = tables.roles.size();
    auto table = std::make_unique<artifact::RoleT>();
    table->name = role.getSymName().str();
    table->first_rank = role.getFirstRank();
    table->ranks = role.getRanks();
    tables.roles.push_back(std::move(table));
    return success();
  }

  LogicalResult emit(device::VariableOp variable) {
    auto type = getTensorType(variable, cast<RankedTensorType>(variable.getType()), variable.getIsUnsigned());
    if (failed(type))
      return failure();
    auto table = std::make_unique<artifact::VariableT>();
    table->name = variable.getStoredName().str();
    table->type = std::move(*type);
    table->space = static_cast<artifact::Space>(variable.getSpace());
    table->offset = variable.getOffset();
    table->synchronization = static_cast<artifact::Synchronization>(variable.getSynchronization());
    table->aggregation = static_cast<artifact::Aggregation>(variable.getAggregation());
    if (ElementsAttr initial = variable.getInitialAttr()) {
      FailureOr<std::vector<std::byte>> bytes = getBytes(variable, initial);
      if (failed(bytes))
        return failure();
      table->initial = writer.addSegment(std::move(*bytes));
    }
    bool isShared = variable.getSpace() == device::Space::Variable;
    if (!tables.roles.empty())
      table->role = roles.lookup(variable.getRole().value_or(device::kWorkerRole));
    if (std::optional<device::ShardAttr> shard = variable.getShard()) {
      table->shard = std::make_unique<artifact::ShardT>();
      table->shard->of = shard->getOf().str();
      table->shard->first_row = shard->getFirstRow();
      table->shard->rows = shard->getRows();
    }
    artifact::RoleT *role = tables.roles.empty() ? nullptr : tables.roles[table->role].get();
    uint64_t &size = role ? (isShared ? role->variable_size : role->replica_variable_size)
                          : (isShared ? tables.variable_size : tables.replica_variable_size);
    size = std::max<uint64_t>(size, llvm::alignTo(variable.getOffset() + getByteSize(variable.getType()), 64));
    tables.variables.push_back(std::move(table));
    return success();
  }

  LogicalResult emit(device::ScalarOp scalar) {
    auto type = getTensorType(scalar, cast<RankedTensorType>(scalar.getType()), scalar.getIsUnsigned());
    if (failed(type))
      return failure();
    auto table = std::make_unique<artifact::ScalarT>();
    table->name = scalar.getName().str();
    table->type = std::move(*type);
    table->offset = scalar.getOffset();
    if (ElementsAttr value = scalar.getDefaultValueAttr()) {
      FailureOr<std::vector<std::byte>> bytes = getBytes(scalar, value);
      if (failed(bytes))
        return failure();
      for (std::byte byte : *bytes)
        table->default_value.push_back(static_cast<uint8_t>(byte));
    }
    tables.scalar_size = std::max<uint64_t>(tables.scalar_size, llvm::alignTo(scalar.getOffset() + getByteSize(scalar.getType()), 64));
    tables.scalars.push_back(std::move(table));
    return success();
  }

  LogicalResult emit(device::ConstantsOp constants) {
    FailureOr<std::vector<std::byte>> bytes = getBytes(constants, constants.getBytes());
    if (failed(bytes))
      return failure();
    tables.constants = writer.addSegment(std::move(*bytes));
    return success();
  }

  LogicalResult emit(collective::GroupOp group) {
    groups[group.getSymName()] = tables.groups.size();
    auto table = std::make_unique<artifact::GroupT>();
    table->name = group.getSymName().str();
    if (std::optional<ArrayRef<int64_t>> ranks = group.getRanks()) {
      if (group.getWithReplicas())
        for (uint32_t replica = 0; replica < tables.replicas; ++replica)
          table->ranks.push_back(replica);
      table->ranks.insert(table->ranks.end(), ranks->begin(), ranks->end());
    }
    tables.groups.push_back(std::move(table));
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Programs
  //===--------------------------------------------------------------------===//

  LogicalResult emit(device::ProgramOp op) {
    auto table = std::make_unique<artifact::ProgramT>();
    program = table.get();
    commandLocations.emplace_back();
    buffers.clear();
    blockStarts.clear();
    jumps.clear();
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
    tables.programs.push_back(std::move(table));
    return success();
  }

  LogicalResult emitCommands(Block &block) {
    for (Operation &op : block) {
      LogicalResult result =
          TypeSwitch<Operation *, LogicalResult>(&op)
              .Case<device::SliceOp, device::OutputOp, device::LaunchOp, device::StartOp, device::WaitOp, device::BarrierOp, device::OnceOp,
                    device::CopyOp, device::SetRegisterOp, device::AddRegisterOp, device::LoadRegisterOp, device::NextOp, device::JumpOp,
                    device::BranchUnlessOp, device::BranchGreaterEqualOp, device::ReturnOp>([&](auto typed) { return emitCommand(typed); })
              .Default([](Operation *other) { return other->emitError("'") << other->getName() << "' has no place in an artifact"; });
      if (failed(result))
        return failure();
    }
    return success();
  }

  /// Appends a command; the tables behind unions are owned by raw pointers in the object API.
  template <typename TableT> TableT *append(Operation *op) {
    auto command = std::make_unique<artifact::CommandT>();
    TableT table;
    command->body.Set(std::move(table));
    command->location = getLocation(op->getLoc());
    commandLocations.back().push_back(op->getLoc());
    auto *body = static_cast<TableT *>(command->body.value);
    program->commands.push_back(std::move(command));
    return body;
  }

  LogicalResult emitCommand(device::SliceOp slice) {
    auto type = getTensorType(slice, slice.getType().getTensor(), slice.getIsUnsigned());
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
    auto it = kernels.find(launch.getKernel());
    if (it == kernels.end())
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
    auto it = groups.find(name);
    if (it == groups.end())
      return op->emitError("unknown group '") << name << "'", failure();
    return it->second;
  }

  /// A group without ranks is all replicas.
  bool hasRank(const artifact::GroupT &group, uint64_t rank) const {
    return group.ranks.empty() ? rank < tables.replicas : llvm::is_contained(group.ranks, rank);
  }

  /// Kinds that the dialect has and no runtime can execute.
  static bool isExecutable(collective::Kind kind) {
    using collective::Kind;
    return kind != Kind::AllToAll && kind != Kind::Send && kind != Kind::Recv && kind != Kind::Permute;
  }

  LogicalResult emitCommand(device::StartOp start) {
    if (!isExecutable(start.getKind()))
      return start.emitError("a collective of kind '") << stringifyKind(start.getKind()) << "' cannot be executed";
    FailureOr<uint32_t> group = getGroup(start, start.getGroup());
    if (failed(group))
      return failure();
    if (std::optional<uint64_t> root = start.getRoot(); root && !hasRank(*tables.groups[*group], *root))
      return start.emitError("expected a root among the ranks of group '") << start.getGroup() << "', found " << *root;
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
    // A jump to what follows needs no command.
    if (jump.getTarget() != jump->getBlock()->getNextNode())
      jumps.push_back({&append<artifact::JumpT>(jump)->target, jump.getTarget()});
    return success();
  }

  LogicalResult expectNext(Operation *op, Block *next) {
    if (next == op->getBlock()->getNextNode())
      return success();
    return op->emitError("expected the block of its second successor to follow");
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

  //===--------------------------------------------------------------------===//
  // Types, bytes, locations
  //===--------------------------------------------------------------------===//

  static int64_t getByteSize(Type type) {
    auto tensor = cast<RankedTensorType>(type);
    return tensor.getNumElements() * getElementBytes(tensor.getElementType());
  }

  FailureOr<std::unique_ptr<artifact::TensorTypeT>> getTensorType(Operation *op, RankedTensorType type, bool isUnsigned) {
    auto table = std::make_unique<artifact::TensorTypeT>();
    for (int64_t size : type.getShape())
      table->shape.push_back(ShapedType::isDynamic(size) ? -1 : size);
    // An index is the compiler's own: nothing of this type goes in or out, and in memory it has 64 bits.
    Type stored = type.getElementType().isIndex() ? IntegerType::get(type.getContext(), 64) : type.getElementType();
    FailureOr<artifact::ElementType> element = toElementType(stored, isUnsigned);
    if (failed(element))
      return op->emitError("element type ") << type.getElementType() << " has no place in an artifact", failure();
    table->element = *element;
    return table;
  }

  FailureOr<std::vector<std::byte>> getBytes(Operation *op, ElementsAttr elements) {
    auto dense = dyn_cast<DenseElementsAttr>(elements);
    if (!dense)
      return op->emitError("expected dense elements, found ") << elements, failure();
    return toBytes(dense);
  }

  Location getCommandLocation(StringRef name, StringRef role, uint32_t command) const {
    for (auto [table, locations] : llvm::zip_equal(tables.programs, commandLocations))
      if (table->name == name && table->role == role)
        return locations[command];
    return module->getLoc();
  }

  uint32_t getLocation(Location loc) {
    std::string text = userLocationOrName(loc);
    auto [it, inserted] = locations.try_emplace(text, tables.locations.size());
    if (inserted)
      tables.locations.push_back(text);
    return it->second;
  }

  ModuleOp module;
  runtime::ArtifactWriter writer;
  artifact::ArtifactT &tables;
  artifact::ProgramT *program = nullptr;
  llvm::StringMap<uint32_t> kernels, groups, roles, locations;
  llvm::DenseMap<Value, uint32_t> buffers;
  llvm::DenseMap<Block *, uint32_t> blockStarts;
  std::vector<std::pair<uint32_t *, Block *>> jumps;
  /// Of the commands of each program.
  std::vector<std::vector<Location>> commandLocations;
};

} // namespace

FailureOr<int64_t> lockstep::getReplicas(ModuleOp module) {
  if (auto replicas = module->getAttrOfType<IntegerAttr>(kReplicasAttr))
    return replicas.getInt();
  return replica::getReplicaCount(module);
}

LogicalResult lockstep::emitArtifact(ModuleOp module, raw_ostream &os, bool allowUnproven) {
  return ArtifactEmitter(module).run(os, allowUnproven);
}
