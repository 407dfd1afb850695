//===- Modes.h - Values of options with several forms -----------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_LOCKSTEP_COMPILE_MODES_H
#define LOCKSTEP_TOOLS_LOCKSTEP_COMPILE_MODES_H

#include "passes/Pipelines/Pipelines.h"

namespace lockstep {

/// Reads a value of --bucket: "optimal", "none" or "bytes:N". False if it is
/// none of these.
bool readBucketMode(llvm::StringRef mode, CompileOptions &options);

/// Reads a value of --split: "auto", "none", or names of different variables
/// and numbers of pieces above 1, as in "w:2,b:4". False if it is none of
/// these.
bool readSplitMode(llvm::StringRef mode, CompileOptions &options);

} // namespace lockstep

#endif
