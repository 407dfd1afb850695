//===- EmitArtifact.cpp - Emit device IR as an artifact -------------------===//

#include "passes/Emit/EmitArtifact.h"

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Device/DeviceDialect.h"
#include "dialect/Interfaces/ElementBytes.h"
#include "dialect/Interfaces/PlainValues.h"
#include "dialect/Replica/ReplicaDialect.h"
#include "passes/Analysis/ModuleTopology.h"
#include "passes/Analysis/UserLocation.h"
#include "passes/Emit/ArgumentTables.h"
#include "passes/Emit/Elements.h"
#include "passes/Emit/EmitProgram.h"

#include "runtime/artifact/ArtifactWriter.h"
#include "runtime/verification/Verification.h"

using namespace lockstep;
using namespace mlir;

namespace {

class ArtifactEmitter {
public:
  explicit ArtifactEmitter(ModuleOp module)
      : module(module), tables(writer.tables), context(tables) {}

  LogicalResult run(raw_ostream &os, bool allowUnproven) {
    if (failed(emitModule()))
      return failure();
    llvm::sort(tables.constant_outputs, [](const auto &a, const auto &b) {
      return std::tie(a->program, a->name) < std::tie(b->program, b->name);
    });
    auto bytes = writer.finish();
    if (!bytes)
      return module.emitError(bytes.status().message());
    if (!allowUnproven && failed(checkProven(*bytes)))
      return failure();
    os.write(reinterpret_cast<const char *>(bytes->data()), bytes->size());
    return success();
  }

private:
  /// Proves the termination of all programs, as loaders do.
  LogicalResult checkProven(const std::vector<std::byte> &bytes) const {
    const artifact::Artifact &artifact = *artifact::GetArtifact(bytes.data());
    bool allProven = true;
    for (const std::string &name :
         runtime::verification::programNames(artifact)) {
      auto proof = runtime::verification::prove(artifact, name);
      if (!proof)
        return module->emitError(proof.status().message());
      if (!proof->isProven)
        reportUnproven(name, *proof);
      allProven &= proof->isProven;
    }
    return success(allProven);
  }

  void reportUnproven(StringRef name,
                      const runtime::verification::Proof &proof) const {
    auto locate = [&](const runtime::verification::CommandPlace &place) {
      for (auto [table, locations] :
           llvm::zip_equal(tables.programs, commandLocations))
        if (table->name == name && table->role == place.role)
          return getUserLocation(locations[place.command]);
      return module->getLoc();
    };
    InFlightDiagnostic error = mlir::emitError(
        proof.places.empty() ? module->getLoc() : locate(proof.places.front()));
    error << "could not prove that the replicas of program '" << name
          << "' do not wait for each other forever: " << proof.reason
          << " [E_NOT_PROVABLE]";
    for (const auto &place : llvm::drop_begin(proof.places))
      error.attachNote(locate(place)) << "in role '" << place.role << "'";
  }

  //===--------------------------------------------------------------------===//
  // Tables of the module
  //===--------------------------------------------------------------------===//

  LogicalResult emitModule() {
    tables.name = module.getSymName().value_or("").str();
    FailureOr<int64_t> replicas = getReplicas(module);
    if (failed(replicas))
      return failure();
    tables.replicas = *replicas;
    if (auto topology = module->getAttrOfType<StringAttr>(kTopologyAttr))
      tables.topology = topology.str();
    // Sorted by kind, so that the bytes do not depend on the order of
    // operations of different kinds.
    return success(succeeded(emitAll<collective::GroupOp>()) &&
                   succeeded(emitAll<device::RoleOp>()) &&
                   succeeded(emitAll<device::VariableOp>()) &&
                   succeeded(emitAll<device::ScalarOp>()) &&
                   succeeded(emitAll<device::ConstantsOp>()) &&
                   succeeded(emitAll<device::KernelOp>()) &&
                   succeeded(emitAll<device::EntryOp>()) &&
                   succeeded(emitAll<device::BinaryOp>()) &&
                   succeeded(emitAll<device::ProgramOp>()) &&
                   succeeded(emitAll<device::ConstantOutputOp>()) &&
                   succeeded(emitAll<device::RemarkOp>()));
  }

  template <typename OpT> LogicalResult emitAll() {
    for (OpT op : module.getOps<OpT>())
      if (failed(emit(op)))
        return failure();
    return success();
  }

  LogicalResult emit(device::ProgramOp op) {
    FailureOr<EmittedProgram> program = emitProgram(op, context);
    if (failed(program))
      return failure();
    tables.programs.push_back(std::move(program->table));
    commandLocations.push_back(std::move(program->commandLocations));
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
    table->location = context.getLocation(remark.getLoc());
    tables.remarks.push_back(std::move(table));
    return success();
  }

  static device::ArgumentsAttr getArguments(device::KernelOp kernel) {
    return kernel.getLaunchArguments();
  }
  static device::ArgumentsAttr getArguments(device::EntryOp kernel) {
    return kernel.getArgumentsAttr();
  }

  /// A kernel, or the entry that replaces it in a sealed module.
  template <typename OpT>
    requires std::is_same_v<OpT, device::KernelOp> ||
             std::is_same_v<OpT, device::EntryOp>
  LogicalResult emit(OpT kernel) {
    context.kernels[kernel.getSymName()] = tables.kernels.size();
    auto table = std::make_unique<artifact::KernelT>();
    table->symbol = kernel.getSymName().str();
    if (std::optional<StringRef> code = kernel.getCode())
      table->code = code->str();
    table->grid = kernel.getGrid();
    table->flops = kernel.getFlops();
    table->bytes = kernel.getBytes();
    table->location = context.getLocation(kernel.getLoc());
    if (device::ArgumentsAttr arguments = getArguments(kernel))
      table->arguments = emitArguments(arguments);
    tables.kernels.push_back(std::move(table));
    return success();
  }

