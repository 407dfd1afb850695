//===- BatchLayout.cpp - layout of a replica's batch ----------------------===//

#include "runtime/data/BatchLayout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace lockstep::runtime {

namespace {

/// "?x64xf32": the type of an array of examples for batches of `batch`.
std::string examplesType(const TensorInfo &batch) {
  std::vector<int64_t> shape = batch.shape;
  shape.front() = -1;
  return typeName(batch.element, shape);
}

bool canBeBatchedAs(const TensorInfo &batch, const TensorInfo &examples) {
  return examples.element == batch.element &&
         examples.shape.size() == batch.shape.size() &&
         std::equal(batch.shape.begin() + 1, batch.shape.end(),
                    examples.shape.begin() + 1);
}

/// The input that holds the size of a dimension of `input`, or null.
const InputInfo *sizeOf(const ProgramInfo &program, const InputInfo &input,
                        size_t dimension) {
  std::string name = fmt::format("{}.dim{}", input.name, dimension);
  for (const InputInfo &other : program.inputs)
    if (other.name == name)
      return &other;
  return nullptr;
}

/// Whether the input holds a size of another one.
bool isSize(const ProgramInfo &program, const InputInfo &input) {
  for (const InputInfo &other : program.inputs)
    for (size_t d = 0; d < other.type.shape.size(); ++d)
      if (sizeOf(program, other, d) == &input)
        return true;
  return false;
}

/// Checks the dynamic sizes of an input: the number of rows must be dynamic in
/// all inputs or in none, and all other dimensions static. Returns the error,
/// or an empty string.
std::string checkSizes(const ProgramInfo &program, const InputInfo &input,
                       bool rowsVary) {
  if (rowsVary != (sizeOf(program, input, 0) != nullptr))
    return fmt::format(
        "'{}': expected rows that are known {} as in the other inputs",
        input.name, rowsVary ? "at run time only" : "when it is compiled");
  for (size_t d = 1; d < input.type.shape.size(); ++d)
    if (sizeOf(program, input, d))
      return fmt::format("'{}': expected a size of dimension {} that is known "
                         "when it is compiled, found one of at most {}",
                         input.name, d, input.type.shape[d]);
  return {};
}

/// Checks the type of an input, regardless of the data. Returns the error, or
/// an empty string.
std::string checkInput(const InputInfo &input, uint64_t rows) {
  if (input.type.shape.empty() ||
      std::any_of(input.type.shape.begin(), input.type.shape.end(),
                  [](int64_t d) { return d < 1; }))
    return fmt::format(
        "'{}': expected the shape of a batch [rows, ...], found {}", input.name,
        typeName(input.type));
  if (static_cast<uint64_t>(input.type.shape.front()) != rows)
    return fmt::format(
        "'{}': expected {} rows as in the other inputs, found {}", input.name,
        rows, typeName(input.type));
  return {};
}

} // namespace

Expected<BatchLayout> planBatches(const Dataset &data,
                                  const ProgramInfo &program, bool supplyMask) {
  BatchLayout layout;
  layout.source = data.path();
  layout.inputSize = program.inputSize;
  std::vector<std::string> problems;
  std::string firstName;
  bool first = true, rowsVary = false;

  for (const InputInfo &input : program.inputs) {
    if (isSize(program, input))
      continue;
    const InputInfo *size = sizeOf(program, input, 0);
    rowsVary = first ? size != nullptr : rowsVary;
    first = false;
    if (std::string problem = checkSizes(program, input, rowsVary);
        !problem.empty()) {
      problems.push_back(std::move(problem));
      continue;
    }
    if (size)
      layout.sizeOffsets.push_back(size->offset);
    if (layout.rows == 0 && !input.type.shape.empty() &&
        input.type.shape.front() > 0)
      layout.rows = input.type.shape.front();
    if (std::string problem = checkInput(input, layout.rows);
        !problem.empty()) {
      problems.push_back(std::move(problem));
      continue;
    }
    if (supplyMask && input.name == maskName) {
      using artifact::ElementType;
      if (input.type.shape.size() != 1 ||
          (input.type.element != ElementType::f32 &&
           input.type.element != ElementType::i1))
        problems.push_back(
            fmt::format("'mask': expected {0}xf32 or {0}xi1, found {1}",
                        layout.rows, typeName(input.type)));
      layout.mask = BatchMask{input.type.element, input.offset};
      continue;
    }
    if (!data.contains(input.name)) {
      problems.push_back(fmt::format(
          "'{}': expected {}, found no such array (there are: {})", input.name,
          examplesType(input.type), fmt::join(data.names(), ", ")));
      continue;
    }
    Expected<std::shared_ptr<const NpyArray>> array = data.array(input.name);
    if (!array)
      return array.status();
    const TensorInfo &found = (*array)->type();
    if (!canBeBatchedAs(input.type, found)) {
      problems.push_back(fmt::format("'{}': expected {}, found {}", input.name,
                                     examplesType(input.type),
                                     typeName(found)));
      continue;
    }
    uint64_t examples = found.shape.front();
    if (layout.fields.empty()) {
      layout.examples = examples;
      firstName = input.name;
    } else if (examples != layout.examples) {
      problems.push_back(
          fmt::format("'{}': expected {} examples as in '{}', found {}",
                      input.name, layout.examples, firstName, examples));
      continue;
    }
    layout.fields.push_back({input.name, std::move(*array),
                             input.type.bytes / layout.rows, input.offset});
  }

  if (!problems.empty())
    return invalidArgument(
        fmt::format("'{}' does not fit the inputs of '{}':\n  {}", data.path(),
                    program.name, fmt::join(problems, "\n  ")));
  return layout;
}

} // namespace lockstep::runtime
