//===- Layout.h - Memory layout of variables and inputs ---------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_MEMORY_LAYOUT_H
#define LOCKSTEP_PASSES_MEMORY_LAYOUT_H

#include "dialect/Device/DeviceDialect.h"
#include "dialect/Interfaces/ElementBytes.h"
#include "dialect/Replica/ReplicaDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

#include <vector>

namespace lockstep {

/// An address in one of the memory spaces of the artifact, in bytes.
struct Place {
  device::Space space;
  int64_t offset;
};

/// The layout of the memory that all steps of a module share: variables, host
/// scalars, constants.
class ModuleLayout {
public:
  /// Assigns an address to every `replica.variable` and every scalar argument.
  /// Scalars of the same name must have the same type.
  static llvm::FailureOr<ModuleLayout> create(mlir::ModuleOp module);

  Place getVariable(llvm::StringRef name) const {
    return variables.lookup(name);
  }
  int64_t getScalar(llvm::StringRef name) const { return scalars.lookup(name); }

  /// Adds a constant, unless there is an equal one, and returns its offset.
  int64_t addConstant(mlir::DenseElementsAttr value);

  /// Replaces `replica.variable` by `device.variable`, and adds scalars and
  /// constants.
  void emit(mlir::ModuleOp module);

private:
  llvm::StringMap<Place> variables;
  llvm::StringMap<int64_t> scalars;
  /// A host scalar; they are in the order of first use.
  struct Scalar {
    std::string name;
    mlir::RankedTensorType type;
    mlir::Attribute defaultValue;
    bool isUnsigned;
    mlir::Location location;
  };
  std::vector<Scalar> scalarList;
  llvm::MapVector<mlir::Attribute, int64_t> constants;
  std::vector<char> constantBytes;
};

/// The memory layout of one step: that of the module, and its inputs.
class StepLayout {
public:
  StepLayout(ModuleLayout &module, mlir::func::FuncOp step);

  Place getArgument(unsigned index) const { return arguments[index]; }
  /// The address of a tensor of a batch that the step loads.
  Place getBatchTensor(llvm::StringRef name) const {
    return {device::Space::Input, batchTensors.lookup(name)};
  }
  int64_t getInputSize() const { return inputSize; }
  ModuleLayout &getModule() { return module; }

private:
  ModuleLayout &module;
  std::vector<Place> arguments;
  llvm::StringMap<int64_t> batchTensors;
  int64_t inputSize = 0;
};

} // namespace lockstep

#endif
