//===- Context.h - contexts, streams and events -----------------*- C++ -*-===//
//
// What the driver's handles stand for. A handle is the address of its object,
// and is valid while the object is in the table of its kind, so that handles of
// destroyed objects are refused.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_TEST_SUPPORT_CUDA_CONTEXT_H
#define LOCKSTEP_TEST_SUPPORT_CUDA_CONTEXT_H

// The library exports the driver's functions and nothing else.
#pragma GCC visibility push(default)
#include <cuda.h>
#pragma GCC visibility pop

#include "DriverOptions.h"
#include "ModuleImage.h"
#include "Scheduler.h"

#include <atomic>
#include <set>
#include <unordered_map>

namespace lockstep::standin {

class Context;
struct ExecutableGraph;
struct Graph;

/// Enqueues a command on a lane behind other points; returns that of its end.
using Enqueue = std::function<Point(const std::shared_ptr<Lane> &lane,
                                    std::vector<Point> waits)>;

struct Stream {
  Context *context = nullptr;
  std::shared_ptr<Lane> lane;
  unsigned flags = 0;
  int priority = 0;
};

struct Event {
  Context *context = nullptr;
  unsigned flags = 0;
  /// The last record.
  std::mutex mutex;
  Point point;
  /// When it was executed, in nanoseconds; shared with the command.
  std::shared_ptr<std::atomic<int64_t>> time =
      std::make_shared<std::atomic<int64_t>>(0);
};

struct LoadedModule;

struct LoadedFunction {
  LoadedModule *module = nullptr;
  std::shared_ptr<const Kernel> kernel;
  int maxDynamicShared = 0;
};

struct LoadedModule {
  Context *context = nullptr;
  std::unique_ptr<ModuleImage> module;
  /// By name; they live as long as the module.
  std::map<std::string, std::unique_ptr<LoadedFunction>, std::less<>> functions;
};

/// The objects of one kind that have handles.
template <typename Object> class Handles {
public:
  Object *add(std::unique_ptr<Object> object) {
    std::lock_guard lock(mutex);
    Object *handle = object.get();
    objects.emplace(handle, std::move(object));
    return handle;
  }
  Object *find(const void *handle) {
    std::lock_guard lock(mutex);
    auto found = objects.find(handle);
    return found == objects.end() ? nullptr : found->second.get();
  }
  std::unique_ptr<Object> remove(const void *handle) {
    std::lock_guard lock(mutex);
    auto found = objects.find(handle);
    if (found == objects.end())
      return nullptr;
    std::unique_ptr<Object> object = std::move(found->second);
    objects.erase(found);
    return object;
  }
  void removeAll(const Context *context) {
    std::vector<std::unique_ptr<Object>> removed;
    std::lock_guard lock(mutex);
    for (auto at = objects.begin(); at != objects.end();)
      if (at->second->context == context) {
        removed.push_back(std::move(at->second));
        at = objects.erase(at);
      } else {
        ++at;
      }
  }

private:
  std::mutex mutex;
  std::unordered_map<const void *, std::unique_ptr<Object>> objects;
};

/// The primary context of a device. Its address stays the same; what it has is
/// destroyed with the last release.
class Context {
public:
  explicit Context(int device) : deviceIndex(device) {}

  int device() const { return deviceIndex; }
  bool isActive() const { return retained > 0; }
  void retain();
  bool release();
  void reset();

  /// The error that has ended the context, if one has.
  CUresult error() const { return stickyError; }
  void setError(CUresult error, const std::string &message);

  const std::shared_ptr<Lane> &defaultLane() const { return lane; }
  /// Enqueues work that is not executed after an error, which it may cause.
  Point submit(const std::shared_ptr<Lane> &lane,
               std::function<CUresult()> work,
               CommandKind kind = CommandKind::OnDevice,
               std::vector<Point> waits = {});
  /// Enqueues what may be several commands, or captures it.
  Point submit(const std::shared_ptr<Lane> &lane, const Enqueue &enqueue,
               std::vector<Point> waits);
  void synchronize();

  /// Bytes that are allocated, which the limit counts.
  bool reserve(uint64_t bytes);
  void unreserve(uint64_t bytes) { used -= bytes; }
  uint64_t usedBytes() const { return used; }

private:
  int deviceIndex;
  std::mutex mutex;
  std::atomic<unsigned> retained{0};
  std::atomic<CUresult> stickyError{CUDA_SUCCESS};
  std::atomic<uint64_t> used{0};
  std::shared_ptr<Lane> lane;
};

/// What the process has.
struct Driver {
  static Driver &get();

  std::atomic<bool> isInitialized{false};
  std::vector<std::unique_ptr<Context>> contexts;
  Handles<Stream> streams;
  Handles<Event> events;
  Handles<LoadedModule> modules;
  Handles<Graph> graphs;
  Handles<ExecutableGraph> executableGraphs;

  Context *contextOf(CUcontext handle);
  LoadedFunction *functionOf(CUfunction handle);
  void addFunction(LoadedFunction *function);
  void removeFunctions(const LoadedModule *module);

private:
  std::mutex mutex;
  std::set<const void *> functions;
};

/// The context that is current to the calling thread.
Context *&currentContext();
/// The calling thread executes a callback, which must not call the driver.
bool &isInCallback();

} // namespace lockstep::standin

#endif // LOCKSTEP_TEST_SUPPORT_CUDA_CONTEXT_H
