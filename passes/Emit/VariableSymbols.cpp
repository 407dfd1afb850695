//===- VariableSymbols.cpp - Symbols of variables -------------------------===//

#include "passes/Emit/VariableSymbols.h"

#include "dialect/Device/DeviceDialect.h"

#include "llvm/ADT/StringSet.h"

using namespace lockstep;
using namespace mlir;

void lockstep::nameVariables(ModuleOp module) {
  llvm::StringSet<> taken;
  for (auto symbol : module.getOps<SymbolOpInterface>())
    if (!isa<device::VariableOp>(symbol))
      taken.insert(symbol.getName());
  for (auto variable : module.getOps<device::VariableOp>()) {
    std::string name = variable.getStoredName().str(), symbol = name;
    for (unsigned number = 0; !taken.insert(symbol).second; ++number)
      symbol = name + "_" + std::to_string(number);
    variable.setSymName(symbol);
    variable.setPathAttr(symbol == name
                             ? StringAttr()
                             : StringAttr::get(module.getContext(), name));
  }
}
