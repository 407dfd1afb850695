//===- CommunicationOptions.h - how collectives are made --------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_CONFORMANCE_COMMUNICATIONOPTIONS_H
#define LOCKSTEP_TEST_CONFORMANCE_COMMUNICATIONOPTIONS_H

#include <cstdint>
#include <optional>

namespace lockstep::runtime {

struct CommunicationOptions {
  enum class Implementation : uint8_t { automatic, ring, nccl };

  /// 0: one pack.
  uint64_t bytesPerPack = 0;
  /// Nothing: no timeout.
  std::optional<double> timeoutSeconds = {};
  Implementation implementation = Implementation::automatic;

  /// These options, but of `others` what is not the default.
  CommunicationOptions merged(const CommunicationOptions &others) const;

  bool operator==(const CommunicationOptions &) const = default;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_TEST_CONFORMANCE_COMMUNICATIONOPTIONS_H
