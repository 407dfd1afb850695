//===- LinkTimeline.cpp ---------------------------------------------------===//

#include "runtime/collectives/LinkTimeline.h"

#include <algorithm>

namespace lockstep::runtime {

LinkTimeline::Transfer LinkTimeline::carry(double ready,
                                           TransferSeconds seconds) {
  auto stream = std::min_element(
      streams.begin(), streams.end(),
      [](const Stream &a, const Stream &b) { return a.free < b.free; });
  Transfer transfer;
  transfer.stream = size_t(stream - streams.begin());
  transfer.begin = std::max(ready, stream->free);
  double arrival = transfer.begin + seconds.latency;
  bool waitsForBytes = end > arrival;
  if (waitsForBytes)
    transfer.waitedFor = count - 1;
  else if (stream->free > ready)
    transfer.waitedFor = stream->last;
  transfer.end = (waitsForBytes ? end : arrival) + seconds.bytes;
  end = transfer.end;
  *stream = {end, count++};
  return transfer;
}

} // namespace lockstep::runtime
