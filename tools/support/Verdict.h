//===- Verdict.h - what is proven, in words ---------------------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_SUPPORT_VERDICT_H
#define LOCKSTEP_TOOLS_SUPPORT_VERDICT_H

#include "runtime/verification/Certificate.h"

#include <string>

namespace lockstep::tools {

/// "proven", "wrong", "not provable".
std::string verdictText(artifact::Verdict verdict);
/// "none", "about these commands", "about other commands".
std::string certificateText(runtime::verification::CertificateState state);

} // namespace lockstep::tools

#endif // LOCKSTEP_TOOLS_SUPPORT_VERDICT_H
