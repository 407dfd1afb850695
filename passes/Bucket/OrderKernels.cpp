//===- OrderKernels.cpp - The kernels that the link waits for first -------===//

#include "dialect/Collective/CollectiveDialect.h"
#include "dialect/Device/DeviceDialect.h"
#include "dialect/Replica/ReplicaDialect.h"
#include "passes/Analysis/BlockDependences.h"
#include "passes/Analysis/ModuleTopology.h"
#include "passes/Bucket/BucketMembers.h"
#include "passes/Bucket/ExchangeModel.h"
#include "passes/Passes.h"
#include "passes/Remarks/Remarks.h"
#include "runtime/model/KernelOrder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace lockstep {
#define GEN_PASS_DEF_ORDERKERNELSPASS
#include "passes/Passes.h.inc"

namespace {

/// A step has to become shorter by this part: the model is no more exact, and
/// values live longer in another order.
constexpr double kLeastGain = 0.01;

/// What the model says about a block, in seconds.
struct Prediction {
  /// When the last collective ends.
  double exchangeEnd = 0;
  /// When the last kernel ends, too.
  double end = 0;
};

class BlockOrder {
public:
  BlockOrder(Block &block, OperationTimes &times, int64_t bytesPerPack)
      : block(block), times(times),
        starts(llvm::to_vector(block.getOps<collective::StartOp>())),
        keys(listTraffic(findBucketCandidates(block), bytesPerPack)) {
    for (const KeyTraffic &key : keys)
      isInKey.insert_range(key.starts);
  }

  /// Moves kernels if the block then ends earlier.
  void improve(StringRef function) {
    if (starts.size() < 2 || communicatesInside())
      return;
    Prediction written = predict();
    double kernels = 0;
    for (Operation &op : block)
      kernels += secondsOfKernels(&op);
    if (written.end <= kernels * (1 + kLeastGain))
      return;
    BlockDependences dependences(block, /*keepsOrder=*/false);
    ArrayRef<Operation *> ops = dependences.getOperations();
    std::vector<runtime::LinkJob> jobs = listJobs(dependences);
    double latency = getLatency();
    double least = latency + runtime::leastEndOfOrders(jobs);
    std::vector<size_t> order = runtime::planKernelOrder(
        jobs, sumIndependent() - latency, kSlack * latency);
    for (size_t i : order)
      ops[i]->moveBefore(&block, block.end());
    sortByNeed();
    Prediction ordered = predict();
    if (ordered.end * (1 + kLeastGain) < written.end)
      return explainOrder(function, ops, written, ordered, least);
    for (Operation *op : ops)
      op->moveBefore(&block, block.end());
    remark::analysis(starts.front().getLoc(),
                     decision(Stage::Bucket, "KernelOrder", function))
        << ("kernels keep their order, in which the exchange ends at " +
            secondsText(written.exchangeEnd) + "; it ends in no order before " +
            secondsText(least));
  }

private:
  /// Collectives in loops and branches are not modelled beside kernels.
  bool communicatesInside() {
    return block
        .walk([&](CollectiveOpInterface op) {
          return op->getBlock() == &block ? WalkResult::advance()
                                          : WalkResult::interrupt();
        })
        .wasInterrupted();
  }

  double secondsOfKernels(Operation *op) {
    return isa<CollectiveOpInterface>(op) ? 0 : times.of(op);
  }

