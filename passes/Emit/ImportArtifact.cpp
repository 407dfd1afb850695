//===- ImportArtifact.cpp - Import an artifact as device IR ---------------===//

#include "passes/Emit/ImportArtifact.h"

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Device/DeviceDialect.h"
#include "dialect/Interfaces/PlainValues.h"
#include "passes/Analysis/ModuleTopology.h"
#include "passes/Emit/ArgumentTables.h"
#include "passes/Emit/Elements.h"
#include "passes/Emit/EmitArtifact.h"
#include "passes/Emit/VariableSymbols.h"

#include "runtime/artifact/Artifact.h"

#include "llvm/ADT/StringSet.h"

#include <map>

using namespace lockstep;
using namespace mlir;

/// The elements of a vector; none if the vector is absent.
template <typename Vector> static auto elements(const Vector *vector) {
  using Element = std::decay_t<decltype(*vector->begin())>;
  return vector ? std::vector<Element>(vector->begin(), vector->end())
                : std::vector<Element>();
}

namespace {

class ArtifactImporter {
public:
  ArtifactImporter(const runtime::Artifact &artifact, Location location)
      : artifact(artifact), tables(artifact.tables()), location(location),
        builder(location.getContext()) {}

  OwningOpRef<ModuleOp> run() {
    std::optional<StringRef> name;
    if (tables.name() && tables.name()->size() > 0)
      name = text(tables.name());
    OwningOpRef<ModuleOp> module = ModuleOp::create(location, name);
    (*module)->setAttr(kReplicasAttr,
                       builder.getI64IntegerAttr(tables.replicas()));
    if (tables.topology())
      (*module)->setAttr(kTopologyAttr,
                         builder.getStringAttr(text(tables.topology())));
    builder.setInsertionPointToEnd(module->getBody());
    for (const artifact::Group *group : elements(tables.groups()))
      import(*group);
    for (const artifact::Role *role : elements(tables.roles()))
      device::RoleOp::create(builder, location, text(role->name()),
                             role->first_rank(), role->ranks());
    for (const artifact::Variable *variable : elements(tables.variables()))
      if (failed(import(*variable)))
        return nullptr;
    for (const artifact::Scalar *scalar : elements(tables.scalars()))
      if (failed(import(*scalar)))
        return nullptr;
    if (tables.constants() >= 0)
      device::ConstantsOp::create(builder, location,
                                  bytesOf(tables.constants()));
    for (const artifact::Kernel *kernel : elements(tables.kernels()))
      import(*kernel);
    for (const artifact::Binary *binary : elements(tables.binaries()))
      device::BinaryOp::create(
          builder, location, symbolOf(text(binary->target())),
          text(binary->target()),
          binary->device() ? builder.getStringAttr(text(binary->device()))
                           : StringAttr(),
          bytesOf(binary->segment()),
          binary->cubin() < 0 ? ElementsAttr() : bytesOf(binary->cubin()));
    for (const artifact::Program *program : elements(tables.programs()))
      if (failed(import(*program)))
        return nullptr;
    for (const artifact::ConstantOutput *output :
         elements(tables.constant_outputs())) {
      Attribute value =
          plainValueFromJson(text(output->value()), builder.getContext());
      if (!value)
        return emitError(location, "expected output '")
                   << text(output->name()) << "' of program '"
                   << text(output->program())
                   << "' to be made of strings, booleans, i64 and finite f64, "
                      "found '"
                   << text(output->value()) << "'",
               nullptr;
      device::ConstantOutputOp::create(builder, location, text(output->name()),
                                       value, text(output->program()));
    }
    for (const artifact::Remark *remark : elements(tables.remarks()))
      device::RemarkOp::create(
          builder, at(remark->location()), text(remark->stage()),
          text(remark->kind()), text(remark->message()),
          text(remark->program()).empty()
              ? StringAttr()
              : builder.getStringAttr(text(remark->program())));
    nameVariables(*module);
    return module;
  }

private:
  //===--------------------------------------------------------------------===//
  // Parts
  //===--------------------------------------------------------------------===//

