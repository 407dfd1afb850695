//===- Capture.h - commands of streams as a graph ---------------*- C++ -*-===//
//
// What is enqueued on a stream that captures, and on those that wait for events
// recorded on it, becomes nodes of a graph. A launch of the graph enqueues its
// nodes on streams of its own, ordered by the waits alone.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_TEST_SUPPORT_CUDA_CAPTURE_H
#define LOCKSTEP_TEST_SUPPORT_CUDA_CAPTURE_H

#include "Context.h"

#include <optional>
#include <thread>

namespace lockstep::standin {

/// The commands of a graph, and the indices of those that come before.
struct Graph {
  struct Node {
    Enqueue enqueue;
    std::vector<size_t> after;
  };
  Context *context = nullptr;
  std::vector<Node> nodes;
};

/// A graph that can be launched. Its launches are executed one by one.
struct ExecutableGraph {
  Context *context = nullptr;
  std::shared_ptr<const Graph> graph;
  std::mutex mutex;
  Point end;
};

/// A capture until its end, or until an error.
struct Capture {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  /// The first one has begun it.
  std::vector<std::shared_ptr<Lane>> lanes;
  /// A graph must not be changed by several threads.
  std::thread::id thread = std::this_thread::get_id();
  bool isActive = true;
  bool isInvalid = false;
};

/// Whether a command becomes part of a capture: its lane captures, or begins to
/// with what it waits for.
bool isCaptured(const Lane &lane, const std::vector<Point> &waits);
/// Makes a command part of a capture, if its lane captures, or begins to with
/// what it waits for.
std::optional<Point> captureCommand(const std::shared_ptr<Lane> &lane,
                                    const Enqueue &enqueue,
                                    const std::vector<Point> &waits);
/// Whether a lane may wait for a point. An error invalidates the capture.
CUresult checkWait(const Lane &lane, const Point &point);
/// Whether the host may ask whether a point is complete, or the lane. An error
/// invalidates the capture.
CUresult checkQuery(const Point &point);
CUresult checkQuery(const Lane &lane);

CUresult beginCapture(Context &context, const std::shared_ptr<Lane> &lane);
/// Returns the graph in `graph`, null on an error.
CUresult endCapture(const std::shared_ptr<Lane> &lane,
                    std::shared_ptr<Graph> &graph);
/// Enqueues all commands of a graph.
void launchGraph(ExecutableGraph &executable,
                 const std::shared_ptr<Lane> &lane);

} // namespace lockstep::standin

#endif // LOCKSTEP_TEST_SUPPORT_CUDA_CAPTURE_H
