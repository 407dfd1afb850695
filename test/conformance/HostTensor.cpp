//===- HostTensor.cpp - nests of arrays in memory -------------------------===//

#include "test/conformance/HostTensor.h"

#include <fmt/format.h>

namespace lockstep::runtime {

namespace {

/// One tensor whose rows are the leaves of a list.
Expected<Nest> stacked(const std::vector<Nest> &members) {
  Nest result;
  const HostTensor &first = members.front().leaf;
  result.leaf.element = first.element;
  result.leaf.shape = first.shape;
  result.leaf.shape.insert(result.leaf.shape.begin(),
                           static_cast<int64_t>(members.size()));
  for (const Nest &member : members) {
    const HostTensor &tensor = member.leaf;
    if (member.kind != Nest::Kind::leaf || tensor.element != first.element ||
        tensor.shape != first.shape)
      return invalidArgument(fmt::format(
          "expected a list of arrays of {}, found {} in it [E_SHAPE_MISMATCH]",
          typeName(first.element, first.shape),
          member.kind == Nest::Kind::leaf
              ? typeName(tensor.element, tensor.shape)
              : "a nest"));
    result.leaf.bytes.insert(result.leaf.bytes.end(), tensor.bytes.begin(),
                             tensor.bytes.end());
  }
  return result;
}

Expected<Nest> stackMembers(Nest nest) {
  if (nest.kind == Nest::Kind::leaf)
    return nest;
  if (nest.members.empty())
    return invalidArgument("expected arrays, found an empty list, tuple or "
                           "dictionary [E_ARG_TYPE]");
  for (Nest &member : nest.members) {
    Expected<Nest> done = stackMembers(std::move(member));
    if (!done)
      return done.status();
    member = std::move(*done);
  }
  return nest.kind == Nest::Kind::list ? stacked(nest.members)
                                       : Expected<Nest>(std::move(nest));
}

/// Checks that all leaves have as many rows as the first one, which sets
/// `rows`.
Status checkRows(const Nest &nest, int64_t &rows) {
  for (const Nest &member : nest.members)
    LOCKSTEP_RETURN_IF_ERROR(checkRows(member, rows));
  if (nest.kind != Nest::Kind::leaf)
    return Status::success();
  if (nest.leaf.shape.empty())
    return invalidArgument(
        "expected arrays of rows, found a scalar [E_SHAPE_MISMATCH]");
  if (rows < 0)
    rows = nest.leaf.shape.front();
  if (nest.leaf.shape.front() != rows)
    return invalidArgument(fmt::format(
        "expected {} rows as in the first array, found {} [E_SHAPE_MISMATCH]",
        rows, nest.leaf.shape.front()));
  return Status::success();
}

} // namespace

uint64_t HostTensor::rowBytes() const {
  uint64_t bytes = elementSize(element);
  for (size_t d = 1; d < shape.size(); ++d)
    bytes *= static_cast<uint64_t>(shape[d]);
  return bytes;
}

Expected<HostTensor> takeRows(const HostTensor &tensor,
                              std::span<const uint64_t> rows) {
  if (tensor.shape.empty())
    return invalidArgument("expected an array of rows, found a scalar");
  HostTensor result{tensor.element, tensor.shape, {}};
  result.shape.front() = static_cast<int64_t>(rows.size());
  uint64_t size = tensor.rowBytes();
  for (uint64_t row : rows) {
    if (row >= static_cast<uint64_t>(tensor.shape.front()))
      return Status(StatusCode::outOfRange,
                    fmt::format("expected a row below {}, found {}",
                                tensor.shape.front(), row));
    result.bytes.insert(result.bytes.end(), tensor.bytes.begin() + row * size,
                        tensor.bytes.begin() + (row + 1) * size);
  }
  return result;
}

Expected<Nest> stackLists(Nest nest) {
  Expected<Nest> result = stackMembers(std::move(nest));
  if (!result)
    return result.status();
  int64_t rows = -1;
  LOCKSTEP_RETURN_IF_ERROR(checkRows(*result, rows));
  return result;
}

uint64_t rowsOf(const Nest &nest) {
  return nest.kind == Nest::Kind::leaf
             ? static_cast<uint64_t>(nest.leaf.shape.front())
             : rowsOf(nest.members.front());
}

} // namespace lockstep::runtime
