//===- SimulatedReduction.h - a reduction as a command ----------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DEVICE_SIMULATED_SIMULATEDREDUCTION_H
#define LOCKSTEP_RUNTIME_DEVICE_SIMULATED_SIMULATEDREDUCTION_H

#include "runtime/collectives/ReduceTree.h"
#include "runtime/device/simulated/SimulatedDevice.h"
#include "runtime/schema/Types.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace lockstep::runtime {

/// The address that the processor uses.
template <typename Byte> Byte *unbiased(Byte *address) {
  return address ? reinterpret_cast<Byte *>(
                       reinterpret_cast<uintptr_t>(address) - addressBias)
                 : nullptr;
}

/// A reduction with copies of its arguments, which the caller may free before
/// the reduction executes.
struct SimulatedReduction {
  explicit SimulatedReduction(const DeviceReduction &given)
      : functions(&reduceFunctions(given.element, given.reduction)),
        resultSize(uint32_t(given.keepsAccumulators
                                ? accumulatorSize(given.element)
                                : elementSize(given.element))),
        elements(given.elements) {
    for (const std::byte *operand : given.operands)
      operands.push_back(unbiased(operand));
    for (std::byte *result : given.results)
      results.push_back(unbiased(result));
  }

  void operator()() const {
    auto count = uint32_t(operands.size());
    std::vector<std::byte> scratch((reduceScratchBlocks(count) + 2) *
                                   reduceBlockBytes);
    std::vector<const std::byte *> sources(count);
    std::byte *accumulator = scratch.data(),
              *rounded = scratch.data() + reduceBlockBytes;
    uint64_t most = reduceBlockBytes / functions->accumulatorSize;
    for (uint64_t first = 0; first < elements; first += most) {
      auto block = int64_t(std::min(most, elements - first));
      for (uint32_t i = 0; i < count; ++i)
        sources[i] = operands[i] + first * functions->elementSize;
      reduceTree(*functions, accumulator, sources.data(), count, block,
                 rounded + reduceBlockBytes);
      const std::byte *finished = accumulator;
      if (resultSize != functions->accumulatorSize) {
        functions->store(rounded, accumulator, block);
        finished = rounded;
      }
      for (std::byte *result : results)
        std::memcpy(result + first * resultSize, finished,
                    size_t(block) * resultSize);
    }
  }

  const ReduceFunctions *functions;
  uint32_t resultSize;
  uint64_t elements;
  std::vector<const std::byte *> operands;
  std::vector<std::byte *> results;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DEVICE_SIMULATED_SIMULATEDREDUCTION_H
