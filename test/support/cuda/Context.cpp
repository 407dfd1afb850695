//===- Context.cpp - contexts, streams and events -------------------------===//

#include "Context.h"

#include "Capture.h"
#include "MemoryTable.h"

#include <algorithm>
#include <cstdio>

namespace lockstep::standin {

Driver &Driver::get() {
  // Never destroyed: commands may be executed until the process ends.
  static auto *driver = [] {
    auto *created = new Driver;
    for (int i = 0; i < DriverOptions::get().devices; ++i)
      created->contexts.push_back(std::make_unique<Context>(i));
    return created;
  }();
  return *driver;
}

Context *Driver::contextOf(CUcontext handle) {
  for (const std::unique_ptr<Context> &context : contexts)
    if (static_cast<void *>(context.get()) == handle)
      return context.get();
  return nullptr;
}

LoadedFunction *Driver::functionOf(CUfunction handle) {
  std::lock_guard lock(mutex);
  return functions.count(handle) ? reinterpret_cast<LoadedFunction *>(handle)
                                 : nullptr;
}

void Driver::addFunction(LoadedFunction *function) {
  std::lock_guard lock(mutex);
  functions.insert(function);
}

void Driver::removeFunctions(const LoadedModule *module) {
  std::lock_guard lock(mutex);
  std::erase_if(functions, [&](const void *function) {
    return static_cast<const LoadedFunction *>(function)->module == module;
  });
}

Context *&currentContext() {
  static thread_local Context *current = nullptr;
  return current;
}

bool &isInCallback() {
  static thread_local bool value = false;
  return value;
}

void Context::retain() {
  std::lock_guard lock(mutex);
  if (retained++ == 0)
    lane = Scheduler::get().open(this, /*isDefault=*/true,
                                 /*isIndependent=*/false);
}

bool Context::release() {
  std::lock_guard lock(mutex);
  if (retained == 0)
    return false;
  if (--retained == 0)
    reset();
  return true;
}

/// As by the driver, whose contexts destroy what they have.
void Context::reset() {
  Driver &driver = Driver::get();
  synchronize();
  driver.streams.removeAll(this);
  driver.events.removeAll(this);
  driver.modules.removeAll(this);
  driver.graphs.removeAll(this);
  driver.executableGraphs.removeAll(this);
  MemoryTable::get().freeAll(this);
  Scheduler::get().close(lane);
  lane = nullptr;
  stickyError = CUDA_SUCCESS;
  used = 0;
}

void Context::setError(CUresult error, const std::string &message) {
  CUresult expected = CUDA_SUCCESS;
  if (stickyError.compare_exchange_strong(expected, error))
    std::fprintf(stderr, "lockstep's CUDA stand-in: %s\n", message.c_str());
}

Point Context::submit(const std::shared_ptr<Lane> &lane,
                      std::function<CUresult()> work, CommandKind kind,
                      std::vector<Point> waits) {
  std::function<void()> checked;
  if (work)
    checked = [this, work = std::move(work)] {
      DriverOptions &options = DriverOptions::get();
      if (options.lost.happens())
        setError(CUDA_ERROR_LAUNCH_FAILED, "the device is lost, as asked for");
      if (options.ecc.happens())
        setError(CUDA_ERROR_ECC_UNCORRECTABLE,
                 "memory has failed, as asked for");
      if (stickyError != CUDA_SUCCESS)
        return;
      CUresult result = work();
      if (result != CUDA_SUCCESS)
        setError(result, "a command has failed");
    };
  // One owner, so that nobody else releases what it has.
  if (!isCaptured(*lane, waits))
    return Scheduler::get().enqueue(
        lane, {std::move(checked), std::move(waits), kind});
  return submit(
      lane,
      [kind, checked = std::move(checked)](const std::shared_ptr<Lane> &on,
                                           std::vector<Point> after) {
        return Scheduler::get().enqueue(on, {checked, std::move(after), kind});
      },
      std::move(waits));
}

Point Context::submit(const std::shared_ptr<Lane> &lane, const Enqueue &enqueue,
                      std::vector<Point> waits) {
  if (std::optional<Point> captured = captureCommand(lane, enqueue, waits))
    return *captured;
  return enqueue(lane, std::move(waits));
}

void Context::synchronize() { Scheduler::get().waitForGroup(this); }

bool Context::reserve(uint64_t bytes) {
  uint64_t before = used;
  do
    if (bytes > DriverOptions::get().memory ||
        before > DriverOptions::get().memory - bytes)
      return false;
  while (!used.compare_exchange_weak(before, before + bytes));
  return true;
}

} // namespace lockstep::standin
