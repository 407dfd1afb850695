//===- ExchangeSteps.h - exchange of data between devices -------*- C++ -*-===//
//
// What one executor does on a queue of its device for a collective of several
// executors whose devices reach each other's memory. All sizes are static, so
// that the steps are planned when the program is loaded.
//
// Reductions have the bits of one executor, since operands are sent as they
// are, and are reduced in the order of ReduceTree.h. For E executors:
//
//   all_reduce, small   each one gets all operands, and reduces them
//   all_reduce, large   each one gets 1/E of the elements of all operands,
//                       reduces them, and sends the result to the others
//   reduce_scatter      each one gets the slices of its members
//   reduce              the one of the root gets all operands
//
// If all executors have the same power of two of members, each of them has a
// complete subtree of the reduction, and sends its result in place of the
// operands. Results of other collectives are received in place, where their
// bytes are contiguous.
//
// On request, the library that transfers also reduces: where each executor has
// one operand, or one partial result, in the library's own order.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_TRANSPORT_DEVICE_EXCHANGESTEPS_H
#define LOCKSTEP_RUNTIME_TRANSPORT_DEVICE_EXCHANGESTEPS_H

#include "runtime/device/Device.h"
#include "runtime/transport/Peers.h"
#include "runtime/transport/threads/ThreadsTransport.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep::runtime {

/// Bytes to or from another executor: one of `send` and `receive` is null.
/// Those between two executors are in the same order in both.
struct Transfer {
  /// Index in `Peers::all`.
  uint32_t peer = 0;
  uint64_t bytes = 0;
  const std::byte *send = nullptr;
  std::byte *receive = nullptr;
};

/// Operands and results of a `DeviceReduction`.
struct StepReduction {
  artifact::ElementType element{};
  bool keepsAccumulators = false;
  uint64_t elements = 0;
  std::vector<const std::byte *> operands;
  std::vector<std::byte *> results;
};

/// A reduction of one operand of each executor by the library that transfers.
struct LibraryReduction {
  artifact::ElementType element{};
  artifact::Reduction reduction{};
  /// Each executor gets a part of the result: that of its index in
  /// `Peers::all`.
  bool isScattered = false;
  /// Of the result of one executor.
  uint64_t elements = 0;
  /// The same memory if it is reduced in place, or disjoint.
  const std::byte *operand = nullptr;
  std::byte *result = nullptr;
};

/// Its fields are executed in this order.
struct ExchangeStep {
  struct Clear {
    std::byte *to = nullptr;
    uint64_t bytes = 0;
  };
  /// Copies of rows to where they are contiguous, to be sent.
  std::vector<RowCopy> packing;
  /// All in progress at the same time.
  std::vector<Transfer> transfers;
  std::vector<LibraryReduction> libraryReductions;
  std::vector<StepReduction> reductions;
  std::vector<RowCopy> copies;
  /// Results without a source, which are set to 0.
  std::vector<Clear> clears;
};

/// Steps that execute one after the other.
struct ExchangeSteps {
  std::vector<ExchangeStep> steps;
  /// What they use of the scratch memory.
  uint64_t scratchBytes = 0;
};

/// The alignment of scratch memory.
inline constexpr uint64_t scratchAlignment = 256;

/// Whether `planExchange` can plan a collective of several executors: all of
/// them have the same program, and sizes are static. Barriers are not, since
/// they are for the host.
bool canPlanExchange(const CollectivePlan &plan);

/// Whether the library that transfers also reduces elements of a type.
using ReducesElements = bool (*)(artifact::ElementType, artifact::Reduction);

/// Plans the steps of the executor `peers.self`. `members` has the addresses of
/// its members' memories. `scratch`, aligned to `scratchAlignment`, is only
/// used to compute addresses, so that a first call may find out how many bytes
/// are needed. `reduces` is the same for all executors; null: the library
/// reduces nothing.
ExchangeSteps planExchange(const CollectivePlan &plan, const Peers &peers,
                           ChannelMembers &members, std::byte *scratch,
                           ReducesElements reduces = nullptr);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_TRANSPORT_DEVICE_EXCHANGESTEPS_H
