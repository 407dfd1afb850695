//===- PlainValues.h - Values that are not tensors --------------*- C++ -*-===//

#ifndef LOCKSTEP_DIALECT_INTERFACES_PLAINVALUES_H
#define LOCKSTEP_DIALECT_INTERFACES_PLAINVALUES_H

#include "mlir/IR/Attributes.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace lockstep {

/// True for UTF-8 strings, booleans, `i64`, finite `f64`, and arrays and
/// dictionaries of them: values that JSON represents exactly.
bool isPlainValue(mlir::Attribute value);

/// Converts a plain value to one line of JSON.
std::string plainValueToJson(mlir::Attribute value);
/// Converts JSON to a plain value; null if `text` is not JSON, or contains
/// null, an empty key or an integer that does not fit into `i64`.
mlir::Attribute plainValueFromJson(llvm::StringRef text,
                                   mlir::MLIRContext *context);

} // namespace lockstep

#endif // LOCKSTEP_DIALECT_INTERFACES_PLAINVALUES_H
