//===- ExchangeSteps.cpp - exchange of data between devices ---------------===//

#include "runtime/transport/device/ExchangeSteps.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace lockstep::runtime {

using artifact::CollectiveKind;

namespace {

/// Elements of a range.
struct Part {
  uint64_t first = 0, count = 0;
};

/// Beyond this many bytes of an operand, the executors of an all_reduce divide
/// the elements among them.
constexpr uint64_t smallBytes = 256 * 1024;

class StepPlanner {
public:
  StepPlanner(const CollectivePlan &plan, const Peers &peers,
              ChannelMembers &members, std::byte *scratch,
              ReducesElements reduces)
      : plan(plan), peers(peers), members(members), scratch(scratch),
        reduces(reduces) {}

  ExchangeSteps run() {
    if (plan.properties().isReduction)
      planReductions();
    else if (plan.properties().isMoved())
      planMoves();
    else
      planGathers();
    std::erase_if(result.steps, [](const ExchangeStep &step) {
      return step.packing.empty() && step.transfers.empty() &&
             step.libraryReductions.empty() && step.reductions.empty() &&
             step.copies.empty() && step.clears.empty();
    });
    return std::move(result);
  }

private:
  uint32_t peerCount() const { return uint32_t(peers.all.size()); }
  const Peer &own() const { return peers.all[peers.self]; }
  ExchangeStep &step(size_t index) {
    if (index >= result.steps.size())
      result.steps.resize(index + 1);
    return result.steps[index];
  }
  std::byte *const *basesOf(uint32_t position) const {
    return members.bases[position - plan.firstLocal];
  }

  std::byte *takeScratch(uint64_t bytes) {
    std::byte *taken = scratch + result.scratchBytes;
    result.scratchBytes += padded(bytes);
    return taken;
  }
  static uint64_t padded(uint64_t bytes) {
    return (bytes + scratchAlignment - 1) & ~(scratchAlignment - 1);
  }

  static void addSend(ExchangeStep &step, uint32_t peer, const std::byte *from,
                      uint64_t bytes) {
    if (bytes)
      step.transfers.push_back({peer, bytes, from, nullptr});
  }
  static void addReceive(ExchangeStep &step, uint32_t peer, std::byte *to,
                         uint64_t bytes) {
    if (bytes)
      step.transfers.push_back({peer, bytes, nullptr, to});
  }
  static void addCopy(ExchangeStep &step, std::byte *to, const std::byte *from,
                      uint64_t bytes) {
    if (bytes && to != from)
      step.copies.push_back({to, from, 1, bytes, bytes, bytes});
  }

  //===--------------------------------------------------------------------===//
  // Reductions
  //===--------------------------------------------------------------------===//

  // Step 0 reduces the operands of this executor, if that is possible; step 1
  // exchanges and reduces operands; step 2 exchanges results.

  uint32_t contributorsOf(const Peer &peer) const {
    uint32_t count = 0;
    for (uint32_t i = 0; i < peer.count; ++i)
      count += plan.contributes(peer.first + i);
    return count;
  }

  /// Whether each executor sends the result of its own members.
  bool sendsPartialResults(const ReduceRange &range) const {
    uint32_t count = contributorsOf(own());
    return count > 1 && std::has_single_bit(count) &&
           range.functions->elementSize == range.functions->accumulatorSize &&
           std::ranges::all_of(peers.all, [&](const Peer &peer) {
             return contributorsOf(peer) == count;
           });
  }

  /// What the members of this executor contribute to a range: their operands,
  /// or one partial result.
  struct Contributions {
    std::vector<const std::byte *> own;
    bool arePartial = false;
  };

  Contributions contributionsTo(const ReduceRange &range, uint64_t elements) {
    Contributions result;
    for (uint32_t i = own().first; i < own().first + own().count; ++i)
      if (plan.contributes(i))
        result.own.push_back(range.operand.in(basesOf(i)));
    result.arePartial = sendsPartialResults(range);
    if (!result.arePartial)
      return result;
    std::byte *partial = takeScratch(elements * range.functions->elementSize);
    step(0).reductions.push_back({range.element,
                                  /*keepsAccumulators=*/false,
                                  elements,
                                  result.own,
                                  {partial}});
    result.own = {partial};
    return result;
  }

