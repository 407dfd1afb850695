//===- PlainValues.h - values that are no tensors ---------------*- C++ -*-===//

#ifndef LOCKSTEP_DIALECT_INTERFACES_PLAINVALUES_H
#define LOCKSTEP_DIALECT_INTERFACES_PLAINVALUES_H

#include "mlir/IR/Attributes.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace lockstep {

/// Strings of UTF-8, booleans, `i64`, finite `f64`, and arrays and dictionaries
/// of them: what JSON can say and give back unchanged.
bool isPlainValue(mlir::Attribute value);

/// One line of JSON. `value` is plain.
std::string plainValueToJson(mlir::Attribute value);
/// The opposite; null if `text` is no JSON, or says something that no plain
/// value can (null, an integer beyond 64 bits).
mlir::Attribute plainValueFromJson(llvm::StringRef text,
                                   mlir::MLIRContext *context);

} // namespace lockstep

#endif // LOCKSTEP_DIALECT_INTERFACES_PLAINVALUES_H
