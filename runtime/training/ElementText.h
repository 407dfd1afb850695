//===- ElementText.h - elements as numbers and text -------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_TRAINING_ELEMENTTEXT_H
#define LOCKSTEP_RUNTIME_TRAINING_ELEMENTTEXT_H

#include "runtime/schema/Types.h"
#include "runtime/support/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::training {

using artifact::ElementType;
using runtime::elementName;
using runtime::elementSize;
using runtime::Expected;
using runtime::Status;

/// The element at `bytes` as a number; 64-bit integers are rounded.
double toDouble(ElementType element, const std::byte *bytes);

/// Appends the element at `bytes` as JSON, with as many digits as are needed to
/// read the same value again. JSON has no words for non-finite values: they
/// become the strings "nan", "inf" and
/// "-inf", which `float()` of Python understands.
void appendJson(std::string &out, ElementType element, const std::byte *bytes);
void appendJson(std::string &out, double value);

/// Appends all elements: a number if `type` has rank 0, else a flat array.
void appendJson(std::string &out, const runtime::TensorInfo &type,
                std::span<const std::byte> bytes);

/// The bytes of an element from text: "0.1", "3", "true". Errors: no number, an
/// integer that is out of range, a fraction for an integer.
Expected<std::vector<std::byte>> parseElement(ElementType element,
                                              std::string_view text);

} // namespace lockstep::training

#endif // LOCKSTEP_RUNTIME_TRAINING_ELEMENTTEXT_H
