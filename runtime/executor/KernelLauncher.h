//===- KernelLauncher.h - executes launches of one replica ------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_KERNELLAUNCHER_H
#define LOCKSTEP_RUNTIME_EXECUTOR_KERNELLAUNCHER_H

#include "runtime/executor/DeviceSide.h"
#include "runtime/executor/Faults.h"

#include <type_traits>

namespace lockstep::runtime {

/// Launches kernels for one replica: on its device if that has queues
/// (`queued`), else on the calling worker, which shares the tiles of long
/// launches with others.
template <bool queued> class KernelLauncher {
public:
  using Device = std::conditional_t<queued, DeviceSide, NoDeviceSide>;

  KernelLauncher(const Execution &execution, Replica &replica, uint32_t worker,
                 Device &device)
      : execution(execution), program(execution.state.program),
        replica(replica), worker(worker), device(device) {}

  /// False: the run has been aborted, and other workers may still execute tiles
  /// of the launch.
  bool launch(const Instruction &instruction) {
    loadArguments(instruction);
    if constexpr (queued) {
      device.launch(instruction, instruction.a);
      return true;
    }
    void *const *pointers = replica.pointers.data();
    const int64_t *scalars = replica.scalars.data();
    KernelFunction function = functionOf(instruction.kernel);
    if (instruction.a == 1) {
      function(pointers, scalars, 0);
      return true;
    }
    return runTiles(instruction, [kernel = function, pointers,
                                  scalars](int64_t tile, uint32_t) {
      kernel(pointers, scalars, tile);
    });
  }

  /// A launch with an injected fault. Returns `proceed` if the replica
  /// continues. `error` is set if the outcome is `failed`.
  Outcome launchWith(Fault fault, const Instruction &instruction, uint32_t pc,
                     Status &error) {
    if (fault == Fault::nan) {
      if (!launch(instruction))
        return Outcome::stopped;
      if constexpr (queued)
        if (!device.await())
          return Outcome::stopped;
      error = writeNan(execution.state, pc, replica);
      return error.ok() ? proceed : Outcome::failed;
    }
    loadArguments(instruction);
    if constexpr (queued) {
      device.launch(instruction, instruction.a - 1);
      // No host thread executes the kernel.
      replica.beginTile(instruction.a - 1);
      return Outcome::left;
    }
    auto tile = [fault, &replica = replica, &instruction](int64_t number,
                                                          uint32_t) {
      if (number + 1 < instruction.a)
        functionOf(instruction.kernel)(replica.pointers.data(),
                                       replica.scalars.data(), number);
      else if (fault == Fault::hang)
        neverReturn();
    };
    if (!runTiles(instruction, tile))
      return Outcome::stopped;
    replica.beginTile(instruction.a - 1);
    return Outcome::left;
  }

private:
  /// Stores the arguments of a kernel in the replica.
  void loadArguments(const Instruction &instruction) {
    void **pointers = replica.pointers.data();
    std::byte *const *bases = replica.bases.data();
    const Address *addresses =
        program.addresses.data() + instruction.firstAddress;
    for (uint32_t i = 0; i < instruction.addressCount; ++i)
      pointers[i] = addresses[i].in(bases);
    int64_t *scalars = replica.scalars.data();
    for (uint32_t i = 0; i < instruction.scalarCount; ++i)
      scalars[i] =
          replica
              .registers[program.scalarRegisters[instruction.firstScalar + i]];
  }

  /// Calls `function` for each tile of a launch, shared with other workers if
  /// the launch is long enough. False as in `launch`.
  template <typename Function>
  bool runTiles(const Instruction &instruction, Function function) {
    if ((instruction.flags & Instruction::parallel) &&
        execution.hasOtherWorkers) {
      replica.tile.store(Replica::noTile, std::memory_order_relaxed);
      return execution.tiles
          .runTiles(worker, instruction.a, TileFunction(function))
          .ok();
    }
    for (uint32_t tile = 0; tile < instruction.a; ++tile) {
      replica.beginTile(tile);
      function(tile, worker);
    }
    return true;
  }

  const Execution &execution;
  const Program &program;
  Replica &replica;
  uint32_t worker;
  Device &device;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_KERNELLAUNCHER_H
