//===- Compile.h - runs lockstep-compile ------------------------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_SUPPORT_COMPILE_H
#define LOCKSTEP_TOOLS_SUPPORT_COMPILE_H

#include "runtime/support/Status.h"

#include <string>
#include <vector>

namespace lockstep::tools {

/// Whether a file has to be compiled before it can be loaded: its name ends in
/// ".mlir".
bool needsCompilation(const std::string &path);

/// The path of an artifact for an `.mlir`, compiled with `flags`. It is kept in
/// a cache: the folder `LOCKSTEP_CACHE` of the environment, else `lockstep` in
/// `XDG_CACHE_HOME` or `~/.cache`. Its name contains a digest of the program,
/// the compiler and the flags; an existing entry is reused. The compiler is the
/// `lockstep-compile` beside this executable and writes its own messages to the
/// standard error output; `more` are flags that do not affect the artifact.
/// Errors: `invalidArgument` if the compiler rejects the program.
runtime::Expected<std::string>
compileModel(const std::string &model, const std::vector<std::string> &flags,
             const std::vector<std::string> &more = {});

} // namespace lockstep::tools

#endif // LOCKSTEP_TOOLS_SUPPORT_COMPILE_H