  static void sendPart(ExchangeStep &step, const ReduceRange &range,
                       const Contributions &contributions, uint32_t peer,
                       Part part) {
    uint64_t size = range.functions->elementSize;
    for (const std::byte *operand : contributions.own)
      addSend(step, peer, operand + part.first * size, part.count * size);
  }

  /// Operands of all contributors, in the order of their ranks: own ones, and
  /// those that are received.
  std::vector<const std::byte *> gatherPart(ExchangeStep &step,
                                            const ReduceRange &range,
                                            const Contributions &contributions,
                                            Part part) {
    uint64_t size = range.functions->elementSize, bytes = part.count * size;
    std::vector<const std::byte *> operands;
    for (uint32_t peer = 0; peer < peerCount(); ++peer) {
      if (peer == peers.self) {
        for (const std::byte *operand : contributions.own)
          operands.push_back(operand + part.first * size);
        continue;
      }
      uint32_t count =
          contributions.arePartial ? 1 : contributorsOf(peers.all[peer]);
      for (uint32_t i = 0; i < count; ++i) {
        std::byte *to = takeScratch(bytes);
        addReceive(step, peer, to, bytes);
        operands.push_back(to);
      }
    }
    return operands;
  }

  void addReduction(ExchangeStep &step, const ReduceRange &range,
                    std::vector<const std::byte *> operands,
                    std::vector<std::byte *> results, Part part) {
    if (part.count == 0)
      return;
    for (std::byte *&result : results)
      result += part.first * range.resultSize;
    step.reductions.push_back(
        {range.element, range.resultSize == range.functions->accumulatorSize,
         part.count, std::move(operands), std::move(results)});
  }

  /// The distinct results of this executor's members.
  std::vector<std::byte *> resultsOf(const ReduceRange &range) const {
    std::vector<std::byte *> results;
    uint32_t count = plan.sharedResults ? 1 : own().count;
    for (uint32_t i = 0; i < count; ++i)
      results.push_back(range.result.in(basesOf(own().first + i)));
    return results;
  }

  void planReductions() {
    step(2);
    for (const ReduceRange &range : plan.ranges)
      if (plan.properties().shape == ShapeRule::slice)
        reduceScatter(range);
      else if (plan.properties().resultHolders == Holders::root)
        reduceToRoot(range);
      else
        reduceForAll(range);
  }

  /// Whether the library reduces what all executors contribute, which is the
  /// same decision in all of them: they have the same program, and so memories
  /// that overlap in the same manner.
  bool leavesToLibrary(const ReduceRange &range,
                       const Contributions &contributions,
                       bool isScattered) const {
    if (!reduces || range.elements == 0 ||
        range.resultSize != range.functions->elementSize ||
        !reduces(range.element, plan.reduction))
      return false;
    if (!std::ranges::all_of(peers.all, [&](const Peer &peer) {
          return isScattered
                     ? peer.count == 1
                     : contributions.arePartial || contributorsOf(peer) == 1;
        }))
      return false;
    const std::byte *operand = contributions.own.front(),
                    *result = resultsOf(range).front();
    uint64_t bytes = range.elements * range.resultSize,
             operandBytes = isScattered ? bytes * peerCount() : bytes;
    return (operand == result && !isScattered) ||
           operand + operandBytes <= result || result + bytes <= operand;
  }

  /// False: the executors reduce.
  bool reduceByLibrary(ExchangeStep &step, const ReduceRange &range,
                       const Contributions &contributions, bool isScattered) {
    if (!leavesToLibrary(range, contributions, isScattered))
      return false;
    std::vector<std::byte *> results = resultsOf(range);
    step.libraryReductions.push_back(
        {range.element, plan.reduction, isScattered, range.elements,
         contributions.own.front(), results.front()});
    for (size_t i = 1; i < results.size(); ++i)
      addCopy(step, results[i], results.front(),
              range.elements * range.resultSize);
    return true;
  }

