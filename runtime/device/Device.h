//===- Device.h - interface of devices --------------------------*- C++ -*-===//
//
// The executor drives every device through this interface. There are two kinds:
//
// - A host device (`cpu`). Its memory is that of the host, its kernels are
//   functions that workers call, and it has no queues.
// - A device with queues (`simulated`). The host must not access its memory.
//   Commands of a queue execute asynchronously: in order within the queue, and
//   ordered between queues only by events. No call waits for the device, except
//   `Queue::finish`, and that the destructor of a queue may wait for its
//   commands.
//
//   auto device = *openDevice("simulated");
//   auto memory = *device->allocate(/*count=*/1, /*bytes=*/4096);
//   auto queue = *device->createQueue();
//   auto event = device->createEvent([] { ... });
//   queue->upload(memory->block(0), input, 4096);
//   queue->launch(kernel, grid, buffers, scalars);
//   queue->download(output, memory->block(0), 4096);
//   queue->record(*event); // `output` can be read once it is complete
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_DEVICE_DEVICE_H
#define LOCKSTEP_RUNTIME_DEVICE_DEVICE_H

#include "runtime/artifact/Artifact.h"
#include "runtime/device/FiniteSearch.h"
#include "runtime/support/RowCopy.h"
#include "runtime/support/Status.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace lockstep::runtime {

/// Executes one tile of a launch on a host device: a launch divides its work
/// into tiles that do not depend on each other. `buffers` are the addresses of
/// the launch's slices of memory, in its order, and `scalars` the values of its
/// registers.
using KernelFunction = void (*)(void *const *buffers, const int64_t *scalars,
                                int64_t tile);

/// The handle of a kernel: a `KernelFunction` on a host device, else specific
/// to the device. Valid as long as the module.
using KernelHandle = const void *;

inline KernelFunction functionOf(KernelHandle kernel) {
  return reinterpret_cast<KernelFunction>(const_cast<void *>(kernel));
}

/// The kernels of an artifact, loaded for a device.
class Module {
public:
  virtual ~Module() = default;
  /// Errors: the module does not define the kernel, or its code takes other
  /// arguments than the artifact's tables say.
  virtual Expected<KernelHandle>
  kernel(const artifact::Kernel &kernel) const = 0;
  /// Kernel target in use, for example "x86-64-v4".
  virtual const std::string &target() const = 0;
  /// Whether kernels were compiled with checks. One that fails records its
  /// text, and returns before the access, with incomplete results.
  virtual bool hasChecks() const = 0;
  /// Error: the text of the first check that has failed (out of range), or the
  /// device has failed. Only if there are checks; on a device with queues, of
  /// the commands that it has executed.
  virtual Status findFault() const = 0;
  /// What the device does in another manner than the artifact asks for, after
  /// runs; empty if nothing. From any thread.
  virtual std::string note() const { return ""; }
};

/// Blocks of one size, zeroed, aligned to at least 64 bytes. Freed on
/// destruction, when no queue may still use them.
class DeviceMemory {
public:
  virtual ~DeviceMemory() = default;
  /// The address of a block: base plus offset is an address in it. Null if
  /// blocks have 0 bytes.
  virtual std::byte *block(uint32_t index) const = 0;
};

/// Memory of the host, zeroed. Freed on destruction, when no queue may still
/// use it.
class HostMemory {
public:
  virtual ~HostMemory() = default;
  virtual std::byte *data() const = 0;
};

/// A point in the commands of a queue: that of the last record.
class Event {
public:
  virtual ~Event() = default;
  /// Whether the queue has reached this point; true if it was never recorded.
  virtual bool isComplete() const = 0;
};

/// The time at a point in the commands of a queue.
class Timestamp {
public:
  virtual ~Timestamp() = default;
  /// Seconds from the record of `earlier` to that of this one, on any queues of
  /// one device, which has executed both. Error: the device has failed, or has
  /// not executed one of them.
  virtual Expected<double> secondsSince(const Timestamp &earlier) const = 0;
};

/// result[i] = operands[0][i] + operands[1][i] + ... for i < `elements`, where
/// + is the reduction, in the order of a binary tree that depends on the number
/// of operands alone (ReduceTree.h). A result may be the same bytes as an
/// operand.
struct DeviceReduction {
  artifact::ElementType element{};
  artifact::Reduction reduction{};
  /// Results have the type of accumulators (f32 for f16 and bf16).
  bool keepsAccumulators = false;
  uint64_t elements = 0;
  std::span<const std::byte *const> operands;
  std::span<std::byte *const> results;
};

/// Commands of several queues that have been recorded, to be executed as a
/// whole and more than once. Destroyed before these queues; commands in
/// execution still end.
class CommandGraph {
public:
  virtual ~CommandGraph() = default;
};

/// What a queue mostly executes. A device that executes several queues at the
/// same time prefers those of exchanges, since other replicas wait for these.
enum class QueueUse { Kernels, Exchange };

/// A sequence of commands. Any thread may use a queue; commands that threads
/// add concurrently execute in some order. Spans are copied; host memory must
/// stay valid until an event recorded after the command is complete.
class Queue {
public:
  virtual ~Queue() = default;

