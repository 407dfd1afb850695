//===- ModuleTopology.h - The topology of a module --------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_ANALYSIS_MODULETOPOLOGY_H
#define LOCKSTEP_PASSES_ANALYSIS_MODULETOPOLOGY_H

#include "runtime/model/Topology.h"

#include "mlir/IR/BuiltinOps.h"

namespace lockstep {

/// Attribute of a module: the topology that its schedule is made for, the name
/// of a preset or the JSON form. Without it, `host`.
inline constexpr llvm::StringLiteral kTopologyAttr = "device.topology";

/// The topology of `module`. Error: a text that is neither of both.
llvm::FailureOr<runtime::Topology> getTopology(mlir::ModuleOp module);

} // namespace lockstep

#endif
