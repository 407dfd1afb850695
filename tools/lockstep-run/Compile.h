//===- Compile.h - runs lockstep-compile ------------------------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_LOCKSTEP_RUN_COMPILE_H
#define LOCKSTEP_TOOLS_LOCKSTEP_RUN_COMPILE_H

#include "runtime/support/Status.h"
#include "tools/lockstep-run/Options.h"

#include <string>

namespace lockstep::run {

/// Whether the model has to be compiled before it can be run: its name ends in ".mlir".
bool needsCompilation(const Options &options);

/// The path of an artifact for the `.mlir` of the options. It is kept in a cache: the folder
/// `LOCKSTEP_CACHE` of the environment, else `lockstep` in `XDG_CACHE_HOME` or `~/.cache`. Its name
/// contains a digest of the program, the compiler and the options; an entry that is there is used
/// as it is. The compiler is the `lockstep-compile` beside this executable and writes its own
/// messages to the standard error output.
runtime::Expected<std::string> compileModel(const Options &options);

} // namespace lockstep::run

#endif // LOCKSTEP_TOOLS_LOCKSTEP_RUN_COMPILE_H
