//===- Replica.h - the state of one replica ---------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_REPLICA_H
#define LOCKSTEP_RUNTIME_EXECUTOR_REPLICA_H

#include "runtime/collectives/CollectivePlan.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

namespace lockstep::runtime {

/// A program counter, registers and memories. One worker at a time executes a
/// replica: the one that has set `state` to `running`. Fields that are not
/// atomic belong to that worker.
struct alignas(128) Replica {
  /// `paused` and `left` are final: stopped by a fault before a command, or
  /// left inside of one by its worker.
  enum State : uint32_t { ready, running, finished, paused, left };
  static constexpr uint64_t notBlocked = ~uint64_t(0);
  /// The replica waits until a device with queues has executed its commands.
  static constexpr uint64_t onDevice = notBlocked - 1;
  static constexpr uint32_t ringSize = 64;
  /// Flag of an event in `ring`: the replica blocks in the command; without it,
  /// the command begins.
  static constexpr uint32_t blocks = uint32_t(1) << 31;

  uint32_t index = 0;
  /// The value in the memory `rank`, which the program reads as its rank.
  int32_t rank = 0;
  uint32_t pc = 0;
  std::array<std::byte *, spaceCount> bases{};
  std::vector<int64_t> registers;
  /// For programs that load batches: their addresses, and how many have been
  /// loaded.
  std::vector<std::byte *> batches;
  size_t loaded = 0;
  /// Arguments of the current launch.
  std::vector<void *> pointers;
  std::vector<int64_t> scalars;
  /// Instances that this replica has started, for each channel. Written by its
  /// worker alone; the watchdog reads it.
  std::vector<std::atomic<uint32_t>> started;

  alignas(64) std::atomic<uint32_t> state{ready};
  /// channel << 32 | epoch of the instance that the replica waits for, or
  /// `onDevice`.
  std::atomic<uint64_t> blocked{notBlocked};
  /// The worker that executes the replica, or did so last.
  std::atomic<uint32_t> worker{0};
  static constexpr uint32_t noTile = ~uint32_t(0);
  /// The current tile of a launch with several tiles that are not shared among
  /// workers.
  std::atomic<uint32_t> tile{noTile};

  /// A ring buffer of the latest events: commands that begin, and `blocks`.
  /// `events` counts all of them; with `tiles` it is the heartbeat that the
  /// watchdog observes.
  alignas(64) std::atomic<uint64_t> events{0};
  std::atomic<uint64_t> tiles{0};
  std::array<std::atomic<uint32_t>, ringSize> ring{};

  /// Plain stores: this replica has one writer.
  void note(uint32_t event) {
    uint64_t count = events.load(std::memory_order_relaxed);
    ring[count % ringSize].store(event, std::memory_order_relaxed);
    events.store(count + 1, std::memory_order_relaxed);
  }
  void beginTile(uint32_t number) {
    tile.store(number, std::memory_order_relaxed);
    tiles.store(tiles.load(std::memory_order_relaxed) + 1,
                std::memory_order_relaxed);
  }

  uint32_t startNext(uint32_t channel) {
    uint32_t epoch = started[channel].load(std::memory_order_relaxed) + 1;
    started[channel].store(epoch, std::memory_order_relaxed);
    return epoch;
  }
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_REPLICA_H
