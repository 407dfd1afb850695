//===- RemoteRanks.cpp - ranks of NCCL in other processes -----------------===//

#include "RemoteRanks.h"

#include "MemoryTable.h"

#include <algorithm>
#include <fcntl.h>
#include <fstream>
#include <poll.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace lockstep::standin {

//===----------------------------------------------------------------------===//
// Pipe
//===----------------------------------------------------------------------===//

/// Opened for both directions: that does not wait for the other process, and
/// the pipe stays when that has gone.
static int openPipe(const std::filesystem::path &path) {
  ::mkfifo(path.c_str(), S_IRUSR | S_IWUSR);
  return ::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
}

Pipe::Pipe(const std::filesystem::path &path, bool isSend)
    : descriptor(openPipe(path)), isSend(isSend) {
  std::thread([this] { run(); }).detach();
}

Point Pipe::add(Context *context, uint64_t address, uint64_t bytes,
                const Point &ready) {
  Scheduler &scheduler = Scheduler::get();
  auto transfer = std::make_shared<Transfer>(
      Transfer{context, address, bytes,
               scheduler.open(nullptr, /*isDefault=*/false,
                              /*isIndependent=*/true)});
  {
    std::lock_guard lock(mutex);
    transfers.push_back(transfer);
  }
  Command command;
  command.waits = {ready};
  command.work = [this, transfer] {
    std::lock_guard lock(mutex);
    transfer->isReady = true;
    changed.notify_one();
  };
  std::shared_ptr<Lane> trigger = scheduler.open(nullptr, false, true);
  scheduler.enqueue(trigger, std::move(command));
  scheduler.close(trigger);
  return {transfer->gate, 1};
}

void Pipe::abort() {
  std::lock_guard lock(mutex);
  isAborted = true;
  changed.notify_one();
}

void Pipe::run() {
  for (;;) {
    std::shared_ptr<Transfer> next;
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] {
        return !transfers.empty() && (isAborted || transfers.front()->isReady);
      });
      next = transfers.front();
      transfers.pop_front();
    }
    // Each transfer begins with its size.
    uint64_t size = next->bytes;
    if (move(&size, sizeof size)) {
      if (size == next->bytes)
        move(MemoryTable::host(next->address), size);
      else
        next->context->setError(CUDA_ERROR_LAUNCH_FAILED,
                                "a rank sends " + std::to_string(size) +
                                    " bytes, the other receives " +
                                    std::to_string(next->bytes));
    }
    Scheduler::get().enqueue(next->gate, {});
    Scheduler::get().close(next->gate);
  }
}

/// Sends or receives; false after an abort.
bool Pipe::move(void *bytes, size_t size) {
  auto *next = static_cast<char *>(bytes);
  while (size > 0 && !isAborted) {
    ssize_t moved = isSend ? ::write(descriptor, next, size)
                           : ::read(descriptor, next, size);
    if (moved > 0) {
      next += moved;
      size -= size_t(moved);
      continue;
    }
    constexpr int milliseconds = 10;
    pollfd wait{descriptor, short(isSend ? POLLOUT : POLLIN), 0};
    ::poll(&wait, 1, milliseconds);
  }
  return size == 0;
}

//===----------------------------------------------------------------------===//
// RemoteRanks
//===----------------------------------------------------------------------===//

/// The beginning of the ids that this process makes.
static std::string ownPrefix() {
  return "nccl-" + std::to_string(::getpid()) + "-";
}

static std::filesystem::path folderOf(const std::string &id) {
  return std::filesystem::temp_directory_path() / id;
}

std::string RemoteRanks::makeId(uint64_t number) {
  return ownPrefix() + std::to_string(number);
}

bool RemoteRanks::exist(const std::string &id) {
  return !id.starts_with(ownPrefix()) || std::filesystem::exists(folderOf(id));
}

RemoteRanks::RemoteRanks(const std::string &id, int size, int rank)
    : folder(folderOf(id)), size(size), rank(rank) {
  std::error_code ignored;
  std::filesystem::create_directory(folder, ignored);
  for (int peer = 0; peer < size; ++peer) {
    if (peer == rank)
      continue;
    auto path = [&](int from, int to) {
      return folder /
             ("pipe" + std::to_string(from) + "-" + std::to_string(to));
    };
    pipes.emplace(std::pair(peer, true),
                  std::make_unique<Pipe>(path(rank, peer), true));
    pipes.emplace(std::pair(peer, false),
                  std::make_unique<Pipe>(path(peer, rank), false));
  }
  std::ofstream(file("rank", rank));
}

bool RemoteRanks::haveAll(const char *kind) const {
  for (int i = 0; i < size; ++i)
    if (!std::filesystem::exists(file(kind, i)))
      return false;
  return true;
}

bool RemoteRanks::areThere() {
  if (isComplete || !haveAll("rank"))
    return isComplete;
  // The first rank removes the folder when all have seen the others.
  if (!std::filesystem::exists(file("seen", rank)))
    std::ofstream(file("seen", rank));
  if (rank == 0 && !haveAll("seen"))
    return false;
  std::error_code ignored;
  if (rank == 0)
    std::filesystem::remove_all(folder, ignored);
  isComplete = true;
  return true;
}

void RemoteRanks::abort() {
  for (auto &[key, pipe] : pipes)
    pipe->abort();
}

} // namespace lockstep::standin
