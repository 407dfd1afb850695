//===- Process.cpp - runs other programs ----------------------------------===//

#include "tools/support/Process.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lockstep::tools {

using runtime::Status;
using runtime::systemError;

Status runProgram(const std::vector<std::string> &arguments,
                  const std::string &output) {
  std::vector<char *> argv;
  for (const std::string &argument : arguments)
    argv.push_back(const_cast<char *>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (!output.empty()) {
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  }
  pid_t child = 0;
  int error =
      posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error)
    return systemError(
        fmt::format("cannot start '{}': {}", arguments[0], strerror(error)));
  int result = 0;
  while (waitpid(child, &result, 0) < 0)
    if (errno != EINTR)
      return systemError(fmt::format("cannot wait for '{}': {}", arguments[0],
                                     strerror(errno)));
  std::string name = std::filesystem::path(arguments[0]).filename().string();
  if (WIFSIGNALED(result))
    return runtime::invalidArgument(
        fmt::format("{} was ended by signal {}", name, WTERMSIG(result)));
  if (WEXITSTATUS(result) != 0)
    return runtime::invalidArgument(
        fmt::format("{} failed with status {}{}", name, WEXITSTATUS(result),
                    output.empty() ? " (see above)" : ""));
  return Status::success();
}

} // namespace lockstep::tools
