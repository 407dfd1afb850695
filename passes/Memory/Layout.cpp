//===- Layout.cpp - Memory layout of variables and inputs -----------------===//

#include "passes/Memory/Layout.h"

#include "dialect/Replica/Strategy.h"

#include "passes/Memory/Storage.h"

using namespace lockstep;
using namespace mlir;

static device::BindingAttr getBinding(func::FuncOp step, unsigned argument) {
  return step.getArgAttrOfType<device::BindingAttr>(argument, "device.binding");
}

FailureOr<ModuleLayout> ModuleLayout::create(ModuleOp module) {
  ModuleLayout layout;
  // The processes of each role have memories of their own.
  struct Sizes {
    int64_t mirrored = 0, perReplica = 0;
  };
  llvm::StringMap<Sizes> sizes;
  int64_t scalarOffset = 0;
  for (auto variable : module.getOps<replica::VariableOp>()) {
    bool perReplica = variable.isPerReplica();
    auto role = variable->getAttrOfType<FlatSymbolRefAttr>(device::kRole);
    Sizes &used =
        sizes[role ? role.getValue() : StringRef(device::kWorkerRole)];
    int64_t &offset = perReplica ? used.perReplica : used.mirrored;
    layout.variables[variable.getSymName()] = {
        perReplica ? device::Space::ReplicaVariable : device::Space::Variable,
        offset};
    offset += llvm::alignTo(
        getByteSize(cast<RankedTensorType>(variable.getType())), kAlignment);
  }
  for (auto step : module.getOps<func::FuncOp>()) {
    for (unsigned i = 0; i < step.getNumResults(); ++i)
      if (!step.getResultAttrOfType<device::BindingAttr>(i, "device.binding"))
        return step.emitError("result ") << i << " has no 'device.binding'";
    for (unsigned i = 0; i < step.getNumArguments(); ++i) {
      device::BindingAttr binding = getBinding(step, i);
      if (!binding)
        return step.emitError("argument ") << i << " has no 'device.binding'";
      if (binding.getKind() == device::BindingKind::Variable &&
          !layout.variables.contains(binding.getName()))
        return step.emitError("unknown variable '")
               << binding.getName() << "' of argument " << i;
      if (binding.getKind() != device::BindingKind::Scalar)
        continue;
      auto type = cast<RankedTensorType>(step.getArgument(i).getType());
      auto [it, inserted] =
          layout.scalars.try_emplace(binding.getName(), scalarOffset);
      if (!inserted) {
        auto known = llvm::find_if(layout.scalarList, [&](const Scalar &s) {
          return s.name == binding.getName();
        });
        if (known->type != type)
          return step.emitError("scalar '")
                 << binding.getName() << "' has type " << type << ", but "
                 << known->type << " in another step";
        continue;
      }
      if (!type.hasStaticShape())
        return step.emitError("expected scalar '")
               << binding.getName() << "' to have a static shape, found "
               << type;
      scalarOffset += std::max<int64_t>(
          llvm::alignTo(getByteSize(type), kAlignment), kAlignment);
      layout.scalarList.push_back(
          {binding.getName().str(), type, step.getArgAttr(i, "replica.default"),
           static_cast<bool>(step.getArgAttr(i, "replica.unsigned")),
           step.getLoc()});
    }
  }
  return layout;
}

int64_t ModuleLayout::addConstant(DenseElementsAttr value) {
  auto [it, inserted] =
      constants.insert({value, static_cast<int64_t>(constantBytes.size())});
  if (!inserted)
    return it->second;
  auto type = cast<RankedTensorType>(value.getType());
  auto append = [&](const char *data, size_t size) {
    constantBytes.insert(constantBytes.end(), data, data + size);
  };
  if (type.getElementType().isInteger(1)) {
    for (bool element : value.getValues<bool>())
      constantBytes.push_back(element ? 1 : 0);
  } else if (value.isSplat()) {
    ArrayRef<char> element = value.getRawData();
    for (int64_t i = 0; i < type.getNumElements(); ++i)
      append(element.data(), element.size());
  } else {
    append(value.getRawData().data(), value.getRawData().size());
  }
  constantBytes.resize(llvm::alignTo(constantBytes.size(), kAlignment));
  return it->second;
}

void ModuleLayout::emit(ModuleOp module) {
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  for (auto variable :
       llvm::make_early_inc_range(module.getOps<replica::VariableOp>())) {
    builder.setInsertionPoint(variable);
    Place place = getVariable(variable.getSymName());
    device::VariableOp::create(
        builder, variable.getLoc(), variable.getSymName(), place.space,
        place.offset, variable.getType(),
        static_cast<int32_t>(variable.getSynchronization()),
        static_cast<int32_t>(replica::getStoredAggregation(variable)),
        variable.getInitialAttr(), variable.getIsUnsigned(),
        variable.getPathAttr(),
        variable->getAttrOfType<FlatSymbolRefAttr>(device::kRole),
        variable->getAttrOfType<device::ShardAttr>(device::kShard),
        variable.getWholeShapeAttr());
    variable.erase();
  }
  builder.setInsertionPointToStart(module.getBody());
  for (const Scalar &scalar : scalarList) {
    ElementsAttr value;
    if (auto elements = dyn_cast_or_null<ElementsAttr>(scalar.defaultValue))
      value = elements;
    else if (scalar.defaultValue)
      value = DenseElementsAttr::get(scalar.type, scalar.defaultValue);
    device::ScalarOp::create(builder, scalar.location, scalar.name,
                             scalars.lookup(scalar.name), scalar.type, value,
                             scalar.isUnsigned);
  }
  if (!constantBytes.empty()) {
    auto type = RankedTensorType::get(
        {static_cast<int64_t>(constantBytes.size())}, builder.getI8Type());
    device::ConstantsOp::create(
        builder, module.getLoc(),
        DenseElementsAttr::getFromRawBuffer(type, constantBytes));
  }
}

StepLayout::StepLayout(ModuleLayout &module, func::FuncOp step)
    : module(module) {
  for (unsigned i = 0; i < step.getNumArguments(); ++i) {
    device::BindingAttr binding = getBinding(step, i);
    switch (binding.getKind()) {
    case device::BindingKind::Variable:
      arguments.push_back(module.getVariable(binding.getName()));
      break;
    case device::BindingKind::Scalar:
      arguments.push_back(
          {device::Space::Scalar, module.getScalar(binding.getName())});
      break;
    case device::BindingKind::Rank:
      arguments.push_back({device::Space::Rank, 0});
      break;
    default:
      arguments.push_back({device::Space::Input, inputSize});
      inputSize += llvm::alignTo(
          getByteSize(cast<RankedTensorType>(step.getArgument(i).getType())),
          kAlignment);
    }
  }
  step.walk([&](device::LoadBatchOp load) {
    for (auto [name, type] :
         llvm::zip_equal(load.getNames().getAsValueRange<StringAttr>(),
                         load.getResultTypes()))
      if (batchTensors.try_emplace(name, inputSize).second)
        inputSize += llvm::alignTo(getByteSize(cast<RankedTensorType>(type)),
                                   kAlignment);
  });
}
