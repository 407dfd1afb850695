//===- KernelOrder.h - kernels in the order that the link needs -*- C++ -*-===//
//
// A replica computes gradients one after the other, and one link carries them
// at the same time: a flow shop of two machines. Without dependences, Johnson's
// rule gives the order that ends first: what takes the replica less time than
// the link comes first, the shortest of it before the others; and of the rest,
// what the link carries longest. So the link begins early, and has little to
// carry when the last gradient is computed.
//
// Problem: S. M. Johnson, "Optimal two- and three-stage production schedules
// with setup times included", 1954. With dependences that form a tree, as those
// of a backward pass: J. B. Sidney, "The two-machine maximum flow time problem
// with series parallel precedence relations", 1979.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_MODEL_KERNELORDER_H
#define LOCKSTEP_RUNTIME_MODEL_KERNELORDER_H

#include <cstddef>
#include <span>
#include <vector>

namespace lockstep::runtime {

/// What a replica executes: `compute` seconds of it alone, and then `transfer`
/// seconds of the link, beside what the replica executes next.
struct LinkJob {
  double compute = 0;
  double transfer = 0;
  /// The indices of the jobs that it depends on, all less than its own. It does
  /// not wait for their transfers.
  std::vector<size_t> sources;
};

/// When the link ends if the replica executes jobs in this order, in seconds.
double endOfOrder(std::span<const LinkJob> jobs, std::span<const size_t> order);

/// What no order beats: `endOfOrder` if each job depended only on the source at
/// the end of the longest path. Takes n log² n time for n jobs and dependences.
double leastEndOfOrders(std::span<const LinkJob> jobs);

/// An order that respects dependences. The first `kept` jobs are in the order
/// of their indices, except that a job that only transfers comes as early as it
/// can. If each of the others depends on at most one other job behind `kept`,
/// the order is one that ends first; otherwise it is computed as if each
/// depended only on that at the end of the longest path. Takes n log² n time
/// for n jobs and dependences.
std::vector<size_t> orderForLink(std::span<const LinkJob> jobs,
                                 size_t kept = 0);

/// Of the orders that `orderForLink` gives for different `kept`, one that ends
/// at most at `floor`, or `slack` seconds after the one that ends first, and
/// that keeps as many jobs as possible: values then live as short as possible.
/// The order of the indices if none ends earlier. Takes n log³ n time.
std::vector<size_t> planKernelOrder(std::span<const LinkJob> jobs,
                                    double floor = 0, double slack = 0);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_MODEL_KERNELORDER_H
