//===- FileWatch.cpp - reports slow file operations -----------------------===//

#include "runtime/training/FileWatch.h"

#include "runtime/training/Messages.h"
#include <fmt/format.h>

#include <chrono>
#include <utility>

namespace lockstep::training {

using runtime::Clock;
using runtime::Watchdog;

FileWatch::FileWatch(Clock::Duration deadline, Clock &clock)
    : watchdog(
          clock, deadline,
          [this] {
            std::lock_guard<std::mutex> lock(mutex);
            if (active.empty())
              return Watchdog::Sample{};
            if (beat)
              beat();
            // The progress of an operation is not known, and it is never
            // aborted: it is reported as a wait in a run that makes progress.
            uint64_t number = active.begin()->first;
            return Watchdog::Sample{number, ++samples, number};
          },
          [](uint64_t) { return false; },
          [this](uint64_t number, Clock::Duration duration) {
            std::lock_guard<std::mutex> lock(mutex);
            if (auto found = active.find(number); found != active.end())
              printOwnNote(fmt::format(
                  "{} has taken {} s so far and goes on; a signal ends the run",
                  found->second,
                  std::chrono::duration<double>(duration).count()));
          }) {}

void FileWatch::setBeat(std::function<void()> function) {
  std::lock_guard<std::mutex> lock(mutex);
  beat = std::move(function);
}

FileWatch::Scope::Scope(FileWatch &watch, std::string what) : watch(watch) {
  std::lock_guard<std::mutex> lock(watch.mutex);
  number = ++watch.lastNumber;
  watch.active.emplace(number, std::move(what));
}

FileWatch::Scope::~Scope() {
  std::lock_guard<std::mutex> lock(watch.mutex);
  watch.active.erase(number);
}

} // namespace lockstep::training
