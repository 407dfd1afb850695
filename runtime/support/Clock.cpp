//===- Clock.cpp ----------------------------------------------------------===//

#include "runtime/support/Clock.h"

namespace lockstep::runtime {
namespace {

class SystemClock final : public Clock {
public:
  Duration now() override {
    return std::chrono::steady_clock::now().time_since_epoch();
  }

  void waitUntil(std::unique_lock<std::mutex> &lock,
                 std::condition_variable &condition, Duration time) override {
    condition.wait_until(lock, std::chrono::steady_clock::time_point(time));
  }
};

} // namespace

Clock &Clock::system() {
  static SystemClock clock;
  return clock;
}

} // namespace lockstep::runtime
