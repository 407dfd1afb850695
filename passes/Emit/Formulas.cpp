//===- Formulas.cpp - Formulas of kernels, as IR and as tables ------------===//

#include "passes/Emit/Formulas.h"

#include "passes/Emit/FormulaAttributes.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace lockstep;
using namespace mlir;

/// The number of an operation's name.
static uint32_t getOperation(StringRef name, artifact::ArtifactT &tables) {
  // There are few.
  auto it = llvm::find(tables.operations, name);
  if (it == tables.operations.end())
    it = tables.operations.insert(it, name.str());
  return static_cast<uint32_t>(it - tables.operations.begin());
}

static std::unique_ptr<artifact::FormulaStepT>
emitStep(ArrayAttr list, artifact::ArtifactT &tables) {
  auto name =
      list && !list.empty() ? dyn_cast<StringAttr>(list[0]) : StringAttr();
  if (!name ||
      !llvm::all_of(list.getValue().drop_front(), llvm::IsaPred<IntegerAttr>) ||
      (name == kConstantOperation && list.size() != 2))
    return nullptr;
  auto step = std::make_unique<artifact::FormulaStepT>();
  step->operation = getOperation(name, tables);
  if (name == kConstantOperation)
    step->value = cast<IntegerAttr>(list[1]).getInt();
  else
    for (Attribute operand : list.getValue().drop_front())
      step->operands.push_back(
          static_cast<uint32_t>(cast<IntegerAttr>(operand).getInt()));
  return step;
}

static std::unique_ptr<artifact::FormulaT>
emitFormula(DictionaryAttr dictionary, artifact::ArtifactT &tables) {
  auto steps = dictionary ? dictionary.getAs<ArrayAttr>("steps") : ArrayAttr();
  if (!steps)
    return nullptr;
  auto formula = std::make_unique<artifact::FormulaT>();
  for (auto [name, field] : {std::pair("arguments", &formula->arguments),
                             std::pair("result", &formula->result),
                             std::pair("value", &formula->value)}) {
    auto number = dictionary.getAs<IntegerAttr>(name);
    if (!number)
      return nullptr;
    *field = static_cast<uint32_t>(number.getInt());
  }
  for (Attribute each : steps) {
    std::unique_ptr<artifact::FormulaStepT> step =
        emitStep(dyn_cast<ArrayAttr>(each), tables);
    if (!step)
      return nullptr;
    formula->steps.push_back(std::move(step));
  }
  return formula;
}

LogicalResult lockstep::emitFormulas(Operation *kernel,
                                     artifact::KernelT &table,
                                     artifact::ArtifactT &tables) {
  auto formulas = kernel->getAttrOfType<ArrayAttr>(kFormulas);
  if (!formulas)
    return success();
  for (Attribute attribute : formulas) {
    std::unique_ptr<artifact::FormulaT> formula =
        emitFormula(dyn_cast<DictionaryAttr>(attribute), tables);
    if (!formula)
      return kernel->emitError("expected formulas as pass record-formulas "
                               "writes them, found ")
             << attribute;
    table.formulas.push_back(std::move(formula));
  }
  return success();
}

ArrayAttr lockstep::importFormulas(Builder &builder,
                                   const artifact::Kernel &kernel,
                                   const artifact::Artifact &tables) {
  if (!kernel.formulas() || kernel.formulas()->size() == 0)
    return {};
  auto integer = [&](int64_t number) -> Attribute {
    return builder.getI64IntegerAttr(number);
  };
  SmallVector<Attribute> formulas;
  for (const artifact::Formula *formula : *kernel.formulas()) {
    SmallVector<Attribute> steps;
    for (uint32_t i = 0; formula->steps() && i < formula->steps()->size();
         ++i) {
      const artifact::FormulaStep *step = formula->steps()->Get(i);
      const flatbuffers::String *operation =
          tables.operations()->Get(step->operation());
      SmallVector<Attribute> list = {builder.getStringAttr(
          StringRef(operation->data(), operation->size()))};
      if (list[0] == builder.getStringAttr(kConstantOperation))
        list.push_back(integer(step->value()));
      for (uint32_t j = 0; step->operands() && j < step->operands()->size();
           ++j)
        list.push_back(integer(step->operands()->Get(j)));
      steps.push_back(builder.getArrayAttr(list));
    }
    formulas.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr("arguments", integer(formula->arguments())),
         builder.getNamedAttr("result", integer(formula->result())),
         builder.getNamedAttr("steps", builder.getArrayAttr(steps)),
         builder.getNamedAttr("value", integer(formula->value()))}));
  }
  return builder.getArrayAttr(formulas);
}
