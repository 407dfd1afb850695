//===- Block.cpp - the threads of a block ---------------------------------===//

#include "Block.h"

#include "MemoryTable.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace lockstep::standin {

/// The block that this thread of the host executes.
static thread_local Block *currentBlock = nullptr;

/// Fibers of blocks before, whose memory is kept.
static thread_local std::vector<Fiber> spareFibers;

Block::Block(const Launch &launch)
    : launch(launch), code(launch.kernel->code()),
      function(launch.kernel->function()),
      threadCount(launch.block[0] * launch.block[1] * launch.block[2]),
      random(launch.seed | 1) {
  // Aligned for every vector, with room to align the begin.
  shared.resize(code.sharedBytes + launch.dynamicSharedBytes + 128);
  uint32_t frames = code.hasBarriers ? threadCount : 1;
  local.resize(size_t(code.localBytes) * frames + 128);
  sites.resize(code.sites);
  if (code.hasBarriers)
    threads.resize(threadCount);
}

static std::byte *aligned(std::byte *memory) {
  constexpr uintptr_t alignment = 128;
  auto address = reinterpret_cast<uintptr_t>(memory);
  return memory + (-address & (alignment - 1));
}

void Block::initialize(Thread &thread, uint32_t linearIndex,
                       const uint32_t (&blockIndex)[3]) {
  const uint32_t (&size)[3] = launch.block;
  thread.threadIndex[0] = linearIndex % size[0];
  thread.threadIndex[1] = linearIndex / size[0] % size[1];
  thread.threadIndex[2] = linearIndex / size[0] / size[1];
  thread.linearIndex = linearIndex;
  for (unsigned i = 0; i < 3; ++i) {
    thread.blockDim[i] = size[i];
    thread.gridDim[i] = launch.grid[i];
    thread.blockIndex[i] = blockIndex[i];
  }
  thread.sharedBytes = uint32_t(code.sharedBytes) + launch.dynamicSharedBytes;
  thread.localBytes = uint32_t(code.localBytes);
  thread.paramBytes = uint32_t(launch.arguments.size());
  thread.shared = aligned(shared.data());
  thread.local = aligned(local.data()) +
                 (code.hasBarriers ? size_t(linearIndex) * code.localBytes : 0);
  thread.params = const_cast<std::byte *>(launch.arguments.data());
  thread.sites = sites.data();
  thread.block = this;
}

bool Block::run(uint64_t index) {
  uint32_t blockIndex[3] = {uint32_t(index % launch.grid[0]),
                            uint32_t(index / launch.grid[0] % launch.grid[1]),
                            uint32_t(index / launch.grid[0] / launch.grid[1])};
  std::copy_n(blockIndex, 3, blockIndexNow);
  fillPattern(aligned(shared.data()),
              code.sharedBytes + launch.dynamicSharedBytes, freshShared);
  currentBlock = this;
  uint32_t count = code.hasBarriers ? threadCount : 1;
  while (spareFibers.size() < count)
    spareFibers.emplace_back();
  fibers.swap(spareFibers);
  if (code.hasBarriers)
    runTogether(blockIndex);
  else
    runSeparately(blockIndex);
  fibers.swap(spareFibers);
  currentBlock = nullptr;
  return foundFault.kind == FaultKind::None;
}

/// What a fiber executes: its thread, or all threads of the block.
void Block::fiberMain() {
  Block &block = *currentBlock;
  if (block.code.hasBarriers) {
    block.function(&block.threads[block.current].thread, 1, 0);
    block.exitThread();
  }
  Thread thread;
  block.initialize(thread, 0, block.blockIndexNow);
  // Forward or backward, without divisions.
  const uint32_t (&size)[3] = block.launch.block;
  bool isReversed = block.draw(2);
  auto place = [&](uint32_t i, unsigned axis) {
    return isReversed ? size[axis] - 1 - i : i;
  };
  for (uint32_t z = 0; z < size[2]; ++z) {
    thread.threadIndex[2] = place(z, 2);
    for (uint32_t y = 0; y < size[1]; ++y) {
      thread.threadIndex[1] = place(y, 1);
      uint32_t row =
          (thread.threadIndex[2] * size[1] + thread.threadIndex[1]) * size[0];
      thread.threadIndex[0] = place(0, 0);
      thread.linearIndex = row + thread.threadIndex[0];
      block.function(&thread, size[0], isReversed ? ~uint32_t(0) : 1);
    }
  }
  block.fibers[0].leave(block.caller);
  __builtin_unreachable();
}

void Block::runSeparately(const uint32_t (&)[3]) {
  fibers[0].start(&fiberMain);
  enter(fibers[0]);
}

/// Until the fiber has ended, or waits for other threads.
void Block::enter(Fiber &fiber) {
  fiber.enter(caller);
  while (hostCall.function) {
    HostCall call = std::exchange(hostCall, {});
    call.function(call.memory);
    fiber.enter(caller);
  }
}

