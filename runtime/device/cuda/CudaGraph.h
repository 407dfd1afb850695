//===- CudaGraph.h - commands of a GPU, recorded ----------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDAGRAPH_H
#define LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDAGRAPH_H

#include "runtime/device/Device.h"
#include "runtime/device/cuda/CudaContext.h"

#include <memory>
#include <string>
#include <vector>

namespace lockstep::runtime {

class CudaQueue;

/// A command of a queue that executes a kernel. A reduction has no name.
struct CudaLaunch {
  uint64_t command = 0;
  std::string kernel;
};

/// The commands of one queue that are recorded.
struct CudaRecording {
  CudaQueue *queue = nullptr;
  /// The number of commands before them, and of these.
  uint64_t before = 0, count = 0;
  std::vector<CudaLaunch> launches;
};

/// A graph of the driver, and what each queue has in it.
class CudaGraph final : public CommandGraph {
public:
  CudaGraph(std::shared_ptr<CudaContext> context,
            std::vector<std::shared_ptr<CudaRecording>> recordings)
      : context(std::move(context)), recordings(std::move(recordings)) {}
  ~CudaGraph() override;

  /// Takes what a stream has captured, which may be null. Error: of the driver.
  Status instantiate(CUgraph captured);

  const std::shared_ptr<CudaContext> context;
  const std::vector<std::shared_ptr<CudaRecording>> recordings;
  CUgraphExec executable = nullptr;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDAGRAPH_H
