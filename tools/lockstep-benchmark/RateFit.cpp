//===- RateFit.cpp --------------------------------------------------------===//

#include "tools/lockstep-benchmark/RateFit.h"

#include "runtime/model/CostModel.h"

#include <array>
#include <cmath>
#include <limits>

namespace lockstep::tools {

using runtime::ComputeRates;
using runtime::SharedCores;
using runtime::Topology;

/// The mean distance of the model from the measured times of kernels, over all
/// steps: logarithms of ratios, to the power `exponent`.
static double distance(std::span<const StepSample> steps,
                       const Topology &machine, double exponent) {
  double sum = 0;
  for (const StepSample &step : steps) {
    SharedCores cores(machine, step.replicas);
    double ofStep = 0, weights = 0;
    for (const KernelSample &kernel : step.kernels) {
      double seconds = runtime::kernelSeconds(
          cores.rates(kernel.shape, kernel.bytes), kernel.flops, kernel.bytes);
      // Short kernels count, too: else nothing determines the time of a launch.
      double weight = std::sqrt(kernel.launches * kernel.seconds);
      ofStep += weight * std::pow(std::abs(std::log(seconds / kernel.seconds)),
                                  exponent);
      weights += weight;
    }
    sum += ofStep / weights;
  }
  return sum;
}

/// Changes one rate after the other by a factor, as long as that makes
/// `distanceOf` smaller, and then by smaller factors. It is infinite for rates
/// that are not valid.
template <typename DistanceOf>
static void descend(std::span<double *const> rates, double factor,
                    DistanceOf distanceOf) {
  constexpr double lastFactor = 1.001;
  double least = distanceOf();
  while (factor > lastFactor) {
    bool isBetter = false;
    for (double *rate : rates)
      for (double change : {factor, 1 / factor}) {
        double before = *rate;
        *rate *= change;
        double found = distanceOf();
        if (found < least) {
          least = found;
          isBetter = true;
        } else {
          *rate = before;
        }
      }
    if (!isBetter)
      factor = std::sqrt(factor);
  }
}

void fitRates(std::span<const StepSample> steps, Topology &machine) {
  machine.compute = {
      .flopsPerSecond = 5e10, .bytesPerSecond = 1e10, .launchSeconds = 1e-8};
  // What copies take, if the tensors of all kernels fit into the cache.
  if (std::isfinite(machine.memoryBytesPerSecond))
    machine.compute.bytesPerSecond =
        machine.memoryBytesPerSecond / double(machine.cores);
  machine.cacheBytesPerSecond = 5e10;
  ComputeRates &compute = machine.compute;
  std::array<double *, 4> rates{&compute.flopsPerSecond,
                                &compute.bytesPerSecond, &compute.launchSeconds,
                                &machine.cacheBytesPerSecond};
  auto distanceOf = [&](double exponent) {
    constexpr double leastLaunch = 1e-9;
    return compute.launchSeconds < leastLaunch
               ? std::numeric_limits<double>::infinity()
               : distance(steps, machine, exponent);
  };
  // Squares lead near to the rates from anywhere, but a few kernels that no
  // rate fits shift their minimum; that of the distances themselves, less.
  descend(rates, 4, [&] { return distanceOf(2); });
  descend(rates, 1.5, [&] { return distanceOf(1); });
}

runtime::Link fitLink(std::span<const CollectiveTime> times) {
  Topology devices;
  devices.levels = {
      {.name = "", .link = {.latency = 1e-5, .secondsPerByte = 1e-10}}};
  runtime::Link &link = devices.levels.front().link;
  std::array<double *, 2> rates{&link.latency, &link.secondsPerByte};
  auto distanceOf = [&](double exponent) {
    double sum = 0;
    for (const CollectiveTime &time : times)
      if (time.seconds > 0)
        sum += std::pow(
            std::abs(std::log(runtime::collectiveSeconds(
                                  devices, artifact::CollectiveKind::all_reduce,
                                  time.replicas, time.bytes) /
                              time.seconds)),
            exponent);
    return sum;
  };
  descend(rates, 4, [&] { return distanceOf(2); });
  descend(rates, 1.5, [&] { return distanceOf(1); });
  return link;
}

namespace {

using Row = std::array<double, 3>;

/// The solution of a symmetric system, by elimination; infinite values if it
/// has none.
Row solve(std::array<Row, 3> matrix, Row right) {
  for (size_t pivot = 0; pivot < 3; ++pivot)
    for (size_t row = pivot + 1; row < 3; ++row) {
      double factor = matrix[row][pivot] / matrix[pivot][pivot];
      for (size_t column = pivot; column < 3; ++column)
        matrix[row][column] -= factor * matrix[pivot][column];
      right[row] -= factor * right[pivot];
    }
  Row result = {};
  for (size_t row = 3; row-- > 0;) {
    double rest = right[row];
    for (size_t column = row + 1; column < 3; ++column)
      rest -= matrix[row][column] * result[column];
    result[row] = rest / matrix[row][row];
  }
  return result;
}

} // namespace

CollectiveRates fitCollectives(std::span<const CollectiveTime> times) {
  // Each subset of the three rates may be 0; the best one whose others are
  // positive is the solution.
  CollectiveRates best;
  double least = std::numeric_limits<double>::infinity();
  for (unsigned used = 1; used < 8; ++used) {
    std::array<Row, 3> matrix = {};
    Row right = {};
    for (size_t i = 0; i < 3; ++i)
      matrix[i][i] = used >> i & 1 ? 0 : 1;
    for (const CollectiveTime &time : times) {
      if (time.seconds <= 0)
        continue;
      Row terms = {1, double(time.replicas),
                   double(time.replicas + 1) * double(time.bytes)};
      for (size_t i = 0; i < 3; ++i)
        terms[i] *= used >> i & 1 ? 1 / time.seconds : 0;
      for (size_t i = 0; i < 3; ++i) {
        for (size_t j = 0; j < 3; ++j)
          matrix[i][j] += terms[i] * terms[j];
        right[i] += terms[i];
      }
    }
    Row found = solve(matrix, right);
    CollectiveRates rates = {found[0], found[1], found[2]};
    double error = 0;
    for (const CollectiveTime &time : times)
      if (time.seconds > 0) {
        double part = rates.seconds(time.replicas, time.bytes) / time.seconds;
        error += (part - 1) * (part - 1);
      }
    bool isValid = std::isfinite(error);
    for (double rate : found)
      isValid &= rate >= 0;
    if (isValid && error < least) {
      least = error;
      best = rates;
    }
  }
  return best;
}

} // namespace lockstep::tools