void Block::runTogether(const uint32_t (&blockIndex)[3]) {
  ready.clear();
  exited = 0;
  std::fill(std::begin(barriers), std::end(barriers), BarrierState());
  for (uint32_t i = 0; i < threadCount; ++i) {
    threads[i] = ThreadState();
    initialize(threads[i].thread, i, blockIndex);
    fibers[i].start(&fiberMain);
    ready.push_back(i);
  }
  while (!ready.empty()) {
    std::swap(ready[draw(uint32_t(ready.size()))], ready.back());
    current = ready.back();
    ready.pop_back();
    enter(fibers[current]);
    if (foundFault.kind != FaultKind::None)
      return;
  }
  if (exited != threadCount)
    foundFault = {FaultKind::LaunchFailed,
                  fmt::format("kernel '{}', block ({}, {}, {}): threads wait "
                              "forever: {}",
                              code.name, blockIndex[0], blockIndex[1],
                              blockIndex[2], describeWaits())};
}

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

void Block::suspend(ThreadState &state) {
  fibers[state.thread.linearIndex].leave(caller);
}

void Block::makeReady(uint32_t index) {
  threads[index].state = State::Ready;
  ready.push_back(index);
}

void Block::exitThread() {
  ThreadState &state = threads[current];
  state.state = State::Exited;
  ++exited;
  // Operations of a warp do not wait for threads that have exited.
  uint32_t first = current / warpSize * warpSize;
  for (uint32_t lane = 0; lane < warpSize && first + lane < threadCount; ++lane)
    if (threads[first + lane].state == State::InWarp)
      finishWarp(first, lane);
  for (uint32_t id = 0; id < barrierCount; ++id)
    if (isReached(barriers[id]))
      finishBarrier(id);
  suspend(state);
  __builtin_unreachable();
}

bool Block::isReached(const BarrierState &barrier) const {
  uint32_t absent = barrier.isOfAll && code.hasChecks ? exited : 0;
  return barrier.arrived > 0 && barrier.arrived + absent == barrier.count;
}

uint32_t Block::barrier(Thread &thread, uint32_t id, uint32_t count,
                        BarrierOperation operation, uint32_t value) {
  if (id >= barrierCount)
    fail(thread, FaultKind::LaunchFailed,
         fmt::format("barrier {} does not exist", id));
  if (count % warpSize || count > threadCount + warpSize - 1)
    fail(thread, FaultKind::LaunchFailed,
         fmt::format("barrier {} cannot have {} threads", id, count));
  bool isOfAll = count == 0;
  count = std::min(isOfAll ? threadCount : count, threadCount);
  BarrierState &barrier = barriers[id];
  if (!barrier.arrived)
    barrier = {0, count, 0, operation, isOfAll};
  else if (barrier.count != count || barrier.operation != operation)
    fail(thread, FaultKind::LaunchFailed,
         fmt::format("threads disagree about barrier {}", id));
  ++barrier.arrived;
  barrier.votes += value != 0;
  ThreadState &state = threads[thread.linearIndex];
  state.state = State::AtBarrier;
  state.barrier = id;
  if (isReached(barrier))
    finishBarrier(id);
  suspend(state);
  return uint32_t(state.result);
}

/// Continues the threads, all of which have arrived.
void Block::finishBarrier(uint32_t id) {
  BarrierState &barrier = barriers[id];
  uint32_t result = barrier.operation == BarrierOperation::Count ? barrier.votes
                    : barrier.operation == BarrierOperation::And
                        ? barrier.votes == barrier.arrived
                        : barrier.votes != 0;
  barrier.arrived = 0;
  for (uint32_t i = 0; i < threadCount; ++i)
    if (threads[i].state == State::AtBarrier && threads[i].barrier == id) {
      threads[i].result = result;
      makeReady(i);
    }
}

std::string Block::describeWaits() const {
  // One thread for each kind of wait.
  std::map<std::string, uint32_t> waits;
  for (uint32_t i = threadCount; i-- > 0;) {
    const ThreadState &state = threads[i];
    if (state.state == State::Exited)
      waits["has exited"] = i;
    else if (state.state == State::AtBarrier)
      waits[fmt::format("is at barrier {}", state.barrier)] = i;
    else
      waits[fmt::format("waits for lanes {:#x} of its warp", state.mask)] = i;
  }
  std::string text;
  for (const auto &[wait, index] : waits)
    text +=
        fmt::format("{}thread {} {}", text.empty() ? "" : ", ", index, wait);
  return text;
}

//===----------------------------------------------------------------------===//
// Calls of the host
//===----------------------------------------------------------------------===//

void Block::callHost(const Thread &thread, uint64_t function,
                     uint64_t address) {
  std::byte *memory = nullptr;
  if (address) {
    std::optional<Allocation> found = MemoryTable::get().find(address, 1);
    if (!found || found->context != launch.context)
      fail(thread, FaultKind::IllegalAddress,
           fmt::format("the call of the host with the address {:#x}, which is "
                       "outside of every allocation: {}",
                       address, MemoryTable::get().describe(address)));
    memory = MemoryTable::host(address);
  }
  hostCall = {reinterpret_cast<void (*)(void *)>(function), memory};
  fibers[code.hasBarriers ? current : 0].leave(caller);
}

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

