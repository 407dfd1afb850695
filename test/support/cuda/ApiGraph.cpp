//===- ApiGraph.cpp - captures and graphs ---------------------------------===//

#include "Api.h"
#include "Capture.h"

using namespace lockstep::standin;

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  return withStream(stream,
                    [&](Context &context, const auto &lane) -> CUresult {
                      // Other modes would forbid calls of other threads, which
                      // are not seen.
                      if (mode != CU_STREAM_CAPTURE_MODE_RELAXED)
                        return CUDA_ERROR_NOT_SUPPORTED;
                      if (lane == context.defaultLane())
                        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
                      return beginCapture(context, lane);
                    });
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *result) {
  return withStream(stream, [&](Context &, const auto &lane) -> CUresult {
    if (!result)
      return CUDA_ERROR_INVALID_VALUE;
    *result = nullptr;
    std::shared_ptr<Graph> graph;
    if (CUresult error = endCapture(lane, graph))
      return error;
    *result = reinterpret_cast<CUgraph>(
        Driver::get().graphs.add(std::make_unique<Graph>(*graph)));
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphDestroy(CUgraph graph) {
  return withContext([&](Context &) {
    return Driver::get().graphs.remove(graph) ? CUDA_SUCCESS
                                              : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *result, CUgraph handle,
                                     unsigned long long flags) {
  return withContext([&](Context &context) -> CUresult {
    Graph *graph = Driver::get().graphs.find(handle);
    if (!graph || graph->context != &context)
      return CUDA_ERROR_INVALID_HANDLE;
    constexpr unsigned long long known =
        CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
    if (!result || (flags & ~known))
      return CUDA_ERROR_INVALID_VALUE;
    if (DriverOptions::get().graph.happens())
      return CUDA_ERROR_OUT_OF_MEMORY;
    auto executable = std::make_unique<ExecutableGraph>();
    executable->context = &context;
    executable->graph = std::make_shared<Graph>(*graph);
    *result = reinterpret_cast<CUgraphExec>(
        Driver::get().executableGraphs.add(std::move(executable)));
    return CUDA_SUCCESS;
  });
}

/// Also after an error of the context, which it returns.
CUresult cuGraphExecDestroy(CUgraphExec graph) {
  return withDriver([&]() -> CUresult {
    std::unique_ptr<ExecutableGraph> removed =
        Driver::get().executableGraphs.remove(graph);
    return removed ? removed->context->error() : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream) {
  return withStream(
      stream, [&](Context &context, const auto &lane) -> CUresult {
        ExecutableGraph *graph = Driver::get().executableGraphs.find(handle);
        if (!graph || graph->context != &context)
          return CUDA_ERROR_INVALID_HANDLE;
        // A graph within a graph.
        if (lane->capture)
          return CUDA_ERROR_NOT_SUPPORTED;
        launchGraph(*graph, lane);
        return CUDA_SUCCESS;
      });
}
