//===- VariableValue.cpp --------------------------------------------------===//

#include "runtime/executor/VariableValue.h"

#include "runtime/device/HostCopy.h"

#include <algorithm>
#include <cstring>

namespace lockstep::runtime {

std::span<const std::span<std::byte>> VariableValue::pieces() const {
  // After a failure of the device, the host's bytes stay as they were.
  for (HostCopy *copy : copies)
    (void)copy->fetch();
  return layout();
}

uint64_t VariableValue::size() const {
  uint64_t bytes = 0;
  for (std::span<std::byte> piece : layout())
    bytes += piece.size();
  return bytes;
}

bool VariableValue::operator==(const VariableValue &other) const {
  if (size() != other.size())
    return false;
  // The boundaries of the pieces of the two values may differ.
  std::span<const std::byte> mine, theirs;
  auto mineNext = pieces().begin(), theirsNext = other.pieces().begin();
  for (uint64_t left = size(); left != 0;) {
    while (mine.empty())
      mine = *mineNext++;
    while (theirs.empty())
      theirs = *theirsNext++;
    size_t bytes = std::min(mine.size(), theirs.size());
    if (std::memcmp(mine.data(), theirs.data(), bytes) != 0)
      return false;
    mine = mine.subspan(bytes);
    theirs = theirs.subspan(bytes);
    left -= bytes;
  }
  return true;
}

std::vector<std::byte> VariableValue::read() const {
  std::vector<std::byte> bytes(size());
  read(bytes);
  return bytes;
}

void VariableValue::read(std::span<std::byte> bytes) const {
  auto next = bytes.begin();
  for (std::span<std::byte> piece : pieces())
    next = std::copy(piece.begin(), piece.end(), next);
}

void VariableValue::write(std::span<const std::byte> bytes) const {
  for (HostCopy *copy : copies)
    (void)copy->edit();
  for (const Pieces &place : places) {
    std::span<const std::byte> rest = bytes;
    for (std::span<std::byte> piece : place) {
      if (piece.data())
        std::copy_n(rest.begin(), piece.size(), piece.begin());
      rest = rest.subspan(piece.size());
    }
  }
  for (HostCopy *copy : copies)
    (void)copy->flush();
}

} // namespace lockstep::runtime
