//===- QueueTimes.cpp - when a device has executed commands ---------------===//

#include "runtime/executor/QueueTimes.h"

#include <cmath>
#include <utility>

namespace lockstep::runtime {

QueueTimes::QueueTimes(uint32_t replicas, std::function<int64_t()> now)
    : now(std::move(now)), tracks(replicas) {}

Status QueueTimes::begin(DeviceQueues &given) {
  queues = &given;
  Queue &first = *queues->replicas.front().queue;
  LOCKSTEP_RETURN_IF_ERROR(queues->device->createTimestamp().moveTo(next));
  first.record(*next);
  if (!base) {
    // The times of the device and of the clock at the same point.
    LOCKSTEP_RETURN_IF_ERROR(first.finish());
    baseTime = double(now());
  }
  exchangeStatus = Status::success();
  queues->observer = this;
  return Status::success();
}

Expected<Timestamp *> QueueTimes::note(Timestamps &timestamps, Queue &queue) {
  if (timestamps.used == timestamps.all.size()) {
    std::unique_ptr<Timestamp> made;
    LOCKSTEP_RETURN_IF_ERROR(queues->device->createTimestamp().moveTo(made));
    timestamps.all.push_back(std::move(made));
  }
  Timestamp *timestamp = timestamps.all[timestamps.used++].get();
  queue.record(*timestamp);
  return timestamp;
}

Status QueueTimes::commandBegins(uint32_t replica, uint32_t command) {
  Track &track = tracks[replica];
  track.command = command;
  return note(track.timestamps, *queues->replicas[replica].queue)
      .moveTo(track.open);
}

Status QueueTimes::commandEnds(uint32_t replica, bool isNoted) {
  Track &track = tracks[replica];
  Timestamp *begin = std::exchange(track.open, nullptr);
  if (!begin || !isNoted)
    return Status::success();
  Timestamp *end = nullptr;
  LOCKSTEP_RETURN_IF_ERROR(
      note(track.timestamps, *queues->replicas[replica].queue).moveTo(end));
  track.pairs.push_back({begin, end, track.command, false});
  return Status::success();
}

Status QueueTimes::passes(uint32_t replica, uint32_t command) {
  Track &track = tracks[replica];
  if (!track.open)
    return Status::success();
  LOCKSTEP_RETURN_IF_ERROR(commandEnds(replica, /*isNoted=*/true));
  track.pairs.back().command = command;
  track.pairs.back().isWait = true;
  return Status::success();
}

void QueueTimes::noteExchange(uint32_t channel, Queue &queue, bool isEnd) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!exchangeStatus.ok())
    return;
  Timestamp *timestamp = nullptr;
  exchangeStatus = note(exchanges.timestamps, queue).moveTo(timestamp);
  if (!exchangeStatus.ok())
    return;
  if (!isEnd) {
    exchanges.pairs.push_back({timestamp, nullptr, channel, false});
    return;
  }
  for (size_t i = exchanges.pairs.size(); i-- > 0;)
    if (Pair &pair = exchanges.pairs[i]; pair.command == channel && !pair.end) {
      pair.end = timestamp;
      return;
    }
}

void QueueTimes::exchangeBegins(uint32_t channel, Queue &queue) {
  noteExchange(channel, queue, false);
}

void QueueTimes::exchangeEnds(uint32_t channel, Queue &queue) {
  noteExchange(channel, queue, true);
}

std::vector<QueueTimes::Span> QueueTimes::resolve(Track &track) const {
  std::vector<Span> spans;
  for (const Pair &pair : std::exchange(track.pairs, {})) {
    if (!pair.end)
      continue;
    Expected<double> begin = pair.begin->secondsSince(*base);
    Expected<double> length = pair.end->secondsSince(*pair.begin);
    // A run that has failed leaves commands that are not executed.
    if (!begin || !length)
      continue;
    double time = baseTime + *begin * 1e9;
    spans.push_back({pair.command, pair.isWait, std::llround(time),
                     std::llround(time + *length * 1e9)});
  }
  track.timestamps.used = 0;
  track.open = nullptr;
  return spans;
}

Expected<QueueTimes::Result> QueueTimes::end() {
  queues->observer = nullptr;
  if (base) {
    // The times of a run are relative to its beginning: a GPU measures longer
    // ones less exactly.
    double seconds = 0;
    LOCKSTEP_RETURN_IF_ERROR(next->secondsSince(*base).moveTo(seconds));
    baseTime += seconds * 1e9;
  }
  base = std::move(next);
  Result result;
  for (Track &track : tracks)
    result.replicas.push_back(resolve(track));
  result.collectives = resolve(exchanges);
  result.status = exchangeStatus;
  return result;
}

} // namespace lockstep::runtime
