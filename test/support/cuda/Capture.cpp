//===- Capture.cpp - commands of streams as a graph -----------------------===//

#include "Capture.h"

#include <algorithm>

namespace lockstep::standin {

/// Of all captures and of what lanes know of them.
static std::mutex &captureMutex() {
  static auto &mutex = *new std::mutex;
  return mutex;
}

/// The captures' mutex is held.
static std::shared_ptr<Capture> captureOf(const Lane &lane,
                                          const std::vector<Point> &waits) {
  if (lane.capture)
    return lane.capture;
  for (const Point &point : waits)
    if (point.capture && point.capture->isActive)
      return point.capture;
  return nullptr;
}

bool isCaptured(const Lane &lane, const std::vector<Point> &waits) {
  std::lock_guard lock(captureMutex());
  return captureOf(lane, waits) != nullptr;
}

std::optional<Point> captureCommand(const std::shared_ptr<Lane> &lane,
                                    const Enqueue &enqueue,
                                    const std::vector<Point> &waits) {
  std::lock_guard lock(captureMutex());
  std::shared_ptr<Capture> found = captureOf(*lane, waits);
  if (!found)
    return std::nullopt;
  if (!lane->capture) {
    lane->capture = found;
    lane->lastNode.reset();
    found->lanes.push_back(lane);
  }
  Capture &capture = *lane->capture;
  capture.isInvalid |= capture.thread != std::this_thread::get_id();
  std::vector<Graph::Node> &nodes = capture.graph->nodes;
  Graph::Node node{enqueue, {}};
  if (lane->lastNode)
    node.after.push_back(*lane->lastNode);
  for (const Point &point : waits)
    node.after.push_back(point.node);
  lane->lastNode = nodes.size();
  nodes.push_back(std::move(node));
  return Point{nullptr, 0, lane->capture, *lane->lastNode};
}

CUresult checkWait(const Lane &lane, const Point &point) {
  std::lock_guard lock(captureMutex());
  if (lane.capture && point.capture != lane.capture) {
    lane.capture->isInvalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  if (!lane.capture && point.capture && !point.capture->isActive)
    return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

/// An error, if there is a capture, which it invalidates.
static CUresult refuseIn(const std::shared_ptr<Capture> &capture,
                         CUresult error) {
  std::lock_guard lock(captureMutex());
  if (!capture)
    return CUDA_SUCCESS;
  capture->isInvalid = true;
  return error;
}

CUresult checkQuery(const Point &point) {
  return refuseIn(point.capture, CUDA_ERROR_CAPTURED_EVENT);
}

CUresult checkQuery(const Lane &lane) {
  return refuseIn(lane.capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

CUresult beginCapture(Context &context, const std::shared_ptr<Lane> &lane) {
  std::lock_guard lock(captureMutex());
  if (lane->capture) {
    lane->capture->isInvalid = true;
    return CUDA_ERROR_ILLEGAL_STATE;
  }
  lane->capture = std::make_shared<Capture>();
  lane->capture->graph->context = &context;
  lane->capture->lanes.push_back(lane);
  lane->lastNode.reset();
  return CUDA_SUCCESS;
}

/// Whether all nodes come before that of the first lane's end.
static bool isJoined(const Graph &graph, std::optional<size_t> last) {
  std::vector<bool> isBefore(graph.nodes.size());
  if (last)
    isBefore[*last] = true;
  for (size_t i = graph.nodes.size(); i-- > 0;)
    if (isBefore[i])
      for (size_t before : graph.nodes[i].after)
        isBefore[before] = true;
  return std::ranges::count(isBefore, false) == 0;
}

CUresult endCapture(const std::shared_ptr<Lane> &lane,
                    std::shared_ptr<Graph> &graph) {
  std::lock_guard lock(captureMutex());
  std::shared_ptr<Capture> capture = lane->capture;
  if (!capture)
    return CUDA_ERROR_ILLEGAL_STATE;
  if (capture->lanes.front() != lane)
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  std::shared_ptr<Graph> captured = std::move(capture->graph);
  bool isWhole = isJoined(*captured, lane->lastNode);
  capture->isActive = false;
  for (const std::shared_ptr<Lane> &other : capture->lanes)
    other->capture = nullptr;
  if (capture->isInvalid)
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!isWhole)
    return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  graph = std::move(captured);
  return CUDA_SUCCESS;
}

void launchGraph(ExecutableGraph &executable,
                 const std::shared_ptr<Lane> &lane) {
  Context &context = *executable.context;
  std::lock_guard lock(executable.mutex);
  std::vector<Point> begin{context.submit(lane, nullptr)};
  if (executable.end.lane)
    begin.push_back(executable.end);
  // A node follows on the stream of one that it waits for, if that is the last
  // one there.
  struct Place {
    std::shared_ptr<Lane> lane;
    size_t last = 0;
  };
  std::vector<Place> places;
  std::vector<size_t> placeOf;
  std::vector<Point> points;
  const std::vector<Graph::Node> &nodes = executable.graph->nodes;
  for (size_t i = 0; i < nodes.size(); ++i) {
    std::vector<Point> waits = begin;
    size_t place = places.size();
    for (size_t before : nodes[i].after) {
      waits.push_back(points[before]);
      if (places[placeOf[before]].last == before)
        place = placeOf[before];
    }
    if (place == places.size())
      places.push_back({Scheduler::get().open(&context, /*isDefault=*/false,
                                              /*isIndependent=*/true)});
    places[place].last = i;
    placeOf.push_back(place);
    points.push_back(nodes[i].enqueue(places[place].lane, std::move(waits)));
  }
  for (const Place &place : places)
    Scheduler::get().close(place.lane);
  executable.end =
      context.submit(lane, nullptr, CommandKind::OnDevice, std::move(points));
}

} // namespace lockstep::standin