std::string Block::nameOf(const Thread &thread) const {
  return fmt::format("kernel '{}', block ({}, {}, {}), thread ({}, {}, {})",
                     code.name, thread.blockIndex[0], thread.blockIndex[1],
                     thread.blockIndex[2], thread.threadIndex[0],
                     thread.threadIndex[1], thread.threadIndex[2]);
}

void Block::fail(const Thread &thread, FaultKind kind,
                 const std::string &what) {
  foundFault = {kind, nameOf(thread) + ": " + what};
  // The fiber is never continued.
  fibers[code.hasBarriers ? current : 0].leave(caller);
  __builtin_unreachable();
}

uint64_t Block::resolve(Thread &thread, uint64_t address, uint32_t bytes,
                        uint32_t site, AccessSpace space) {
  static constexpr std::string_view names[] = {"global", "generic", "shared",
                                               "local", "parameter"};
  std::string_view name = names[uint32_t(space)];
  if (address % bytes)
    fail(thread, FaultKind::MisalignedAddress,
         fmt::format("the access to {} bytes of {} memory at {:#x} is "
                     "misaligned",
                     bytes, name, address));
  auto within = [&](uint64_t window, std::byte *memory,
                    uint64_t size) -> uint64_t {
    uint64_t offset = address - window;
    if (offset > size || size - offset < bytes)
      return 0;
    return reinterpret_cast<uint64_t>(memory + offset);
  };
  if (space == AccessSpace::Generic && !(address & addressBias)) {
    uint64_t found = 0;
    if (address & sharedWindow)
      found =
          within(sharedWindow + sharedStart, thread.shared, thread.sharedBytes);
    else if (address & localWindow)
      found = within(localWindow, thread.local, thread.localBytes);
    else if (address & paramWindow)
      found = within(paramWindow, thread.params, thread.paramBytes);
    if (found)
      return found;
  }
  if (space == AccessSpace::Global || space == AccessSpace::Generic) {
    std::optional<Allocation> found = MemoryTable::get().find(address, bytes);
    if (found && found->context == launch.context) {
      thread.sites[site] = {found->base, found->bytes - bytes};
      return address - addressBias;
    }
    fail(thread, FaultKind::IllegalAddress,
         fmt::format("the access to {} bytes of {} memory at {:#x} is outside "
                     "of every allocation: {}",
                     bytes, name, address,
                     MemoryTable::get().describe(address)));
  }
  fail(thread, FaultKind::IllegalAddress,
       fmt::format("the access to {} bytes of {} memory at {:#x} is outside of "
                   "its {} bytes",
                   bytes, name, address,
                   space == AccessSpace::Shared  ? thread.sharedBytes
                   : space == AccessSpace::Local ? thread.localBytes
                                                 : thread.paramBytes));
}

//===----------------------------------------------------------------------===//
// Functions of the runtime
//===----------------------------------------------------------------------===//

extern "C" {

static uint64_t standin_resolve(Thread *thread, uint64_t address,
                                uint32_t bytes, uint32_t site, uint32_t space) {
  return thread->block->resolve(*thread, address, bytes, site,
                                AccessSpace(space));
}

static void standin_trap(Thread *thread) {
  thread->block->fail(*thread, FaultKind::LaunchFailed, "trap");
}

static void standin_assert(Thread *thread) {
  thread->block->fail(*thread, FaultKind::Assert, "an assertion has failed");
}

static void standin_exit(Thread *thread) { thread->block->exitThread(); }

static void standin_call_host(Thread *thread, uint64_t function,
                              uint64_t address) {
  thread->block->callHost(*thread, function, address);
}

static uint32_t standin_barrier(Thread *thread, uint32_t id, uint32_t count,
                                uint32_t operation, uint32_t value) {
  return thread->block->barrier(*thread, id, count, BarrierOperation(operation),
                                value);
}

static uint64_t standin_warp(Thread *thread, uint32_t operation, uint32_t mask,
                             uint64_t value, uint32_t b, uint32_t c) {
  return thread->block->warp(*thread, WarpOperation(operation), mask, value, b,
                             c);
}

static uint32_t standin_active_mask(Thread *thread) {
  return thread->block->activeMask(*thread);
}

} // extern "C"

std::span<const RuntimeFunction> runtimeFunctions() {
#define FUNCTION(name)                                                         \
  {                                                                            \
    #name, reinterpret_cast<void *>(&name)                                     \
  }
  static const RuntimeFunction functions[] = {
      FUNCTION(standin_resolve),   FUNCTION(standin_trap),
      FUNCTION(standin_assert),    FUNCTION(standin_exit),
      FUNCTION(standin_call_host), FUNCTION(standin_barrier),
      FUNCTION(standin_warp),      FUNCTION(standin_active_mask)};
#undef FUNCTION
  return functions;
}

} // namespace lockstep::standin
