//===- Layout.h - Where variables, inputs, scalars and constants are ------===//

#ifndef LOCKSTEP_PASSES_MEMORY_LAYOUT_H
#define LOCKSTEP_PASSES_MEMORY_LAYOUT_H

#include "dialect/Device/DeviceDialect.h"
#include "dialect/Replica/ReplicaDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

#include <vector>

namespace lockstep {

/// A place in one of the memories that belong to the whole artifact, in bytes.
struct Place {
  device::Space space;
  int64_t offset;
};

/// All memories that the steps of a module share: variables, host scalars,
/// constants.
class ModuleLayout {
public:
  /// Gives every `replica.variable` and every scalar argument a place. Scalars
  /// of one name must agree in type.
  static llvm::FailureOr<ModuleLayout> create(mlir::ModuleOp module);

  Place getVariable(llvm::StringRef name) const {
    return variables.lookup(name);
  }
  int64_t getScalar(llvm::StringRef name) const { return scalars.lookup(name); }

  /// The place of a constant; equal constants share one.
  int64_t addConstant(mlir::DenseElementsAttr value);

  /// Replaces `replica.variable` by `device.variable`, and adds scalars and
  /// constants.
  void emit(mlir::ModuleOp module);

private:
  llvm::StringMap<Place> variables;
  llvm::StringMap<int64_t> scalars;
  /// What is known of each scalar, in the order of first use.
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

/// The memories of one step: those of the module, and its inputs.
class StepLayout {
public:
  StepLayout(ModuleLayout &module, mlir::func::FuncOp step);

  Place getArgument(unsigned index) const { return arguments[index]; }
  /// The place of a tensor of a batch that the step loads.
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

/// Alignment of everything that is placed, in bytes: a cache line, and the
/// widest vector.
constexpr int64_t kAlignment = 64;

} // namespace lockstep

#endif
