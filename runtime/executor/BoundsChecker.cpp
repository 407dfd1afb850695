//===- BoundsChecker.cpp --------------------------------------------------===//

#include "runtime/executor/BoundsChecker.h"

#include <string>
#include <string_view>

namespace lockstep::runtime {

static void replace(std::string &text, std::string_view name, int64_t number) {
  if (size_t at = text.find(name); at != std::string::npos)
    text.replace(at, name.size(), std::to_string(number));
}

Status BoundsChecker::commandEnds(const Replica &, uint32_t) {
  if (fault.state.load(std::memory_order_acquire) == 0)
    return Status::success();
  // Another thread is writing the few words of the fault, without blocking.
  while (fault.state.load(std::memory_order_acquire) != 2) {
  }
  std::string text = fault.message;
  replace(text, "{value}", fault.value);
  replace(text, "{bound}", fault.bound);
  return {StatusCode::outOfRange, text};
}

} // namespace lockstep::runtime
