//===- Block.h - the threads of a block -------------------------*- C++ -*-===//
//
// Executes blocks one after another on the thread of the host that calls it.
// Threads of kernels with barriers are fibers, which are continued in a random
// order; where no thread can continue, they wait at different barriers, and
// that is an error of the kernel. Threads of other kernels run to their end,
// one by one.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_TEST_SUPPORT_CUDA_BLOCK_H
#define LOCKSTEP_TEST_SUPPORT_CUDA_BLOCK_H

#include "Fiber.h"
#include "Kernel.h"

namespace lockstep::standin {

class Block {
public:
  explicit Block(const Launch &launch);

  /// Executes the block of this number. False after a fault.
  bool run(uint64_t index);
  const Fault &fault() const { return foundFault; }

  //===--------------------------------------------------------------------===//
  // Called by compiled code
  //===--------------------------------------------------------------------===//

  uint32_t barrier(Thread &thread, uint32_t id, uint32_t count,
                   BarrierOperation operation, uint32_t value);
  uint64_t warp(Thread &thread, WarpOperation operation, uint32_t mask,
                uint64_t value, uint32_t b, uint32_t c);
  uint32_t activeMask(const Thread &thread) const;
  [[noreturn]] void exitThread();
  /// Calls a function of the host with the memory of the device at an address,
  /// or null.
  void callHost(const Thread &thread, uint64_t function, uint64_t address);
  /// Ends the kernel.
  [[noreturn]] void fail(const Thread &thread, FaultKind kind,
                         const std::string &what);
  /// The host's address of an access that compiled code did not find right.
  uint64_t resolve(Thread &thread, uint64_t address, uint32_t bytes,
                   uint32_t site, AccessSpace space);

private:
  enum class State { Ready, AtBarrier, InWarp, Exited };

  /// A thread of a kernel with barriers, and what it waits for.
  struct ThreadState {
    Thread thread;
    State state = State::Ready;
    uint32_t barrier = 0;
    WarpOperation operation = WarpOperation::Synchronize;
    uint32_t mask = 0, b = 0, c = 0;
    uint64_t value = 0, result = 0;
  };

  /// The threads that have arrived at a barrier.
  struct BarrierState {
    uint32_t arrived = 0, count = 0, votes = 0;
    BarrierOperation operation = BarrierOperation::None;
    /// Of all threads of the block, without a number in the instruction.
    bool isOfAll = false;
  };

  /// A number below the bound: an xorshift generator (Marsaglia, 2003), since
  /// each wait draws one.
  uint32_t draw(uint32_t bound) {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    return uint32_t((random >> 32) * bound >> 32);
  }
  void initialize(Thread &thread, uint32_t linearIndex,
                  const uint32_t (&blockIndex)[3]);
  void runSeparately(const uint32_t (&blockIndex)[3]);
  void runTogether(const uint32_t (&blockIndex)[3]);
  void enter(Fiber &fiber);
  void suspend(ThreadState &state);
  void makeReady(uint32_t index);
  /// GPUs from compute capability 7.0 on do not wait for threads that have
  /// exited at a barrier of all. Here, only kernels with checks may rely on it:
  /// other threads are expected at each barrier.
  bool isReached(const BarrierState &barrier) const;
  void finishBarrier(uint32_t id);
  void finishWarp(uint32_t first, uint32_t lane);
  /// The operation's result for each lane.
  void computeWarp(uint32_t firstLane, WarpOperation operation,
                   uint32_t active);
  void multiplyMatrices(uint32_t firstLane, WarpOperation operation,
                        uint32_t active);
  uint64_t reduceWarp(uint32_t firstLane, WarpOperation operation,
                      uint32_t active) const;
  uint64_t shuffleResult(uint32_t firstLane, uint32_t lane,
                         uint32_t active) const;
  std::string describeWaits() const;
  std::string nameOf(const Thread &thread) const;
  static void fiberMain();

  const Launch &launch;
  const KernelCode &code;
  KernelFunction function;
  uint32_t threadCount;
  uint64_t random;
  Fault foundFault;
  std::vector<std::byte> shared, local;
  std::vector<AccessSite> sites;
  std::vector<ThreadState> threads;
  std::vector<uint32_t> ready;
  uint32_t exited = 0;
  static constexpr uint32_t barrierCount = 16;
  BarrierState barriers[barrierCount];
  /// One for each thread, or one that executes all.
  std::vector<Fiber> fibers;
  /// Where `run` was left, and the fiber that it entered.
  void *caller = nullptr;
  uint32_t current = 0;
  /// The call for which a fiber has been left: the host's code has the stack of
  /// its thread.
  struct HostCall {
    void (*function)(void *) = nullptr;
    void *memory = nullptr;
  };
  HostCall hostCall;
  uint32_t blockIndexNow[3] = {0, 0, 0};
};

} // namespace lockstep::standin

#endif // LOCKSTEP_TEST_SUPPORT_CUDA_BLOCK_H
