//===- CudaGraph.cpp - queues record commands -----------------------------===//
//
// The driver captures what is enqueued on a stream, and on all others that wait
// for events of captured commands. So the other queues first wait for an event
// of the first one, which waits for an event at the end of each.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda/CudaGraph.h"

#include "runtime/device/cuda/CudaQueue.h"

#include <algorithm>

#include <fmt/format.h>

namespace lockstep::runtime {

CudaGraph::~CudaGraph() {
  if (!executable)
    return;
  context->enter();
  context->api.cuGraphExecDestroy(executable);
}

Status CudaGraph::instantiate(CUgraph captured) {
  if (!captured)
    return systemError("the driver has recorded no command");
  // Kernels have the priority of the streams that they were recorded on.
  CUresult result = context->api.cuGraphInstantiate(
      &executable, captured, CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY);
  context->api.cuGraphDestroy(captured);
  if (result != CUDA_SUCCESS)
    return systemError(fmt::format("a graph cannot be made for {}: {}",
                                   context->name(), context->api.text(result)));
  return Status::success();
}

void CudaQueue::startToRecord() {
  std::lock_guard<std::mutex> lock(mutex);
  recording = std::make_shared<CudaRecording>();
  recording->queue = this;
  recording->before = enqueuedCount.load(std::memory_order_relaxed);
}

std::shared_ptr<CudaRecording> CudaQueue::takeRecording() {
  std::lock_guard<std::mutex> lock(mutex);
  recording->count =
      enqueuedCount.load(std::memory_order_relaxed) - recording->before;
  enqueuedCount.store(recording->before, std::memory_order_release);
  noted = std::min(noted, recording->before);
  return std::move(recording);
}

Status CudaQueue::beginRecording(std::span<Queue *const> others) {
  context->enter();
  context->holdRelease();
  recordedWith.assign(others.begin(), others.end());
  startToRecord();
  for (Queue *other : others)
    static_cast<CudaQueue *>(other)->startToRecord();
  // Other threads may enqueue on other streams meanwhile, and allocate memory.
  CUresult result =
      api.cuStreamBeginCapture(stream.stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  if (result != CUDA_SUCCESS) {
    for (Queue *other : others)
      static_cast<CudaQueue *>(other)->takeRecording();
    takeRecording();
    context->allowRelease();
    return systemError(fmt::format("commands cannot be recorded on {}: {}",
                                   context->name(), api.text(result)));
  }
  CudaEvent begin(context, {});
  record(begin);
  for (Queue *other : others) {
    other->wait(begin);
    static_cast<CudaQueue *>(other)->noteBegin();
  }
  return Status::success();
}

/// So that the commands before the graph are known to have been executed.
void CudaQueue::noteBegin() {
  std::lock_guard<std::mutex> lock(mutex);
  if (CUresult result = noteProgress(); result != CUDA_SUCCESS)
    fail(result, "the beginning of a recording");
}

Expected<std::unique_ptr<CommandGraph>> CudaQueue::endRecording() {
  for (Queue *other : recordedWith) {
    CudaEvent end(context, {});
    other->record(end);
    wait(end);
  }
  context->enter();
  CUgraph captured = nullptr;
  CUresult result = api.cuStreamEndCapture(stream.stream, &captured);
  std::vector<std::shared_ptr<CudaRecording>> recordings;
  recordings.push_back(takeRecording());
  Status first = status();
  for (Queue *other : recordedWith) {
    recordings.push_back(static_cast<CudaQueue *>(other)->takeRecording());
    if (first.ok())
      first = other->status();
  }
  context->allowRelease();
  auto graph = std::make_unique<CudaGraph>(context, std::move(recordings));
  Status made = graph->instantiate(captured);
  if (!first.ok())
    return first;
  if (result != CUDA_SUCCESS)
    return systemError(fmt::format("commands cannot be recorded on {}: {}",
                                   context->name(), api.text(result)));
  if (!made.ok())
    return made;
  return std::unique_ptr<CommandGraph>(std::move(graph));
}

void CudaQueue::startToExecute(std::shared_ptr<const CudaRecording> own,
                               bool isFirst) {
  std::lock_guard<std::mutex> lock(mutex);
  std::atomic_ref<uint32_t>(stream.progress[inGraph]).store(0);
  // The device has executed all earlier commands, but for those that precede
  // the graph on its own stream.
  if (!isFirst) {
    std::atomic_ref<uint32_t>(stream.progress[oneByOne])
        .store(uint32_t(enqueuedCount.load(std::memory_order_relaxed)));
  } else if (!isFailed.load(std::memory_order_acquire)) {
    context->enter();
    if (CUresult result = noteProgress(); result != CUDA_SUCCESS)
      fail(result, "the commands before a graph");
  }
  executedFrom.store(enqueuedCount.load(std::memory_order_relaxed),
                     std::memory_order_release);
  enqueuedCount.fetch_add(own->count, std::memory_order_acq_rel);
  executing = std::move(own);
}

void CudaQueue::execute(CommandGraph &given) {
  auto &graph = static_cast<CudaGraph &>(given);
  for (const std::shared_ptr<CudaRecording> &part : graph.recordings)
    part->queue->startToExecute(part, part->queue == this);
  std::lock_guard<std::mutex> lock(mutex);
  if (isFailed.load(std::memory_order_acquire))
    return;
  context->enter();
  if (CUresult result = api.cuGraphLaunch(graph.executable, stream.stream);
      result != CUDA_SUCCESS)
    fail(result, "the launch of a graph");
}

} // namespace lockstep::runtime
