//===- RemoteRanks.h - ranks of NCCL in other processes ---------*- C++ -*-===//

#ifndef LOCKSTEP_TEST_SUPPORT_CUDA_REMOTERANKS_H
#define LOCKSTEP_TEST_SUPPORT_CUDA_REMOTERANKS_H

#include "Context.h"
#include "Scheduler.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace lockstep::standin {

/// Transfers, in order, through one pipe to or from a rank.
class Pipe {
public:
  Pipe(const std::filesystem::path &path, bool isSend);

  /// Appends a transfer of memory of a GPU, which begins when `ready` is
  /// complete. Returns what is complete afterwards.
  Point add(Context *context, uint64_t address, uint64_t bytes,
            const Point &ready);
  /// Streams do not wait for transfers any more.
  void abort();

private:
  struct Transfer {
    Context *context;
    uint64_t address, bytes;
    std::shared_ptr<Lane> gate;
    bool isReady = false;
  };

  void run();
  bool move(void *bytes, size_t size);

  const int descriptor;
  const bool isSend;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::shared_ptr<Transfer>> transfers;
  std::atomic<bool> isAborted{false};
};

/// What one rank of a communicator has to do with those of other processes.
/// They find each other in a folder of the name of the communicator's id. Never
/// destroyed: threads use it.
class RemoteRanks {
public:
  /// An id that is the only one of this name on the machine.
  static std::string makeId(uint64_t number);
  /// Whether ranks with this id are known to be in other processes: one of them
  /// has made the id, or a folder.
  static bool exist(const std::string &id);

  RemoteRanks(const std::string &id, int size, int rank);

  /// Whether all ranks have come; then the folder is removed.
  bool areThere();
  /// The pipe to or from a rank, after all have come.
  Pipe &pipe(int peer, bool isSend) { return *pipes.at({peer, isSend}); }
  void abort();

private:
  std::filesystem::path file(const char *kind, int rank) const {
    return folder / (kind + std::to_string(rank));
  }
  bool haveAll(const char *kind) const;

  const std::filesystem::path folder;
  const int size, rank;
  bool isComplete = false;
  std::map<std::pair<int, bool>, std::unique_ptr<Pipe>> pipes;
};

} // namespace lockstep::standin

#endif // LOCKSTEP_TEST_SUPPORT_CUDA_REMOTERANKS_H
