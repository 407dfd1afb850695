//===- OutOfMemory.cpp ----------------------------------------------------===//

#include "tools/support/OutOfMemory.h"

#include <cstring>
#include <new>
#include <unistd.h>

namespace lockstep::tools {

static const char *toolName = "lockstep";

static void say(const char *text) {
  [[maybe_unused]] ssize_t written =
      ::write(STDERR_FILENO, text, std::strlen(text));
}

void endWhenOutOfMemory(const char *tool) {
  toolName = tool;
  std::set_new_handler([] {
    // Nothing here may allocate.
    say(toolName);
    say(": error: out of memory\n");
    ::_exit(1);
  });
}

} // namespace lockstep::tools