  LogicalResult emit(device::BinaryOp binary) {
    auto table = std::make_unique<artifact::BinaryT>();
    table->target = binary.getTarget().str();
    table->device = binary.getDevice().value_or("").str();
    FailureOr<std::vector<std::byte>> bytes =
        getBytes(binary, binary.getObject());
    if (failed(bytes))
      return failure();
    table->segment = writer.addSegment(std::move(*bytes));
    if (std::optional<ElementsAttr> cubin = binary.getCubin()) {
      bytes = getBytes(binary, *cubin);
      if (failed(bytes))
        return failure();
      table->cubin = int32_t(writer.addSegment(std::move(*bytes)));
    }
    tables.binaries.push_back(std::move(table));
    return success();
  }

  LogicalResult emit(device::RoleOp role) {
    context.roles[role.getSymName()] = tables.roles.size();
    auto table = std::make_unique<artifact::RoleT>();
    table->name = role.getSymName().str();
    table->first_rank = role.getFirstRank();
    table->ranks = role.getRanks();
    tables.roles.push_back(std::move(table));
    return success();
  }

  LogicalResult emit(device::VariableOp variable) {
    auto type =
        emitTensorType(variable, cast<RankedTensorType>(variable.getType()),
                       variable.getIsUnsigned());
    if (failed(type))
      return failure();
    auto table = std::make_unique<artifact::VariableT>();
    table->name = variable.getStoredName().str();
    table->type = std::move(*type);
    table->space = static_cast<artifact::Space>(variable.getSpace());
    table->offset = variable.getOffset();
    table->synchronization =
        static_cast<artifact::Synchronization>(variable.getSynchronization());
    table->aggregation =
        static_cast<artifact::Aggregation>(variable.getAggregation());
    if (ElementsAttr initial = variable.getInitialAttr()) {
      FailureOr<std::vector<std::byte>> bytes = getBytes(variable, initial);
      if (failed(bytes))
        return failure();
      table->initial = writer.addSegment(std::move(*bytes));
    }
    bool isShared = variable.getSpace() == device::Space::Variable;
    if (!tables.roles.empty())
      table->role = context.roles.lookup(
          variable.getRole().value_or(device::kWorkerRole));
    if (std::optional<device::ShardAttr> shard = variable.getShard()) {
      table->shard = std::make_unique<artifact::ShardT>();
      table->shard->of = shard->getOf().str();
      table->shard->first_row = shard->getFirstRow();
      table->shard->rows = shard->getRows();
    }
    if (std::optional<ArrayRef<int64_t>> whole = variable.getWholeShape())
      table->whole_shape.assign(whole->begin(), whole->end());
    artifact::RoleT *role =
        tables.roles.empty() ? nullptr : tables.roles[table->role].get();
    uint64_t &size =
        role ? (isShared ? role->variable_size : role->replica_variable_size)
             : (isShared ? tables.variable_size : tables.replica_variable_size);
    size = std::max<uint64_t>(
        size, llvm::alignTo(
                  variable.getOffset() + getByteSize(variable.getType()), 64));
    tables.variables.push_back(std::move(table));
    return success();
  }

  LogicalResult emit(device::ScalarOp scalar) {
    auto type = emitTensorType(scalar, cast<RankedTensorType>(scalar.getType()),
                               scalar.getIsUnsigned());
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
    tables.scalar_size = std::max<uint64_t>(
        tables.scalar_size,
        llvm::alignTo(scalar.getOffset() + getByteSize(scalar.getType()), 64));
    tables.scalars.push_back(std::move(table));
    return success();
  }

  LogicalResult emit(device::ConstantsOp constants) {
    FailureOr<std::vector<std::byte>> bytes =
        getBytes(constants, constants.getBytes());
    if (failed(bytes))
      return failure();
    tables.constants = writer.addSegment(std::move(*bytes));
    return success();
  }

  LogicalResult emit(collective::GroupOp group) {
    context.groups[group.getSymName()] = tables.groups.size();
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
  // Types, bytes, locations
  //===--------------------------------------------------------------------===//

  static int64_t getByteSize(Type type) {
    auto tensor = cast<RankedTensorType>(type);
    return tensor.getNumElements() * getElementBytes(tensor.getElementType());
  }

  FailureOr<std::vector<std::byte>> getBytes(Operation *op,
                                             ElementsAttr elements) {
    auto dense = dyn_cast<DenseElementsAttr>(elements);
    if (!dense)
      return op->emitError("expected dense elements, found ") << elements,
             failure();
    return toBytes(dense);
  }

  ModuleOp module;
  runtime::ArtifactWriter writer;
  artifact::ArtifactT &tables;
  EmitContext context;
  /// The locations of the commands of each program.
  std::vector<std::vector<Location>> commandLocations;
};

} // namespace

FailureOr<int64_t> lockstep::getReplicas(ModuleOp module) {
  if (auto replicas = module->getAttrOfType<IntegerAttr>(kReplicasAttr))
    return replicas.getInt();
  return replica::getReplicaCount(module);
}

LogicalResult lockstep::emitArtifact(ModuleOp module, raw_ostream &os,
                                     bool allowUnproven) {
  return ArtifactEmitter(module).run(os, allowUnproven);
}