  /// The time of the kernels that depend on no exchange, except on those that
  /// another one needs. What ends earlier makes the block no longer.
  double sumIndependent() {
    llvm::DenseSet<Operation *> needed = findNeededByCollectives(block);
    llvm::DenseSet<Operation *> dependent;
    double seconds = 0;
    for (Operation &op : block) {
      bool depends = false;
      op.walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          depends |= dependent.contains(operand.getDefiningOp());
      });
      bool isLast = isa<collective::StartOp>(op) && !needed.contains(&op);
      if (depends || isLast)
        dependent.insert(&op);
      else
        seconds += secondsOfKernels(&op);
    }
    return seconds;
  }

  /// Exchanges at the beginning of the block, as gathers of variables, are all
  /// ready at once: starts them in the order in which kernels need them.
  void sortByNeed() {
    ReadyTimes ready(block, times);
    SmallVector<std::pair<double, collective::StartOp>> first;
    for (Operation &op : block) {
      auto start = dyn_cast<collective::StartOp>(op);
      if (start && ready.of(start) == 0)
        first.emplace_back(ready.neededAt(start), start);
      else if (isa<CollectiveOpInterface, collective::WaitOp>(op) ||
               times.of(&op) > 0)
        break;
    }
    if (first.empty())
      return;
    Operation *next = first.back().second->getNextNode();
    llvm::stable_sort(first, llvm::less_first());
    for (collective::StartOp start : llvm::make_second_range(first))
      start->moveBefore(next);
  }

  Prediction predict() {
    llvm::DenseMap<Operation *, double> arrival = predictArrivals();
    Prediction prediction;
    for (collective::StartOp start : starts)
      prediction.exchangeEnd =
          std::max(prediction.exchangeEnd, arrival.lookup(start));
    // Kernels are executed when the results on which they depend have arrived.
    SmallVector<std::pair<double, double>> kernels;
    for (Operation &op : block) {
      if (isa<collective::StartOp>(op))
        continue;
      double latest = 0;
      op.walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          latest = std::max(latest, arrival.lookup(operand.getDefiningOp()));
      });
      arrival[&op] = latest;
      kernels.emplace_back(latest, secondsOfKernels(&op));
    }
    llvm::stable_sort(kernels, llvm::less_first());
    double now = 0;
    for (auto [latest, seconds] : kernels)
      now = std::max(now, latest) + seconds;
    prediction.end = std::max(now, prediction.exchangeEnd);
    return prediction;
  }

  /// When the link has transferred each collective, in the buckets that the
  /// block gets as it is.
  llvm::DenseMap<Operation *, double> predictArrivals() {
    struct Transfer {
      double ready;
      runtime::TransferSeconds seconds;
      ArrayRef<collective::StartOp> starts;
    };
    std::vector<Transfer> transfers;
    ReadyTimes ready(block, times);
    for (KeyTraffic &key : keys)
      llvm::sort(key.starts, [](Operation *a, Operation *b) {
        return a->isBeforeInBlock(b);
      });
    modelExchange(block, ready, times, keys);
    runtime::SharedLinkPlan plan = planExchange(keys, times.getStreams()).plan;
    size_t planned = 0;
    for (const KeyTraffic &key : keys) {
      std::vector<size_t> ends =
          key.needs.empty()
              ? getEnds(plan.buckets[planned++])
              : getEnds(planByNeed(key, times.getStreams()).buckets);
      size_t begin = 0;
      for (size_t end : ends) {
        uint64_t bytes =
            sumBytes(ArrayRef(key.members).slice(begin, end - begin));
        transfers.push_back({key.members[end - 1].ready,
                             key.traffic.time.split(bytes),
                             ArrayRef(key.starts).slice(begin, end - begin)});
        begin = end;
      }
    }
    for (const collective::StartOp &start : starts)
      if (!isInKey.contains(start))
        transfers.push_back({ready.of(start), times.transferOf(start), start});
    llvm::stable_sort(transfers, [](const Transfer &a, const Transfer &b) {
      return a.ready < b.ready;
    });
    llvm::DenseMap<Operation *, double> arrival;
    runtime::LinkTimeline link = times.makeLink();
    for (const Transfer &transfer : transfers) {
      double end = link.carry(transfer.ready, transfer.seconds).end;
      for (collective::StartOp start : transfer.starts)
        arrival[start] = end;
    }
    return arrival;
  }

  /// What a collective of a key takes at least, and each of its bytes.
  static runtime::TransferTime::Piece getBound(const KeyTraffic &key) {
    return key.traffic.time.lowerBound(sumBytes(key.members));
  }

  /// The least of a collective, in seconds.
  double getLatency() {
    double least = std::numeric_limits<double>::infinity();
    for (const KeyTraffic &key : keys)
      least = std::min(least, getBound(key).seconds);
    for (collective::StartOp start : starts)
      if (!isInKey.contains(start))
        least = std::min(least, times.latencyOf(start));
    return least;
  }

  /// In buckets, collectives share latencies: each counts what the link takes
  /// for its bytes, at the highest rate.
  std::vector<runtime::LinkJob> listJobs(const BlockDependences &dependences) {
    llvm::DenseMap<Operation *, double> secondsPerByte;
    for (const KeyTraffic &key : keys) {
      double rate = getBound(key).secondsPerByte;
      for (collective::StartOp start : key.starts)
        secondsPerByte[start] = rate;
    }
    std::vector<runtime::LinkJob> jobs;
    for (auto [i, op] : llvm::enumerate(dependences.getOperations())) {
      ArrayRef<unsigned> sources = dependences.sourcesOf(i);
      runtime::LinkJob job{0, 0, {sources.begin(), sources.end()}};
      auto start = dyn_cast<collective::StartOp>(op);
      if (auto it = secondsPerByte.find(op); it != secondsPerByte.end())
        job.transfer = it->second * double(*start.getTransferredBytes());
      else if (start)
        job.transfer = std::max(0.0, times.of(op) - times.latencyOf(start));
      else
        job.compute = secondsOfKernels(op);
      jobs.push_back(std::move(job));
    }
    return jobs;
  }

  void explainOrder(StringRef function, ArrayRef<Operation *> written,
                    const Prediction &before, const Prediction &after,
                    double least) {
    llvm::DenseMap<Operation *, size_t> indices;
    for (auto [i, op] : llvm::enumerate(written))
      indices[op] = i;
    // What comes after something that was written later.
    SmallVector<Operation *> kernels;
    SmallVector<collective::StartOp> exchanges;
    size_t latest = 0;
    for (Operation &op : block) {
      size_t index = indices.lookup(&op);
      if (index < latest) {
        if (auto start = dyn_cast<collective::StartOp>(op))
          exchanges.push_back(start);
        else if (secondsOfKernels(&op) > 0)
          kernels.push_back(&op);
      }
      latest = std::max(latest, index);
    }
    std::string moved =
        kernels.empty()
            ? countText(exchanges.size(), "exchange") +
                  " started after others that were written later: " +
                  listText(exchanges.size(),
                           [&](size_t i) {
                             return collectiveText(exchanges[i]) +
                                    atLine(exchanges[i].getLoc());
                           })
            : countText(kernels.size(), "kernel") +
                  " executed after others that were written later: " +
                  listText(kernels.size(),
                           [&](size_t i) { return operationText(kernels[i]); });
    Operation *first =
        kernels.empty() ? starts.front().getOperation() : kernels.front();
    std::string place =
        isa<func::FuncOp>(block.getParentOp()) ? "the step" : "the block";
    remark::passed(first->getLoc(),
                   decision(Stage::Bucket, "KernelOrder", function))
        << (moved + "; " + place + " ends at " + secondsText(after.end) +
            " instead of " + secondsText(before.end) +
            ", and the exchange at " + secondsText(after.exchangeEnd) +
            " instead of " + secondsText(before.exchangeEnd) +
            "; it ends in no order before " + secondsText(least));
  }

  Block &block;
  OperationTimes &times;
  /// In the order in which they are written.
  SmallVector<collective::StartOp> starts;
  std::vector<KeyTraffic> keys;
  /// The collectives of all keys.
  llvm::DenseSet<Operation *> isInKey;
};

struct OrderKernels : impl::OrderKernelsPassBase<OrderKernels> {
  using OrderKernelsPassBase::OrderKernelsPassBase;

  void runOnOperation() override {
    // All roles have to agree on the order of collectives.
    if (device::getRole(getOperation()))
      return;
    auto module = getOperation()->getParentOfType<ModuleOp>();
    FailureOr<runtime::Topology> topology = getTopology(module);
    if (failed(topology))
      return signalPassFailure();
    if (topology->reducesOnCompute)
      return;
    FailureOr<int64_t> replicas = replica::getReplicaCount(module);
    if (failed(replicas))
      return signalPassFailure();
    SymbolTableCollection symbols;
    OperationTimes times(*topology, *replicas, symbols);
    getOperation().walk([&](Block *block) {
      BlockOrder(*block, times, bytesPerPack)
          .improve(getOperation().getSymName());
    });
  }
};
} // namespace
} // namespace lockstep
