//===- VariableValue.h - where a value of a variable is ---------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_VARIABLEVALUE_H
#define LOCKSTEP_RUNTIME_EXECUTOR_VARIABLEVALUE_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lockstep::runtime {

class HostCopy;

/// The memory of one value of a variable; not owned. It may lie in pieces, one
/// after the other: the rows of a variable that is split among servers. And
/// there may be copies of it, in other executors, that are always the same.
class VariableValue {
public:
  using Pieces = std::vector<std::span<std::byte>>;

  VariableValue() = default;
  VariableValue(std::span<std::byte> whole) : places{{whole}} {}
  /// Every place has all the bytes; there is at least one. `copies` are those
  /// of devices; they outlive the value.
  explicit VariableValue(std::vector<Pieces> places,
                         std::vector<HostCopy *> copies = {})
      : places(std::move(places)), copies(std::move(copies)) {}

  /// The bytes to read, as they are now.
  std::span<const std::span<std::byte>> pieces() const;
  /// The same, as they were when somebody read them last.
  std::span<const std::span<std::byte>> layout() const {
    return places.front();
  }
  uint64_t size() const;
  bool operator==(const VariableValue &other) const;

  std::vector<std::byte> read() const;
  /// Into `size()` bytes.
  void read(std::span<std::byte> bytes) const;
  /// Sets the value and all its copies; `bytes` are as many as `size()`.
  void write(std::span<const std::byte> bytes) const;

private:
  std::vector<Pieces> places;
  std::vector<HostCopy *> copies;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_VARIABLEVALUE_H
