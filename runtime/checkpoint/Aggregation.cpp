//===- Aggregation.cpp - aggregation of replica variables -----------------===//

#include "runtime/checkpoint/Aggregation.h"

#include "runtime/collectives/ReduceTree.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

namespace lockstep::runtime {

namespace {

using artifact::Aggregation;
using artifact::ElementType;

template <typename T>
void divideElements(std::byte *elements, uint64_t count, uint64_t divisor) {
  T *values = reinterpret_cast<T *>(elements);
  for (uint64_t i = 0; i < count; ++i)
    values[i] = static_cast<T>(values[i] / static_cast<T>(divisor));
}

/// Divides accumulators of a reduction of `element`.
void divide(ElementType element, std::byte *accumulators, uint64_t count,
            uint64_t divisor) {
  switch (element) {
  case ElementType::f16:
  case ElementType::bf16:
  case ElementType::f32:
    return divideElements<float>(accumulators, count, divisor);
  case ElementType::f64:
    return divideElements<double>(accumulators, count, divisor);
  case ElementType::i8:
    return divideElements<int8_t>(accumulators, count, divisor);
  case ElementType::i16:
    return divideElements<int16_t>(accumulators, count, divisor);
  case ElementType::i32:
    return divideElements<int32_t>(accumulators, count, divisor);
  case ElementType::i64:
    return divideElements<int64_t>(accumulators, count, divisor);
  case ElementType::i1:
  case ElementType::u8:
    return divideElements<uint8_t>(accumulators, count, divisor);
  case ElementType::u16:
    return divideElements<uint16_t>(accumulators, count, divisor);
  case ElementType::u32:
    return divideElements<uint32_t>(accumulators, count, divisor);
  case ElementType::u64:
    return divideElements<uint64_t>(accumulators, count, divisor);
  }
}

/// value = (sum of `sources`) / divisor, block by block, as collectives add.
void reduce(ElementType element, std::span<const std::byte *const> sources,
            uint64_t divisor, std::span<std::byte> value) {
  const ReduceFunctions &functions =
      reduceFunctions(element, artifact::Reduction::sum);
  uint64_t blockElements = reduceBlockBytes / functions.accumulatorSize,
           count = value.size() / functions.elementSize;
  std::vector<std::byte> block(reduceBlockBytes),
      scratch(reduceScratchBlocks(static_cast<uint32_t>(sources.size())) *
              reduceBlockBytes);
  std::vector<const std::byte *> here(sources.size());
  for (uint64_t first = 0; first < count; first += blockElements) {
    uint64_t elements = std::min(blockElements, count - first),
             offset = first * functions.elementSize;
    std::transform(sources.begin(), sources.end(), here.begin(),
                   [&](const std::byte *source) { return source + offset; });
    reduceTree(functions, block.data(), here.data(),
               static_cast<uint32_t>(here.size()),
               static_cast<int64_t>(elements), scratch.data());
    if (divisor > 1)
      divide(element, block.data(), elements, divisor);
    functions.store(value.data() + offset, block.data(),
                    static_cast<int64_t>(elements));
  }
}

void copy(std::span<const std::byte> from, std::span<std::byte> to) {
  if (!to.empty())
    std::memcpy(to.data(), from.data(), to.size());
}

/// Variables with a value for each replica are never sharded.
std::span<std::byte> memoryOf(const VariableValue &value) {
  return value.pieces().front();
}

} // namespace

bool isAggregated(const VariableView &variable) {
  return variable.synchronization == artifact::Synchronization::on_read &&
         variable.aggregation != Aggregation::none;
}

Status checkAggregation(std::span<const VariableView> variables) {
  std::vector<std::string> problems;
  for (const VariableView &variable : variables) {
    if (!isAggregated(variable))
      continue;
    if (variable.aggregation == Aggregation::sum &&
        variable.type.element == ElementType::i1)
      problems.push_back(fmt::format(
          "'{}': expected numbers for a sum, found {} [E_DTYPE_UNSUPPORTED]",
          variable.name, typeName(variable.type)));
    if (variable.aggregation == Aggregation::mean &&
        !isFloat(variable.type.element))
      problems.push_back(fmt::format(
          "'{}': expected floats for a mean, found {} [E_MEAN_INT_VAR]",
          variable.name, typeName(variable.type)));
  }
  return problems.empty() ? Status()
                          : unsupported(fmt::format(
                                "variables without a value to save:\n  {}",
                                fmt::join(problems, "\n  ")));
}

void aggregate(const VariableView &variable, std::span<std::byte> value) {
  if (variable.aggregation == Aggregation::only_first_replica)
    return copy(memoryOf(variable.values.front()), value);
  std::vector<const std::byte *> sources;
  for (const VariableValue &own : variable.values)
    sources.push_back(memoryOf(own).data());
  reduce(variable.type.element, sources,
         variable.aggregation == Aggregation::mean ? sources.size() : 1, value);
}

void distribute(const VariableView &variable,
                std::span<const std::byte> value) {
  std::vector<std::byte> part(value.begin(), value.end());
  if (variable.aggregation == Aggregation::sum)
    reduce(variable.type.element, std::vector{value.data()},
           variable.values.size(), part);
  for (const VariableValue &own : variable.values)
    own.write(part);
}

AggregatedVariables::AggregatedVariables(
    std::span<const VariableView> variables)
    : variables(variables), oneValue(variables.begin(), variables.end()) {
  for (VariableView &view : oneValue)
    if (isAggregated(view)) {
      view.values = {VariableValue(memory.emplace_back(view.type.bytes))};
      view.perReplica = false;
    }
}

void AggregatedVariables::aggregate() {
  for (size_t i = 0; i < variables.size(); ++i)
    if (isAggregated(variables[i]))
      runtime::aggregate(variables[i], memoryOf(oneValue[i].values.front()));
}

void AggregatedVariables::distribute() {
  for (size_t i = 0; i < variables.size(); ++i)
    if (isAggregated(variables[i]))
      runtime::distribute(variables[i], memoryOf(oneValue[i].values.front()));
}

} // namespace lockstep::runtime
