//===- TileRunner.h - executes an operation in tiles ------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_TRANSPORT_TILERUNNER_H
#define LOCKSTEP_RUNTIME_TRANSPORT_TILERUNNER_H

#include "runtime/support/Status.h"

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

namespace lockstep::runtime {

/// The function called for each tile, `function(tile, worker)`. It owns a copy
/// of its captures, because a worker may still execute it after the caller has
/// stopped waiting.
class TileFunction {
public:
  TileFunction() = default;
  template <typename Function> explicit TileFunction(Function function) {
    static_assert(sizeof(Function) <= sizeof(context) &&
                  alignof(Function) <= alignof(std::max_align_t));
    static_assert(std::is_trivially_copyable_v<Function> &&
                  std::is_trivially_destructible_v<Function>);
    new (context) Function(function);
    call = [](const std::byte *bytes, int64_t tile, uint32_t worker) {
      (*std::launder(reinterpret_cast<const Function *>(bytes)))(tile, worker);
    };
  }

  void operator()(int64_t tile, uint32_t worker) const {
    call(context, tile, worker);
  }

private:
  void (*call)(const std::byte *context, int64_t tile,
               uint32_t worker) = nullptr;
  alignas(std::max_align_t) std::byte context[48] = {};
};

/// Distributes the tiles of one operation among idle workers.
class TileRunner {
public:
  virtual ~TileRunner() = default;
  /// Calls `function` once for each tile in [0, tiles); returns when all calls
  /// have returned. Error: the run has stopped waiting for kernels, and some
  /// calls may never return; the memory that `function` uses must then stay
  /// valid until the process exits.
  virtual Status runTiles(uint32_t worker, int64_t tiles,
                          const TileFunction &function) = 0;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_TRANSPORT_TILERUNNER_H
