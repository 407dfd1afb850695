//===- KernelOrder.cpp ----------------------------------------------------===//

#include "runtime/model/KernelOrder.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

namespace lockstep::runtime {

namespace {

/// Jobs that are executed one after the other. For the end of the order, they
/// count as one job: the replica and the link overlap within it, so that its
/// times are what is left before the link begins and after the replica ends.
struct Chain {
  double compute, transfer;
  size_t first, last;

  void append(const Chain &next) {
    double idle = std::max(0.0, next.compute - transfer);
    double left = std::max(0.0, transfer - next.compute);
    compute += idle;
    transfer = next.transfer + left;
    last = next.last;
  }

  /// Johnson's rule: the least is the first. Chains with equal times are in the
  /// order of their first jobs.
  auto rank() const {
    bool feedsLink = compute < transfer;
    return std::tuple(!feedsLink, feedsLink ? compute : -transfer, first);
  }
  bool operator<(const Chain &other) const { return rank() < other.rank(); }
};

class TreeOrder {
public:
  TreeOrder(std::span<const LinkJob> jobs, size_t kept)
      : jobs(jobs), kept(kept), parents(jobs.size()),
        following(jobs.size(), jobs.size()) {
    std::vector<double> path(jobs.size());
    for (size_t i = 0; i < jobs.size(); ++i) {
      parents[i] = i;
      for (size_t source : jobs[i].sources)
        if (source >= kept &&
            (parents[i] == i || path[source] > path[parents[i]]))
          parents[i] = source;
      path[i] = jobs[i].compute + (parents[i] == i ? 0 : path[parents[i]]);
    }
  }

  /// The jobs behind `kept`, in an order that respects the tree.
  std::vector<size_t> compute() {
    // The chains of the trees below each job, and of all trees.
    std::vector<Chains> below(jobs.size());
    Chains roots;
    for (size_t i = jobs.size(); i-- > kept;) {
      Chain chain{jobs[i].compute, jobs[i].transfer, i, i};
      // What would come before its root has to follow it at once.
      while (!below[i].empty() && *below[i].begin() < chain) {
        Chain next = *below[i].begin();
        below[i].erase(below[i].begin());
        following[chain.last] = next.first;
        chain.append(next);
      }
      below[i].insert(chain);
      moveTo(parents[i] == i ? roots : below[parents[i]], below[i]);
    }
    std::vector<size_t> order;
    for (const Chain &chain : roots)
      for (size_t i = chain.first; i != jobs.size(); i = following[i])
        order.push_back(i);
    return order;
  }

private:
  using Chains = std::multiset<Chain>;

  static void moveTo(Chains &all, Chains &some) {
    if (all.size() < some.size())
      all.swap(some);
    all.merge(some);
  }

  std::span<const LinkJob> jobs;
  size_t kept;
  /// Of the jobs behind `kept` that each one depends on, that at the end of the
  /// longest path; itself if there is none.
  std::vector<size_t> parents;
  /// The next job of the same chain; the number of jobs if there is none.
  std::vector<size_t> following;
};

/// Adds jobs to an order, those on which they depend before them.
class Emission {
public:
  explicit Emission(std::span<const LinkJob> jobs)
      : jobs(jobs), users(jobs.size()), pending(jobs.size()),
        isEmitted(jobs.size()) {
    for (size_t i = 0; i < jobs.size(); ++i) {
      pending[i] = jobs[i].sources.size();
      for (size_t source : jobs[i].sources)
        users[source].push_back(i);
    }
    order.reserve(jobs.size());
  }

  void addWithSources(size_t job) {
    std::vector<size_t> missing;
    std::vector<size_t> worklist = {job};
    std::set<size_t> seen = {job};
    while (!worklist.empty()) {
      size_t next = worklist.back();
      worklist.pop_back();
      if (isEmitted[next])
        continue;
      missing.push_back(next);
      for (size_t source : jobs[next].sources)
        if (!isEmitted[source] && seen.insert(source).second)
          worklist.push_back(source);
    }
    std::ranges::sort(missing);
    for (size_t next : missing)
      add(next);
  }

  std::vector<size_t> take() { return std::move(order); }

private:
  /// Adds a job, and the transfers that can start now.
  void add(size_t job) {
    if (isEmitted[job])
      return;
    isEmitted[job] = true;
    order.push_back(job);
    for (size_t user : users[job])
      if (--pending[user] == 0 && jobs[user].compute == 0 &&
          jobs[user].transfer > 0)
        add(user);
  }

  std::span<const LinkJob> jobs;
  std::vector<std::vector<size_t>> users;
  /// The number of jobs not yet added that each job depends on.
  std::vector<size_t> pending;
  std::vector<bool> isEmitted;
  std::vector<size_t> order;
};

} // namespace

double endOfOrder(std::span<const LinkJob> jobs,
                  std::span<const size_t> order) {
  double computed = 0, end = 0;
  for (size_t i : order) {
    computed += jobs[i].compute;
    if (jobs[i].transfer > 0)
      end = std::max(end, computed) + jobs[i].transfer;
  }
  return end;
}

double leastEndOfOrders(std::span<const LinkJob> jobs) {
  return endOfOrder(jobs, TreeOrder(jobs, 0).compute());
}

std::vector<size_t> orderForLink(std::span<const LinkJob> jobs, size_t kept) {
  Emission emission(jobs);
  for (size_t i = 0; i < kept; ++i)
    emission.addWithSources(i);
  for (size_t i : TreeOrder(jobs, kept).compute())
    emission.addWithSources(i);
  return emission.take();
}

std::vector<size_t> planKernelOrder(std::span<const LinkJob> jobs, double floor,
                                    double slack) {
  std::vector<size_t> best(jobs.size());
  std::iota(best.begin(), best.end(), size_t(0));
  std::vector<size_t> first = orderForLink(jobs);
  double latest = std::max(floor, endOfOrder(jobs, first) + slack);
  if (endOfOrder(jobs, best) <= latest)
    return best;
  best = std::move(first);
  // The more jobs are kept, the later the end: exactly so for trees.
  size_t kept = 0, tooMany = jobs.size();
  while (tooMany - kept > 1) {
    size_t middle = kept + (tooMany - kept) / 2;
    std::vector<size_t> order = orderForLink(jobs, middle);
    if (endOfOrder(jobs, order) <= latest) {
      best = std::move(order);
      kept = middle;
    } else {
      tooMany = middle;
    }
  }
  return best;
}

} // namespace lockstep::runtime