  void reduceForAll(const ReduceRange &range) {
    Contributions contributions = contributionsTo(range, range.elements);
    if (reduceByLibrary(step(1), range, contributions,
                        /*isScattered=*/false))
      return;
    Part whole{0, range.elements};
    // Two executors exchange the same bytes in one transfer as in two.
    bool isSmall = peerCount() == 2 ||
                   range.elements * range.functions->elementSize <= smallBytes;
    auto partOf = [&](uint32_t peer) {
      // Aligned for accesses of 16 bytes.
      constexpr uint64_t unit = 64;
      auto cut = [&](uint32_t index) {
        return index == peerCount()
                   ? range.elements
                   : range.elements / unit * index / peerCount() * unit;
      };
      return Part{cut(peer), cut(peer + 1) - cut(peer)};
    };
    Part mine = isSmall ? whole : partOf(peers.self);
    for (uint32_t peer = 0; peer < peerCount(); ++peer)
      if (peer != peers.self)
        sendPart(step(1), range, contributions, peer,
                 isSmall ? whole : partOf(peer));
    std::vector<std::byte *> results = resultsOf(range);
    addReduction(step(1), range,
                 gatherPart(step(1), range, contributions, mine), results,
                 mine);
    if (isSmall)
      return;
    uint64_t size = range.resultSize;
    std::byte *first = results.front();
    for (uint32_t peer = 0; peer < peerCount(); ++peer) {
      if (peer == peers.self)
        continue;
      Part other = partOf(peer);
      addSend(step(2), peer, first + mine.first * size, mine.count * size);
      addReceive(step(2), peer, first + other.first * size, other.count * size);
      for (size_t i = 1; i < results.size(); ++i)
        addCopy(step(2), results[i] + other.first * size,
                first + other.first * size, other.count * size);
    }
  }

  void reduceScatter(const ReduceRange &range) {
    Contributions contributions =
        contributionsTo(range, range.elements * uint64_t(plan.members.size()));
    if (reduceByLibrary(step(1), range, contributions,
                        /*isScattered=*/true))
      return;
    auto sliceOf = [&](uint32_t position) {
      return Part{position * range.elements, range.elements};
    };
    for (uint32_t peer = 0; peer < peerCount(); ++peer)
      for (uint32_t i = 0; peer != peers.self && i < peers.all[peer].count; ++i)
        sendPart(step(1), range, contributions, peer,
                 sliceOf(peers.all[peer].first + i));
    for (uint32_t i = own().first; i < own().first + own().count; ++i)
      addReduction(step(1), range,
                   gatherPart(step(1), range, contributions, sliceOf(i)),
                   {range.result.in(basesOf(i))}, {0, range.elements});
  }

  void reduceToRoot(const ReduceRange &range) {
    Contributions contributions = contributionsTo(range, range.elements);
    Part whole{0, range.elements};
    uint32_t root = peers.of(plan.root);
    if (root != peers.self)
      return sendPart(step(1), range, contributions, root, whole);
    addReduction(step(1), range,
                 gatherPart(step(1), range, contributions, whole),
                 {range.result.in(basesOf(plan.root))}, whole);
  }

  //===--------------------------------------------------------------------===//
  // Gathers and broadcasts
  //===--------------------------------------------------------------------===//

  /// Records the copies of a collective in a step.
  class Recorder final : public CopySink {
  public:
    explicit Recorder(ExchangeStep &step) : step(step) {}
    void copy(const RowCopy &rows) override { step.copies.push_back(rows); }
    void clear(std::byte *to, uint64_t bytes) override {
      step.clears.push_back({to, bytes});
    }

  private:
    ExchangeStep &step;
  };

  /// Whether an executor sends operands to another one.
  bool sends(uint32_t from, uint32_t to) const {
    if (plan.kind == CollectiveKind::broadcast)
      return from == peers.of(plan.root);
    return plan.kind != CollectiveKind::gather || to == peers.of(plan.root);
  }

