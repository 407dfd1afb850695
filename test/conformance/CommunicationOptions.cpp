//===- CommunicationOptions.cpp - how collectives are made ----------------===//

#include "test/conformance/CommunicationOptions.h"

namespace lockstep::runtime {

CommunicationOptions
CommunicationOptions::merged(const CommunicationOptions &others) const {
  static constexpr CommunicationOptions none;
  CommunicationOptions result = *this;
  if (others.bytesPerPack != none.bytesPerPack)
    result.bytesPerPack = others.bytesPerPack;
  if (others.timeoutSeconds != none.timeoutSeconds)
    result.timeoutSeconds = others.timeoutSeconds;
  if (others.implementation != none.implementation)
    result.implementation = others.implementation;
  return result;
}

} // namespace lockstep::runtime