  static StringRef text(const flatbuffers::String *string) {
    return string ? StringRef(string->data(), string->size()) : StringRef();
  }

  DenseI64ArrayAttr integers(ArrayRef<uint32_t> values) {
    return builder.getDenseI64ArrayAttr(
        SmallVector<int64_t>(values.begin(), values.end()));
  }

  /// The location for the text at `index` in the artifact's table: a file and a
  /// line ("model.py:42"), or the name of a value.
  Location at(uint32_t index) {
    std::string_view line = artifact.location(index);
    auto [file, number] = StringRef(line.data(), line.size()).rsplit(':');
    unsigned row = 0;
    if (line.empty())
      return UnknownLoc::get(builder.getContext());
    if (file.empty() || number.getAsInteger(10, row))
      return NameLoc::get(
          builder.getStringAttr(StringRef(line.data(), line.size())));
    return FileLineColLoc::get(builder.getContext(), file, row, 0);
  }

  /// The symbol name of a binary, for example "x86_64_v3" for the target
  /// "x86-64-v3".
  static std::string symbolOf(StringRef target) {
    std::string symbol = target.str();
    std::ranges::replace_if(
        symbol, [](char c) { return !llvm::isAlnum(c); }, '_');
    return symbol;
  }

  DenseElementsAttr bytesOf(uint32_t segment) {
    std::span<const std::byte> bytes = artifact.segment(segment);
    return *toElements(RankedTensorType::get(static_cast<int64_t>(bytes.size()),
                                             builder.getI8Type()),
                       bytes);
  }

  void import(const artifact::Kernel &kernel) {
    device::ArgumentsAttr arguments =
        kernel.arguments()
            ? importArguments(builder.getContext(), *kernel.arguments())
            : device::ArgumentsAttr();
    device::EntryOp::create(
        builder, at(kernel.location()), text(kernel.symbol()), arguments,
        kernel.grid(), kernel.flops(), kernel.bytes(),
        kernel.code() ? builder.getStringAttr(text(kernel.code()))
                      : StringAttr());
  }

  void import(const artifact::Group &group) {
    std::vector<uint32_t> ranks = elements(group.ranks());
    // If the group has all replicas and ranks of other roles, the operation
    // lists only the latter.
    uint32_t replicas = tables.replicas();
    bool withReplicas =
        ranks.size() > replicas && ranks[replicas - 1] == replicas - 1;
    if (withReplicas)
      ranks.erase(ranks.begin(), ranks.begin() + replicas);
    collective::GroupOp::create(
        builder, location, text(group.name()),
        ranks.empty() ? DenseI64ArrayAttr() : integers(ranks), withReplicas);
  }

  LogicalResult import(const artifact::Variable &variable) {
    auto [type, isUnsigned] =
        toTensorType(builder.getContext(), *variable.type());
    ElementsAttr initial;
    if (variable.initial() >= 0) {
      FailureOr<DenseElementsAttr> value =
          toElements(type, artifact.segment(variable.initial()));
      if (failed(value))
        return emitError(location, "expected an initial value of type ")
               << type << " for variable '" << text(variable.name()) << "'";
      initial = *value;
    }
    DenseI64ArrayAttr wholeShape;
    if (const auto *shape = variable.whole_shape())
      wholeShape = builder.getDenseI64ArrayAttr(elements(shape));
    device::VariableOp::create(
        builder, location, text(variable.name()),
        static_cast<device::Space>(variable.space()), variable.offset(), type,
        static_cast<int32_t>(variable.synchronization()),
        static_cast<int32_t>(variable.aggregation()), initial, isUnsigned,
        /*path=*/StringAttr(), roleOf(variable), shardOf(variable), wholeShape);
    return success();
  }

  FlatSymbolRefAttr roleOf(const artifact::Variable &variable) {
    std::vector<const artifact::Role *> roles = elements(tables.roles());
    // The operation does not name the role of the replicas, which have the
    // first ranks.
    if (roles.empty() || roles[variable.role()]->first_rank() == 0)
      return {};
    return FlatSymbolRefAttr::get(builder.getContext(),
                                  text(roles[variable.role()]->name()));
  }

