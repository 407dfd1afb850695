//===- ProceduralFunctions.h - functions of expressions ---------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_CONFORMANCE_PROCEDURALFUNCTIONS_H
#define LOCKSTEP_TEST_CONFORMANCE_PROCEDURALFUNCTIONS_H

#include "ProceduralValue.h"

#include <string>
#include <vector>

namespace lockstep::conformance {

bool isDtype(const std::string &name);

/// A nest of lists of numbers as a tensor.
Expected<CaseValue> toTensor(const CaseValue &lists, const std::string &dtype);

/// + - * / on numbers and tensors. A number is added to each element of a
/// tensor; tensors have one shape.
Expected<CaseValue> arithmetic(char operation, const CaseValue &left,
                               const CaseValue &right);

/// A member of a list, or a row of a tensor.
Expected<CaseValue> indexed(const CaseValue &value, const CaseValue &index);

/// arange, range, ones, zeros, and the types as casts.
Expected<CaseValue> callFunction(const std::string &name,
                                 const std::vector<CaseValue> &arguments);

/// reshape of a tensor; batch of the rows of a tensor, which returns a list;
/// shard of a list or of rows.
Expected<CaseValue> callMethod(const std::string &name, const CaseValue &value,
                               const std::vector<CaseValue> &arguments);

} // namespace lockstep::conformance

#endif // LOCKSTEP_TEST_CONFORMANCE_PROCEDURALFUNCTIONS_H
