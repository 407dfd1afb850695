//===- Certificate.h - proofs that are kept ---------------------*- C++ -*-===//
//
// The compiler proves programs and writes what it found into their artifact: a
// certificate for each name. A loader checks programs of one role anew, which
// is linear; where several roles meet, or ranks go ways of their own, it
// believes the certificate, if it is about these very tables.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_VERIFICATION_CERTIFICATE_H
#define LOCKSTEP_RUNTIME_VERIFICATION_CERTIFICATE_H

#include "runtime/verification/Verification.h"

#include <array>
#include <string>
#include <vector>

namespace lockstep::runtime::verification {

/// What was found about the programs of one name.
struct NamedProof {
  std::string program;
  Proof proof;
};

/// SHA-256 of all that the proof about the programs called `name` depends on.
std::array<uint8_t, 32> proofDigest(const artifact::Artifact &artifact,
                                    std::string_view name);

/// Proves all programs and puts a certificate for each into `tables`, whatever
/// its verdict. Error: the tables contradict themselves, which the loader
/// refuses.
Expected<std::vector<NamedProof>> certify(artifact::ArtifactT &tables,
                                          const Options &options = {});

/// Whether a formula names only operations and values that there are.
Status checkFormula(const artifact::Artifact &artifact,
                    const artifact::Formula &formula);

/// The certificate for a name, or null.
const artifact::Certificate *findCertificate(const artifact::Artifact &artifact,
                                             std::string_view name);

/// What an artifact itself says about the proof for the programs of one name.
enum class CertificateState : uint8_t { absent, matches, otherCommands };

CertificateState certificateState(const artifact::Artifact &artifact,
                                  std::string_view name);

/// Success if the ranks of the programs called `name` provably do not wait for
/// each other for ever: they go one way, or a certificate about them says so.
Status checkProven(const artifact::Artifact &artifact, std::string_view name);

} // namespace lockstep::runtime::verification

#endif // LOCKSTEP_RUNTIME_VERIFICATION_CERTIFICATE_H
