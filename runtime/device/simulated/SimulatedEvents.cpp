//===- SimulatedEvents.cpp - events and times of a device for tests -------===//

#include "runtime/device/simulated/SimulatedDevice.h"

namespace lockstep::runtime {

bool SimulatedEvent::isComplete() const {
  return state->completed.load(std::memory_order_acquire) >=
         state->recorded.load(std::memory_order_acquire);
}

Expected<double>
SimulatedTimestamp::secondsSince(const Timestamp &earlier) const {
  int64_t begin = static_cast<const SimulatedTimestamp &>(earlier).time->load(
              std::memory_order_acquire),
          end = time->load(std::memory_order_acquire);
  if (begin == 0 || end == 0)
    return invalidArgument("a timestamp has not been recorded");
  return double(end - begin) * 1e-9;
}

Expected<std::unique_ptr<Timestamp>> SimulatedDevice::createTimestamp() {
  return std::unique_ptr<Timestamp>(std::make_unique<SimulatedTimestamp>());
}

} // namespace lockstep::runtime
