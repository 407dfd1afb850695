//===- Passes.td - All passes of the compiler, by stage ----*- tablegen -*-===//
//
// The stages, in the order in which Pipelines.cpp runs them.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_PASSES_PASSES_TD
#define LOCKSTEP_PASSES_PASSES_TD

include "passes/Import/Passes.td"
include "passes/Verify/Passes.td"
include "passes/Lower/Passes.td"
include "passes/Simplify/Passes.td"
include "passes/Roles/Passes.td"
include "passes/Kernels/Passes.td"
include "passes/Bucket/Passes.td"
include "passes/Schedule/Passes.td"
include "passes/Codegen/Passes.td"
include "passes/Memory/Passes.td"

#endif