  void planGathers() {
    std::vector<const std::byte *> remote(
        plan.gathers.size() * plan.members.size(), nullptr);
    ExchangeStep &only = step(0);
    uint64_t arriving = 0;
    for (size_t g = 0; g < plan.gathers.size(); ++g)
      for (uint32_t member = 0; member < plan.members.size(); ++member) {
        const GatherOperand &gather = plan.gathers[g];
        bool isSource = plan.kind == CollectiveKind::broadcast
                            ? member == plan.root
                            : plan.contributes(member);
        if (!isSource)
          continue;
        uint64_t bytes = gather.operandBytes;
        uint32_t source = peers.of(member);
        if (source == peers.self) {
          for (uint32_t peer = 0; peer < peerCount(); ++peer)
            if (peer != peers.self && sends(peers.self, peer))
              addSend(only, peer, gather.operand.in(basesOf(member)), bytes);
        } else if (sends(source, peers.self)) {
          // Stands for where it is received, until the copies are known.
          std::byte *unplaced = scratch + arriving;
          arriving += padded(bytes);
          addReceive(only, source, unplaced, bytes);
          remote[g * plan.members.size() + member] = unplaced;
        }
      }
    Recorder recorder(only);
    CollectiveMemory memory{members.bases.data(), members.dimensions.data(),
                            remote.data()};
    for (int64_t tile = 0; tile < plan.tiles; ++tile)
      copyCollectiveTile(plan, memory, tile, recorder);
    placeReceives(only);
  }

  /// Receives bytes where they are copied to first, if they are contiguous
  /// there, else in scratch memory. Other copies of them read that place. No
  /// place in scratch memory is behind the address that stood for it, so that
  /// it is not taken for that of a later transfer.
  void placeReceives(ExchangeStep &step) {
    for (Transfer &transfer : step.transfers) {
      if (!transfer.receive)
        continue;
      std::byte *unplaced = transfer.receive;
      auto first = std::ranges::find(step.copies, unplaced, &RowCopy::from);
      if (first != step.copies.end() && isContiguous(*first) &&
          first->rows * first->rowBytes == transfer.bytes) {
        transfer.receive = first->to;
        step.copies.erase(first);
      } else {
        transfer.receive = takeScratch(transfer.bytes);
      }
      for (RowCopy &copy : step.copies)
        if (copy.from == unplaced)
          copy.from = transfer.receive;
    }
  }

  static bool isContiguous(const RowCopy &copy) {
    return copy.rows == 1 ||
           (copy.toStride == copy.rowBytes && copy.fromStride == copy.rowBytes);
  }

  //===--------------------------------------------------------------------===//
  // Moves
  //===--------------------------------------------------------------------===//

  void planMoves() {
    ExchangeStep &only = step(0);
    for (const Move &move : plan.sends) {
      const std::byte *from =
          plan.gathers[move.operand].operand.in(basesOf(move.source)) +
          move.from;
      if (move.rows > 1) {
        std::byte *packed = takeScratch(move.rows * move.rowBytes);
        only.packing.push_back({packed, from, move.rows, move.rowBytes,
                                move.rowBytes, move.stride});
        from = packed;
      }
      addSend(only, peers.of(move.target), from, move.rows * move.rowBytes);
    }
    Recorder recorder(only);
    CollectiveMemory memory{members.bases.data(), nullptr, nullptr};
    for (const Move &move : plan.moves) {
      if (move.source == Move::none || plan.isLocal(move.source)) {
        copyMove(plan, memory, move, recorder);
        continue;
      }
      std::byte *to =
          plan.gathers[move.operand].result.in(basesOf(move.target)) + move.to;
      uint64_t bytes = move.rows * move.rowBytes;
      std::byte *received = move.rows > 1 ? takeScratch(bytes) : to;
      addReceive(only, peers.of(move.source), received, bytes);
      if (move.rows > 1)
        only.copies.push_back({to, received, move.rows, move.rowBytes,
                               move.stride, move.rowBytes});
    }
  }

  const CollectivePlan &plan;
  const Peers &peers;
  ChannelMembers &members;
  std::byte *const scratch;
  const ReducesElements reduces;
  ExchangeSteps result;
};

} // namespace

bool canPlanExchange(const CollectivePlan &plan) {
  return plan.isOneRole && !plan.dynamic &&
         plan.kind != CollectiveKind::barrier &&
         plan.properties().shape != ShapeRule::rows;
}

ExchangeSteps planExchange(const CollectivePlan &plan, const Peers &peers,
                           ChannelMembers &members, std::byte *scratch,
                           ReducesElements reduces) {
  return StepPlanner(plan, peers, members, scratch, reduces).run();
}

} // namespace lockstep::runtime
