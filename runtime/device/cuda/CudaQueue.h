//===- CudaQueue.h - commands of a GPU --------------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDAQUEUE_H
#define LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDAQUEUE_H

#include "runtime/device/Device.h"
#include "runtime/device/cuda/CudaEvent.h"
#include "runtime/device/cuda/CudaGraph.h"
#include "runtime/device/cuda/CudaModule.h"
#include "runtime/device/cuda/CudaReductions.h"
#include "runtime/device/cuda/CudaWatch.h"

#include <array>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace lockstep::runtime {

/// A stream. Each command is a call of the driver, except that a copy of rows
/// may be several, and a kernel is one or, by a library, several for each
/// phase.
///
/// After an error, commands have no effect, but records and waits still do, so
/// that memory of the host is not freed too early. When the GPU itself has
/// failed, records are complete at once.
///
/// An upload may wait until the stream has executed earlier commands, and a
/// download does, unless the memory of the host is page-locked.
class CudaQueue final : public Queue {
public:
  static Expected<std::unique_ptr<Queue>>
  create(std::shared_ptr<CudaContext> context,
         std::shared_ptr<CudaReductions> reductions,
         std::shared_ptr<CudaWatch> watch, QueueUse use = QueueUse::Kernels);
  /// Waits for the commands.
  ~CudaQueue() override;

  void launch(KernelHandle kernel, uint32_t grid,
              std::span<std::byte *const> buffers,
              std::span<const int64_t> scalars) override;
  void copy(const RowCopy &rows) override;
  void fill(std::byte *to, uint64_t bytes, uint32_t pattern) override;
  void reduce(const DeviceReduction &reduction) override;
  void search(const FiniteSearch &search) override;
  void upload(std::byte *to, const std::byte *from, uint64_t bytes) override;
  void download(std::byte *to, const std::byte *from, uint64_t bytes) override;
  Status call(const std::function<Status(void *)> &enqueue) override;
  void record(Event &event) override;
  void record(Timestamp &timestamp) override;
  void wait(const Event &event) override;
  Status finish() override;
  Status beginRecording(std::span<Queue *const> others) override;
  Expected<std::unique_ptr<CommandGraph>> endRecording() override;
  void execute(CommandGraph &graph) override;

  uint64_t enqueued() const override {
    return enqueuedCount.load(std::memory_order_acquire);
  }
  uint64_t progress() const override;
  Status status() const override;

  /// For `CudaWatch`: notes a failure of the GPU while the queue has commands
  /// to execute, and returns whether there is one; then completes all records
  /// of events.
  bool findFailure();
  void abandon();

private:
  CudaQueue(std::shared_ptr<CudaContext> context,
            std::shared_ptr<CudaReductions> reductions,
            std::shared_ptr<CudaWatch> watch, CudaStream stream);

  /// Enqueues a command by calls of the driver, unless an earlier one has
  /// failed. `describe` returns its name in errors.
  template <typename Describe, typename Calls>
  void enqueue(Describe describe, Calls calls);
  CUresult noteProgress();
  void startToRecord();
  std::shared_ptr<CudaRecording> takeRecording();
  void noteBegin();
  void startToExecute(std::shared_ptr<const CudaRecording> own, bool isFirst);
  void fail(CUresult result, const std::string &what);
  void fail(const Status &error);
  std::string firstLaunchAfter(uint64_t executed) const;

  /// Enqueues what a library computes. False: the library does not support it.
  Expected<bool> compute(CudaLibraryPhase &phase,
                         std::span<std::byte *const> buffers);
  CUresult failInLibrary(const Status &status);
  CUresult copyRows(const RowCopy &rows);
  CUresult fillBytes(CUdeviceptr to, uint64_t bytes, uint32_t pattern);
  CUresult launchReduction(const CudaReduction &kernels,
                           const DeviceReduction &reduction);
  /// As many blocks as the GPU holds at a time; more elements are a loop.
  uint32_t blocksFor(uint64_t elements) const;
  CUresult storeAddresses(const CudaReduction &kernels,
                          const DeviceReduction &reduction, CUdeviceptr &table);

  const std::shared_ptr<CudaContext> context;
  const DriverApi &api;
  const std::shared_ptr<CudaReductions> reductions;
  const std::shared_ptr<CudaWatch> watch;
  const CudaStream stream;
  std::unique_ptr<CudaCallbacks> callbacks = std::make_unique<CudaCallbacks>();

  /// Of the threads that enqueue commands.
  std::mutex mutex;
  std::atomic<uint64_t> enqueuedCount{0};
  /// The latest number that the stream will note as its progress.
  uint64_t noted = 0;
  /// The last commands that execute a kernel, for errors.
  void noteLaunch(std::string_view kernel);
  CUresult checkTransfer(const std::byte *host) const;
  static constexpr size_t launchesKept = 64;
  std::array<CudaLaunch, launchesKept> launches;
  /// The words of `CudaStream::progress`: how many commands have been executed
  /// of those that are enqueued one by one, and of the graph in execution.
  static constexpr size_t oneByOne = 0, inGraph = 1;
  /// Null while commands are executed.
  std::shared_ptr<CudaRecording> recording;
  /// The other queues of a recording that this one has begun.
  std::vector<Queue *> recordedWith;
  /// The part of the graph that was enqueued last, and the number of commands
  /// before it.
  std::shared_ptr<const CudaRecording> executing;
  std::atomic<uint64_t> executedFrom{0};
  /// Addresses of operands and results of a reduction with many of them. Larger
  /// ones replace smaller ones, which are freed with the queue.
  std::vector<CUdeviceptr> tables;
  uint64_t tableSize = 0;
  /// Working memory for libraries, the last one for new commands. Graphs may
  /// use the others, which are freed with the queue.
  std::vector<CUdeviceptr> workspaces;
  uint64_t workspaceBytes = 0;
  static constexpr uint64_t leastWorkspaceBytes =
      CudaProductLibrary::workspaceBytes;

  std::atomic<bool> isFailed{false};
  mutable std::mutex errorMutex;
  Status error;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DEVICE_CUDA_CUDAQUEUE_H
