//===- MpiFactory.cpp - the transport "mpi" -------------------------------===//
//
// A plugin for executors in the processes that `mpirun` has started.
//
//===----------------------------------------------------------------------===//

#include "runtime/support/Plugin.h"
#include "runtime/transport/mpi/MpiWire.h"
#include "runtime/transport/wire/WireFactory.h"

#include <dlfcn.h>
#include <mutex>

#include <fmt/format.h>

using namespace lockstep::runtime;

namespace {

/// The thread that uses MPI, from the first use to the end of the process: MPI
/// can be initialized only once.
Expected<std::shared_ptr<WireThread>> sharedThread() {
  static std::mutex mutex;
  static std::shared_ptr<WireThread> started;
  std::lock_guard<std::mutex> lock(mutex);
  if (started)
    return started;
  // Open MPI loads components that search its symbols among the global ones.
  Dl_info library;
  if (::dladdr(reinterpret_cast<const void *>(&MPI_Init_thread), &library))
    (void)::dlopen(library.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
  Expected<std::shared_ptr<WireThread>> thread =
      WireThread::start(MpiWire::open);
  if (thread)
    started = *thread;
  return thread;
}

} // namespace

LOCKSTEP_PLUGIN

/// Called by `PluginObjects` (Plugin.h) after the plugin has been loaded.
extern "C" __attribute__((visibility("default"))) void
lockstepOpenTransport(std::string_view options, uint32_t /*user*/,
                      std::unique_ptr<TransportFactory> &transport,
                      Status &status) {
  if (!options.empty()) {
    status = invalidArgument(
        fmt::format("expected no options, found '{}'", options));
    return;
  }
  Expected<std::shared_ptr<WireThread>> thread = sharedThread();
  if (thread)
    transport = std::make_unique<WireFactory>("mpi", std::move(*thread));
  else
    status = thread.status();
}
