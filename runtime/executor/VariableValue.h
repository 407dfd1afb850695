//===- VariableValue.h - locations of a variable's value --------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_EXECUTOR_VARIABLEVALUE_H
#define LOCKSTEP_RUNTIME_EXECUTOR_VARIABLEVALUE_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lockstep::runtime {

class HostCopy;

/// The memory of one value of a variable; not owned. It may consist of
/// consecutive pieces, the parts of a variable that is divided among servers or
/// replicas.
/// Other executors may have copies, which are always equal.
class VariableValue {
public:
  using Pieces = std::vector<std::span<std::byte>>;

  VariableValue() = default;
  VariableValue(std::span<std::byte> whole) : places{{whole}} {}
  /// Each place holds the whole value; there is at least one. `copies`
  /// synchronize it with devices and outlive the value. A piece without address
  /// is not here: writes leave it out.
  explicit VariableValue(std::vector<Pieces> places,
                         std::vector<HostCopy *> copies = {})
      : places(std::move(places)), copies(std::move(copies)) {}

  /// The current bytes, after a download from the device.
  std::span<const std::span<std::byte>> pieces() const;
  /// The same without a download: the bytes of the last read.
  std::span<const std::span<std::byte>> layout() const {
    return places.front();
  }
  uint64_t size() const;
  bool operator==(const VariableValue &other) const;

  std::vector<std::byte> read() const;
  /// Into `size()` bytes.
  void read(std::span<std::byte> bytes) const;
  /// Sets the value and all its copies; `bytes` has `size()` bytes.
  void write(std::span<const std::byte> bytes) const;

private:
  std::vector<Pieces> places;
  std::vector<HostCopy *> copies;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_EXECUTOR_VARIABLEVALUE_H
