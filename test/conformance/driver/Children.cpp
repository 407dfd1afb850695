//===- Children.cpp - work in separate processes --------------------------===//

#include "test/conformance/driver/Children.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <poll.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace lockstep::conformance::driver {

/// A process without output for this long hangs: the runtime aborts a run after
/// a minute.
static constexpr unsigned kSecondsToLive = 300;

namespace {

struct Child {
  pid_t process = 0;
  size_t index = 0;
  std::string output;
};

[[noreturn]] void workAndExit(int pipe, size_t index,
                              const std::function<Json(size_t)> &work) {
  alarm(kSecondsToLive);
  std::string text =
      work(index).dump(-1, ' ', false, Json::error_handler_t::replace);
  size_t written = 0;
  while (written < text.size()) {
    ssize_t count = write(pipe, text.data() + written, text.size() - written);
    if (count < 0 && errno != EINTR)
      _exit(1);
    written += count < 0 ? 0 : static_cast<size_t>(count);
  }
  // No destructors: they belong to the parent too.
  _exit(0);
}

std::string describe(int status) {
  if (WIFSIGNALED(status))
    return fmt::format("crashed: {}", strsignal(WTERMSIG(status)));
  return fmt::format("ended with status {} and without a result",
                     WEXITSTATUS(status));
}

} // namespace

std::vector<Json>
runInChildren(size_t count, unsigned jobs,
              const std::function<Json(size_t)> &work,
              const std::function<Json(size_t, const std::string &)> &failed) {
  std::vector<Json> results(count);
  std::map<int, Child> running;
  size_t next = 0;
  while (next < count || !running.empty()) {
    while (next < count && running.size() < jobs) {
      int ends[2];
      if (pipe(ends) != 0)
        throw std::system_error(errno, std::generic_category(), "pipe");
      pid_t process = fork();
      if (process < 0)
        throw std::system_error(errno, std::generic_category(), "fork");
      if (process == 0) {
        close(ends[0]);
        workAndExit(ends[1], next, work);
      }
      close(ends[1]);
      running[ends[0]] = {process, next++, {}};
    }

    std::vector<pollfd> waiting;
    for (const auto &[descriptor, child] : running)
      waiting.push_back({descriptor, POLLIN, 0});
    if (poll(waiting.data(), waiting.size(), /*timeout=*/-1) < 0 &&
        errno != EINTR)
      throw std::system_error(errno, std::generic_category(), "poll");
    for (const pollfd &ready : waiting) {
      if (!ready.revents)
        continue;
      Child &child = running[ready.fd];
      char buffer[65536];
      ssize_t size = read(ready.fd, buffer, sizeof(buffer));
      if (size > 0) {
        child.output.append(buffer, static_cast<size_t>(size));
        continue;
      }
      if (size < 0 && errno == EINTR)
        continue;
      int status = 0;
      waitpid(child.process, &status, 0);
      Json result =
          Json::parse(child.output, nullptr, /*allow_exceptions=*/false);
      results[child.index] = status == 0 && !result.is_discarded()
                                 ? std::move(result)
                                 : failed(child.index, describe(status));
      close(ready.fd);
      running.erase(ready.fd);
    }
  }
  return results;
}

} // namespace lockstep::conformance::driver
