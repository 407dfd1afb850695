//===- ProofText.h - what is proven, in words -------------------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_SUPPORT_PROOFTEXT_H
#define LOCKSTEP_TOOLS_SUPPORT_PROOFTEXT_H

#include "runtime/verification/Verification.h"

namespace lockstep::tools {

/// "proven" or "not provable".
inline const char *verdictText(const runtime::verification::Proof &proof) {
  return proof.isProven ? "proven" : "not provable";
}

} // namespace lockstep::tools

#endif // LOCKSTEP_TOOLS_SUPPORT_PROOFTEXT_H