  device::ShardAttr shardOf(const artifact::Variable &variable) {
    const artifact::Shard *shard = variable.shard();
    return shard ? device::ShardAttr::get(
                       builder.getContext(), text(shard->of()),
                       static_cast<int64_t>(shard->first_row()),
                       static_cast<int64_t>(shard->rows()))
                 : device::ShardAttr();
  }

  LogicalResult import(const artifact::Scalar &scalar) {
    auto [type, isUnsigned] =
        toTensorType(builder.getContext(), *scalar.type());
    ElementsAttr value;
    if (std::vector<uint8_t> bytes = elements(scalar.default_value());
        !bytes.empty()) {
      FailureOr<DenseElementsAttr> found =
          toElements(type, std::as_bytes(std::span(bytes)));
      if (failed(found))
        return emitError(location, "expected a default value of type ")
               << type << " for scalar '" << text(scalar.name()) << "'";
      value = *found;
    }
    device::ScalarOp::create(builder, location, text(scalar.name()),
                             scalar.offset(), type, value, isUnsigned);
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Programs
  //===--------------------------------------------------------------------===//

  LogicalResult import(const artifact::Program &table) {
    OpBuilder::InsertionGuard guard(builder);
    // Programs with the same name are those of several roles for one step. Only
    // the first, which is the replicas', has the name as its symbol.
    bool isPart = !symbols.insert(text(table.name())).second;
    std::string symbol =
        isPart ? (text(table.name()) + "." + text(table.role())).str()
               : text(table.name()).str();
    auto program = device::ProgramOp::create(
        builder, location, symbol, text(table.role()), table.replica_size(),
        table.shared_size(), table.input_size(), table.registers(),
        table.channels(),
        isPart ? builder.getStringAttr(text(table.name())) : StringAttr());
    std::vector<const artifact::Command *> commands =
        elements(table.commands());
    createBlocks(program, commands);
    builder.setInsertionPointToStart(&program.getBody().front());
    if (failed(importBuffers(table)))
      return failure();
    for (auto [i, command] : llvm::enumerate(commands)) {
      if (auto block = blocks.find(i); block != blocks.end() && i > 0) {
        // The previous block falls through to this one.
        Block *before = builder.getInsertionBlock();
        if (before->empty() ||
            !before->back().hasTrait<OpTrait::IsTerminator>())
          device::JumpOp::create(builder, location, block->second);
        builder.setInsertionPointToEnd(block->second);
      }
      import(*command, i);
    }
    importOutputs(program, table);
    return success();
  }

  /// Creates a block at each target of a jump or branch, and after each
  /// terminator.
  void createBlocks(device::ProgramOp program,
                    ArrayRef<const artifact::Command *> commands) {
    blocks.clear();
    blocks[0] = nullptr;
    for (auto [i, command] : llvm::enumerate(commands)) {
      std::optional<uint32_t> target;
      if (const artifact::Jump *jump = command->body_as_Jump())
        target = jump->target();
      else if (const artifact::BranchUnless *branch =
                   command->body_as_BranchUnless())
        target = branch->target();
      else if (const artifact::BranchGreaterEqual *branch =
                   command->body_as_BranchGreaterEqual())
        target = branch->target();
      else if (!command->body_as_Return())
        continue;
      if (target)
        blocks[*target] = nullptr;
      if (i + 1 < commands.size())
        blocks[i + 1] = nullptr;
    }
    for (auto &[index, block] : blocks)
      block = &program.getBody().emplaceBlock();
  }

  LogicalResult importBuffers(const artifact::Program &table) {
    // `inputs` has an entry for each batch tensor, in the order of the buffers
    // that hold them. Other buffers may be at the same offset.
    std::vector<const artifact::Binding *> inputs = elements(table.inputs());
    auto input = inputs.begin();
    buffers.clear();
    for (const artifact::Buffer *buffer : elements(table.buffers())) {
      if (!buffer->type())
        return emitError(location, "expected a type for buffer ")
               << buffers.size() << " of program '" << text(table.name())
               << "'";
      auto [type, isUnsigned] =
          toTensorType(builder.getContext(), *buffer->type());
      StringAttr name;
      if (input != inputs.end() && buffer->space() == artifact::Space::input &&
          buffer->offset() == (*input)->offset() &&
          toTensorType(builder.getContext(), *(*input)->type()).type == type)
        name = builder.getStringAttr(text((*input++)->name()));
      std::vector<int32_t> registers = elements(buffer->size_registers());
      buffers.push_back(device::SliceOp::create(
          builder, location,
          device::BufferType::get(builder.getContext(), type),
          static_cast<device::Space>(buffer->space()), buffer->offset(), name,
          isUnsigned,
          registers.empty() ? DenseI64ArrayAttr()
                            : builder.getDenseI64ArrayAttr(SmallVector<int64_t>(
                                  registers.begin(), registers.end())),
          type.hasStaticShape() ? IntegerAttr()
                                : builder.getI64IntegerAttr(buffer->size())));
    }
    if (input != inputs.end())
      return emitError(location, "expected a buffer for input '")
             << text((*input)->name()) << "' of program '" << text(table.name())
             << "'";
    return success();
  }

  void importOutputs(device::ProgramOp program,
                     const artifact::Program &table) {
    auto returns = program.getBody().getOps<device::ReturnOp>();
    builder.setInsertionPoint(*returns.begin());
    for (const artifact::Output *output : elements(table.outputs())) {
      static constexpr device::BindingKind kinds[] = {
          device::BindingKind::Metric, device::BindingKind::Sum,
          device::BindingKind::Count, device::BindingKind::Result};
      auto binding = device::BindingAttr::get(
          builder.getContext(), kinds[static_cast<size_t>(output->kind())],
          text(output->name()));
      device::OutputOp::create(builder, location, binding,
                               buffers[output->buffer()]);
    }
  }

  SmallVector<Value> buffersOf(ArrayRef<uint32_t> indices) {
    return llvm::map_to_vector(indices,
                               [&](uint32_t index) { return buffers[index]; });
  }

  FlatSymbolRefAttr groupOf(uint32_t index) {
    return FlatSymbolRefAttr::get(builder.getContext(),
                                  text(tables.groups()->Get(index)->name()));
  }

  void import(const artifact::Command &command, uint32_t index) {
    using artifact::CommandBody;
    Location loc = at(command.location());
    switch (command.body_type()) {
    case CommandBody::Launch:
      return import(*command.body_as_Launch(), loc);
    case CommandBody::Start:
      return import(*command.body_as_Start(), loc);
    case CommandBody::Wait:
      device::WaitOp::create(builder, loc, command.body_as_Wait()->channel());
      return;
    case CommandBody::Barrier: {
      const artifact::Barrier &barrier = *command.body_as_Barrier();
      device::BarrierOp::create(builder, loc, groupOf(barrier.group()),
                                builder.getI64IntegerAttr(barrier.channel()));
      return;
    }
    case CommandBody::Once: {
      auto once = device::OnceOp::create(builder, loc,
                                         command.body_as_Once()->channel());
      builder.setInsertionPointToStart(builder.createBlock(&once.getBody()));
      return;
    }
    case CommandBody::EndOnce:
      builder.setInsertionPointAfter(
          builder.getInsertionBlock()->getParentOp());
      return;
    case CommandBody::Jump:
      device::JumpOp::create(builder, loc,
                             blocks.at(command.body_as_Jump()->target()));
      return;
    case CommandBody::BranchUnless: {
      const artifact::BranchUnless &branch = *command.body_as_BranchUnless();
      device::BranchUnlessOp::create(builder, loc, buffers[branch.condition()],
                                     blocks.at(branch.target()),
                                     blocks.at(index + 1));
      return;
    }
    case CommandBody::BranchGreaterEqual: {
      const artifact::BranchGreaterEqual &branch =
          *command.body_as_BranchGreaterEqual();
      device::BranchGreaterEqualOp::create(
          builder, loc, branch.lhs(), branch.rhs(), blocks.at(branch.target()),
          blocks.at(index + 1));
      return;
    }
    case CommandBody::SetRegister:
      device::SetRegisterOp::create(builder, loc,
                                    command.body_as_SetRegister()->register_(),
                                    command.body_as_SetRegister()->value());
      return;
    case CommandBody::AddRegister:
      device::AddRegisterOp::create(builder, loc,
                                    command.body_as_AddRegister()->register_(),
                                    command.body_as_AddRegister()->source());
      return;
    case CommandBody::LoadRegister:
      device::LoadRegisterOp::create(
          builder, loc, command.body_as_LoadRegister()->register_(),
          buffers[command.body_as_LoadRegister()->buffer()]);
      return;
    case CommandBody::Copy:
      device::CopyOp::create(builder, loc,
                             buffers[command.body_as_Copy()->source()],
                             buffers[command.body_as_Copy()->destination()]);
      return;
    case CommandBody::Next:
      device::NextOp::create(builder, loc);
      return;
    case CommandBody::Return:
      device::ReturnOp::create(builder, loc);
      return;
    case CommandBody::NONE:
      break;
    }
    llvm_unreachable("the artifact has been verified");
  }

  void import(const artifact::Launch &launch, Location loc) {
    SmallVector<Value> all = buffersOf(elements(launch.buffers()));
    ArrayRef<Value> values = all;
    std::vector<uint32_t> registers = elements(launch.registers());
    auto kernel = FlatSymbolRefAttr::get(
        builder.getContext(),
        text(tables.kernels()->Get(launch.kernel())->symbol()));
    device::LaunchOp::create(
        builder, loc, kernel, values.take_front(launch.reads()),
        values.slice(launch.reads(), launch.writes()),
        values.drop_front(launch.reads() + launch.writes()),
        registers.empty() ? DenseI64ArrayAttr() : integers(registers));
  }

  void import(const artifact::Start &start, Location loc) {
    auto kind = static_cast<collective::Kind>(start.kind());
    bool hasAxis =
        collective::propertiesOf(kind).concatenates() || start.axis() != 0;
    SmallVector<int64_t> sources;
    for (int32_t source : elements(start.sources()))
      sources.push_back(source);
    device::StartOp::create(
        builder, loc, kind,
        static_cast<collective::Reduction>(start.reduction()),
        groupOf(start.group()).getValue(), start.channel(),
        buffersOf(elements(start.operands())),
        buffersOf(elements(start.results())),
        hasAxis ? builder.getI64IntegerAttr(start.axis()) : IntegerAttr(),
        start.root() >= 0 ? builder.getI64IntegerAttr(start.root())
                          : IntegerAttr(),
        sources.empty() ? DenseI64ArrayAttr()
                        : builder.getDenseI64ArrayAttr(sources));
  }

  const runtime::Artifact &artifact;
  const artifact::Artifact &tables;
  Location location;
  OpBuilder builder;
  /// The names of the programs so far.
  llvm::StringSet<> symbols;
  /// The slices of the current program by the index of the buffer, and its
  /// blocks by the index of their first command.
  SmallVector<Value> buffers;
  std::map<uint32_t, Block *> blocks;
};

} // namespace

OwningOpRef<ModuleOp> lockstep::importArtifact(StringRef bytes,
                                               Location location) {
  location.getContext()
      ->loadDialect<collective::CollectiveDialect, device::DeviceDialect>();
  auto artifact = runtime::Artifact::fromMemory(
      std::as_bytes(std::span(bytes.data(), bytes.size())),
      {.allowUnproven = true});
  if (!artifact) {
    emitError(location, artifact.status().message());
    return nullptr;
  }
  return ArtifactImporter(**artifact, location).run();
}
