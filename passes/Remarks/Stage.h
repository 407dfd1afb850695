//===- Stage.h - The stages of the compilation ------------------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_REMARKS_STAGE_H
#define LOCKSTEP_PASSES_REMARKS_STAGE_H

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace lockstep {

/// The stages of the compilation, in order. A pipeline may stop after any of
/// them.
enum class Stage {
  Import,
  Verify,
  Lower,
  Simplify,
  Roles,
  Kernels,
  Bucket,
  Schedule,
  Codegen,
  Memory
};

/// The name of a stage, as in the option `--stop-after`, and the stage of a
/// name; nullopt for unknown names.
llvm::StringRef stringifyStage(Stage stage);
std::optional<Stage> symbolizeStage(llvm::StringRef name);

} // namespace lockstep

#endif
