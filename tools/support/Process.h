//===- Process.h - runs other programs --------------------------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_SUPPORT_PROCESS_H
#define LOCKSTEP_TOOLS_SUPPORT_PROCESS_H

#include "runtime/support/Status.h"

#include <string>
#include <vector>

namespace lockstep::tools {

/// Starts a program and waits for its end. `arguments` begins with its path, or
/// a name that is looked up in PATH. With `output`, a file with this path gets
/// what it prints. Error: it cannot be started, was ended by a signal, or has
/// an exit status other than 0.
runtime::Status runProgram(const std::vector<std::string> &arguments,
                           const std::string &output = "");

} // namespace lockstep::tools

#endif // LOCKSTEP_TOOLS_SUPPORT_PROCESS_H
