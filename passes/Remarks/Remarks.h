//===- Remarks.h - Optimization remarks of the stages -----------*- C++ -*-===//
//
// Remarks are emitted through MLIR's engine (mlir/IR/Remarks.h): `passed` for
// an applied optimization, `missed` for one that was not possible, with the
// reason, `analysis` for numbers. The category is the stage, so that
// `lockstep-opt --remarks-filter=bucket` works, too.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_PASSES_REMARKS_REMARKS_H
#define LOCKSTEP_PASSES_REMARKS_REMARKS_H

#include "dialect/Collective/CollectiveDialect.h"
#include "passes/Remarks/Stage.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Remarks.h"

#include <string>

namespace lockstep {

/// Options of a remark `name` of `stage` about the step or program `function`.
mlir::remark::RemarkOpts decision(Stage stage, llvm::StringRef name,
                                  llvm::StringRef function);

/// "516 B", "37.5 KiB"
std::string bytesText(int64_t bytes);

/// "1.25 ms", "310 us"
std::string secondsText(double seconds);

/// "64x128xf32"
std::string typeText(mlir::RankedTensorType type);

/// "all_reduce sum of 64x128xf32 (32.0 KiB)", "all_reduce sum of 5 tensors
/// (37.5 KiB)"
std::string collectiveText(collective::StartOp start);

/// "64x128xf32 (model.py:37)": a tensor and the line that computes it.
std::string valueText(mlir::Value value);

/// "@step_19 (model.py:37)" for a kernel, otherwise for example "'scf.for'
/// (model.py:126)".
std::string operationText(mlir::Operation *op);

/// "1 kernel", "3 kernels"
std::string countText(int64_t count, llvm::StringRef noun);

/// " (model.py:42)", a suffix for a name, or nothing if no line of the user's
/// program is known.
std::string atLine(mlir::Location location);

/// The distinct lines of the user's program in a location, in order:
/// "model.py:37, 38, util.py:5".
std::string linesText(mlir::Location location);

/// The number of distinct lines in a location.
size_t countLines(mlir::Location location);

/// The texts separated by commas; only the first `most`, and the number of
/// others.
std::string listText(llvm::ArrayRef<std::string> texts, size_t most = 6);
/// The same for `count` texts that `textOf` makes.
std::string listText(size_t count,
                     llvm::function_ref<std::string(size_t)> textOf,
                     size_t most = 6);

} // namespace lockstep

#endif
