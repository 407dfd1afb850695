//===- TileRunner.h - an operation in tiles ---------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_TRANSPORT_TILERUNNER_H
#define LOCKSTEP_RUNTIME_TRANSPORT_TILERUNNER_H

#include "runtime/support/Status.h"

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

namespace lockstep::runtime {

/// What is done with each tile: `function(tile, worker)`. It has a copy of what
/// it needs, because a worker may be inside of it for longer than anybody
/// waits.
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

/// Shares the tiles of one operation among workers that have nothing else to
/// do.
class TileRunner {
public:
  virtual ~TileRunner() = default;
  /// Calls `function` once for each tile in [0, tiles); returns when all calls
  /// have returned. Error: nobody waits for kernels any more, and some calls
  /// may never return; what `function` uses must be kept then until the process
  /// exits.
  virtual Status runTiles(uint32_t worker, int64_t tiles,
                          const TileFunction &function) = 0;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_TRANSPORT_TILERUNNER_H
