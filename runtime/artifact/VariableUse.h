//===- VariableUse.h - variables that a program needs -----------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_ARTIFACT_VARIABLEUSE_H
#define LOCKSTEP_RUNTIME_ARTIFACT_VARIABLEUSE_H

#include "runtime/schema/artifact_generated.h"

#include <set>
#include <string>
#include <string_view>

namespace lockstep::runtime {

/// How the parts of all roles in a program use whole variables, by name.
struct VariableUse {
  /// Those that it may read before it has written them.
  std::set<std::string> read;
  /// Those that it has written completely in any case when it ends.
  std::set<std::string> written;
};

/// `artifact` has been verified.
VariableUse variableUse(const artifact::Artifact &artifact,
                        std::string_view program);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_ARTIFACT_VARIABLEUSE_H