  /// Executes all tiles of a kernel, [0, grid).
  virtual void launch(KernelHandle kernel, uint32_t grid,
                      std::span<std::byte *const> buffers,
                      std::span<const int64_t> scalars) = 0;
  virtual void copy(const RowCopy &rows) = 0;
  virtual void fill(std::byte *to, uint64_t bytes, uint32_t pattern) = 0;
  virtual void reduce(const DeviceReduction &reduction) = 0;
  virtual void search(const FiniteSearch &search) = 0;
  /// Copies from and to host memory.
  virtual void upload(std::byte *to, const std::byte *from, uint64_t bytes) = 0;
  virtual void download(std::byte *to, const std::byte *from,
                        uint64_t bytes) = 0;
  /// Adds a command that a library for this kind of device enqueues: calls
  /// `enqueue` with the device's own handle of the queue (`cuda`: a CUstream),
  /// while the device is current for the calling thread. Its error is also that
  /// of the queue. Not on devices without such a handle, which is an error.
  virtual Status call(const std::function<Status(void *)> &enqueue) {
    (void)enqueue;
    return unsupported("the device has no queues of a library");
  }
  virtual void record(Event &event) = 0;
  /// Notes the time when the device has executed all earlier commands. Not
  /// while commands are recorded.
  virtual void record(Timestamp &timestamp) = 0;
  /// Later commands execute after the record of the event that is the latest at
  /// this call.
  virtual void wait(const Event &event) = 0;
  /// The calling thread waits until all commands have been executed. Not while
  /// commands are recorded. Error: `status()`.
  virtual Status finish() = 0;

  /// Until `endRecording`, commands of this queue and of `others` are kept
  /// instead of executed; one thread adds them. They may wait for events that
  /// have been recorded since, and transfer from and to memory of
  /// `allocateHost`. Other memory of the host, and records of events with a
  /// callback, are errors of `endRecording`. Error: devices that do not record
  /// (`Device::canRecord`).
  virtual Status beginRecording(std::span<Queue *const> others) {
    (void)others;
    return unsupported("the device does not record commands");
  }
  /// All queues execute commands again, whether there is an error or not.
  /// Error: a command could not be recorded.
  virtual Expected<std::unique_ptr<CommandGraph>> endRecording() {
    return unsupported("the device does not record commands");
  }
  /// Executes what has been recorded with this queue as the first one: after
  /// the earlier commands of this queue, and before the later ones. For the
  /// other queues, the caller orders commands before and after it by events.
  /// Each queue counts its part among its own commands. Not while the device
  /// still executes the graph.
  virtual void execute(CommandGraph &graph) { (void)graph; }

  /// The numbers of commands that were enqueued, and that have been executed.
  /// From any thread.
  virtual uint64_t enqueued() const = 0;
  virtual uint64_t progress() const = 0;
  /// The first error of a command that has been executed. From any thread.
  virtual Status status() const = 0;
};

/// A device for people, and for the model of its speed.
struct DeviceInfo {
  /// For example "NVIDIA H200".
  std::string name;
  /// The cache that all kernels share; 0 if it is not known.
  uint64_t cacheBytes = 0;
  /// How many of the devices that were asked for are separate ones; 0: each
  /// executor of the process has one.
  uint32_t devices = 0;
};

class Device {
public:
  virtual ~Device() = default;

  /// The name for `openDevice`: "cpu", "simulated", ...
  virtual std::string_view kind() const = 0;
  virtual DeviceInfo info() const { return {.name = std::string(kind())}; }
  /// Whether it is a host device; if so, it has neither queues nor events.
  virtual bool isHost() const = 0;
  /// Whether queues record commands.
  virtual bool canRecord() const { return false; }
  /// For which of its targets `lockstep-compile` makes the best kernels for
  /// this device; empty: the compiler's default, for processors.
  virtual std::string compilerTarget() const { return ""; }
  /// Loads the kernels that an artifact has for this device. `target` selects
  /// among them; empty: the best ones. Errors: the artifact has no such
  /// kernels, they are damaged, or they are not for this machine. An artifact
  /// without kernels loads as an empty module.
  virtual Expected<std::unique_ptr<Module>>
  loadModule(const Artifact &artifact, std::string_view target) = 0;
  /// Error: out of memory of the device.
  virtual Expected<std::unique_ptr<DeviceMemory>> allocate(uint32_t count,
                                                           uint64_t bytes) = 0;
  /// From now on, `allocate` provides memory that other devices can access, so
  /// that a library need not copy what it transfers between devices. Such
  /// memory is allocated in larger units. No effect on a device that has none.
  virtual void allocateForExchange() {}
  /// All of the allocation that has this address, if other devices can access
  /// it; else empty.
  virtual std::span<std::byte> exchangeable(const std::byte *address) const {
    (void)address;
    return {};
  }
  /// Memory for transfers by which threads do not wait for earlier commands of
  /// the queue, as a GPU's driver makes them wait for those from and to other
  /// memory of the host. Error: out of memory.
  virtual Expected<std::unique_ptr<HostMemory>> allocateHost(uint64_t bytes);
  virtual Expected<std::unique_ptr<Queue>>
  createQueue(QueueUse use = QueueUse::Kernels) = 0;
  /// `onComplete`, which may be empty, is called on a thread of the device
  /// whenever the event has been recorded and is complete; it must not use the
  /// device.
  virtual std::unique_ptr<Event>
  createEvent(std::function<void()> onComplete) = 0;
  /// For the queues of this device, which outlives it. Error: host devices have
  /// no queues.
  virtual Expected<std::unique_ptr<Timestamp>> createTimestamp() {
    return unsupported("device '" + std::string(kind()) + "' has no queues");
  }
};

/// The device of this name. Empty: that of `LOCKSTEP_DEVICE` in the
/// environment, else `cpu`. A colon and options of the device may follow the
/// name, for example "simulated:7". Devices other than `cpu` are plugins
/// (runtime/support/Plugin.h) that export `lockstepOpenDevice`. Of several
/// devices of this kind, each `executor` of the process gets another one, if
/// the options do not choose one. Callers that have the same name open for the
/// same executor at the same time share the device. Errors: no such plugin, or
/// the device cannot be used on this machine.
Expected<std::shared_ptr<Device>> openDevice(std::string_view name,
                                             uint32_t executor = 0);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DEVICE_DEVICE_H
