//===- Verdict.cpp - what is proven, in words -----------------------------===//

#include "tools/support/Verdict.h"

namespace lockstep::tools {

std::string verdictText(artifact::Verdict verdict) {
  return verdict == artifact::Verdict::proven  ? "proven"
         : verdict == artifact::Verdict::wrong ? "wrong"
                                               : "not provable";
}

std::string certificateText(runtime::verification::CertificateState state) {
  using State = runtime::verification::CertificateState;
  return state == State::absent    ? "none"
         : state == State::matches ? "about these commands"
                                   : "about other commands";
}

} // namespace lockstep::tools
