//===- UserLocation.h - Locations as the user knows them --------*- C++ -*-===//

#ifndef LOCKSTEP_PASSES_ANALYSIS_USERLOCATION_H
#define LOCKSTEP_PASSES_ANALYSIS_USERLOCATION_H

#include "mlir/IR/Location.h"

#include <string>

namespace lockstep {

/// The line of the user's program that `location` stands for: of a chain of
/// calls the innermost line, of fused locations the first that has one. Nullopt
/// if there is no file in it.
std::optional<mlir::FileLineColLoc> findUserLocation(mlir::Location location);

/// The same as a location to report at; `location` itself if there is no file
/// in it.
mlir::Location getUserLocation(mlir::Location location);

/// The same as text, "model.py:42"; empty if there is no file in it.
std::string userLocation(mlir::Location location);

/// The same; if there is no file in it the name in it, which captured variables
/// have: "params/w1".
std::string userLocationOrName(mlir::Location location);

/// The user's function that `location` is in, "attention", as captured
/// locations have it: `loc("attention"("model.py":42:3))`. Of a chain of calls
/// the innermost function with a name, of fused locations that of the first
/// part that has one; empty if there is none.
llvm::StringRef findUserFunction(mlir::Location location);

} // namespace lockstep

#endif
