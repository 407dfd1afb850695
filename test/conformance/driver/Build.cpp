//===- Build.cpp - The module of a case -----------------------------------===//

#include "test/conformance/driver/FrontEnd.h"

using namespace mlir;

namespace lockstep::conformance::driver {

std::string resultName(unsigned index) {
  return fmt::format("result{}", index);
}

/// One type for the values of all replicas: sizes that differ are dynamic, and
/// so is a rank that differs.
static TensorType commonType(MLIRContext *context, const InputTensor &input) {
  RankedTensorType type = toType(context, input.values.front());
  SmallVector<int64_t> shape(type.getShape());
  bool hasRank = true;
  for (const Tensor &value : input.values) {
    RankedTensorType other = toType(context, value);
    if (other.getElementType() != type.getElementType())
      refuse("E_DTYPE_MISMATCH",
             "input '{}': element types differ between replicas", input.name);
    hasRank &= other.getRank() == type.getRank();
    for (size_t d = 0; hasRank && d < shape.size(); ++d)
      if (shape[d] != other.getShape()[d])
        shape[d] = ShapedType::kDynamic;
  }
  if (!hasRank)
    return UnrankedTensorType::get(type.getElementType());
  return RankedTensorType::get(shape, type.getElementType());
}

/// What binds an argument of the program to an input.
static DictionaryAttr bindingOf(MLIRContext *context, const InputTensor &input,
                                bool isBatch, TensorType type) {
  Builder builder(context);
  SmallVector<NamedAttribute> attributes;
  attributes.push_back(
      builder.getNamedAttr(isBatch ? "replica.batch" : "replica.scalar",
                           builder.getStringAttr(input.name)));
  SmallVector<int64_t> bounds;
  if (auto ranked = dyn_cast<RankedTensorType>(type))
    for (int64_t d = 0; d < ranked.getRank(); ++d)
      if (ranked.isDynamicDim(d)) {
        bounds.push_back(0);
        for (const Tensor &value : input.values)
          bounds.back() = std::max(bounds.back(), value.type.shape[d]);
      }
  if (!bounds.empty())
    attributes.push_back(builder.getNamedAttr(
        "replica.bounds", builder.getDenseI64ArrayAttr(bounds)));
  return builder.getDictionaryAttr(attributes);
}

Program FrontEnd::build() {
  Program program;
  OpBuilder builder(&context);
  module = ModuleOp::create(location());
  builder.setInsertionPointToEnd(module->getBody());
  replica::StrategyOp::create(
      builder, location(), "strategy", one.strategy.kind,
      builder.getI64IntegerAttr(one.strategy.replicas),
      one.strategy.servers ? builder.getI64IntegerAttr(one.strategy.servers)
                           : nullptr,
      /*partitioner=*/nullptr);

  Scope globals;
  scope = &globals;
  for (const VariableSpec &spec : one.variables)
    globals.names[spec.name] = addVariable(spec, /*inScope=*/true);

  frames.push_back(
      std::make_unique<Frame>(Frame::Kind::Program, nullptr, &context));
  frame = frames.back().get();
  scopeDepth = one.inScope ? 1 : 0;

  SmallVector<Type> argumentTypes;
  SmallVector<Attribute> argumentAttributes;
  auto addArgument = [&](const InputTensor &input) -> Value {
    TensorType type = commonType(&context, input);
    bool isBatch = input.perReplica && hasSeveralReplicas();
    argumentTypes.push_back(isBatch ? perReplica(type) : Type(type));
    argumentAttributes.push_back(bindingOf(&context, input, isBatch, type));
    program.arguments.push_back({input.name, isBatch, input.values});
    return frame->region->front().addArgument(argumentTypes.back(), location());
  };
  std::function<Leaf(const Input &)> bindInput = [&](const Input &input) {
    if (!input.ofReplica.empty()) {
      std::vector<Leaf> parts;
      for (const Input &part : input.ofReplica)
        parts.push_back(bindInput(part));
      return differing(std::move(parts));
    }
    if (!input.host.empty())
      return makeHost(input.host);
    Leaf leaf = makeTensor(addArgument(input.values), input.values.perReplica
                                                          ? Spread::PerReplica
                                                          : Spread::Plain);
    if (input.values.values.size() == 1)
      constants[leaf.value.getAsOpaquePointer()] = input.values.values.front();
    if (input.indices)
      leaf.indices = addArgument(*input.indices);
    leaf.denseShape = input.denseShape;
    return leaf;
  };
  for (const Input &input : one.inputs)
    globals.names[input.name] = bindInput(input);

  for (const Json &statement : one.program) {
    ++line;
    column = 1;
    executeStatement(statement);
  }

  SmallVector<Value> results;
  SmallVector<Type> resultTypes;
  SmallVector<Attribute> resultAttributes;
  auto addResult = [&](Value value) {
    if (!value ||
        !program.results.try_emplace(value.getAsOpaquePointer(), results.size())
             .second)
      return;
    std::string name = resultName(static_cast<unsigned>(results.size()));
    resultAttributes.push_back(builder.getDictionaryAttr(
        builder.getNamedAttr("replica.result", builder.getStringAttr(name))));
    results.push_back(value);
    resultTypes.push_back(value.getType());
  };
  for (const std::string &name : one.observe) {
    Object object = operand(name);
    forEachLeaf(object, [&](const Leaf &leaf) {
      if (leaf.kind == Leaf::Kind::Mismatch && deferredError.empty())
        deferredError = leaf.message;
      forEachPart(leaf, [&](const Leaf &part) {
        addResult(part.value);
        addResult(part.indices);
      });
    });
    program.observed.push_back({name, object});
  }
  replica::ReturnOp::create(frame->builder, location(), results);

  auto op = replica::ProgramOp::create(
      builder, location(), kProgramName,
      builder.getFunctionType(argumentTypes, resultTypes));
  if (!argumentTypes.empty())
    op.setArgAttrsAttr(builder.getArrayAttr(argumentAttributes));
  if (!resultTypes.empty())
    op.setResAttrsAttr(builder.getArrayAttr(resultAttributes));
  op.getBody().takeBody(*frame->region);
  program.variables = variables;
  program.error = deferredError;
  program.module = std::move(module);
  return program;
}

} // namespace lockstep::conformance::driver
