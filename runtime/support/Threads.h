//===- Threads.h - creation of threads --------------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_SUPPORT_THREADS_H
#define LOCKSTEP_RUNTIME_SUPPORT_THREADS_H

#include "runtime/support/Status.h"

#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace lockstep::runtime {

/// A thread that executes `function`. Error: the system cannot create more
/// threads, or no memory for their stacks.
template <typename Function>
Expected<std::thread> startThread(Function &&function) {
  // The only exception in the runtime, thrown by the standard library.
  try {
    return std::thread(std::forward<Function>(function));
  } catch (const std::system_error &error) {
    return systemError(
        fmt::format("cannot start a thread: {}", error.code().message()));
  } catch (const std::bad_alloc &) {
    return systemError("cannot start a thread: out of memory");
  }
}

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_SUPPORT_THREADS_H
