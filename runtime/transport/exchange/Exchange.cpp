//===- Exchange.cpp -------------------------------------------------------===//

#include "runtime/transport/exchange/Exchange.h"

#include <fmt/format.h>

namespace lockstep::runtime {

const std::byte *MessageReader::take(uint64_t size) {
  static constexpr std::byte nothing{};
  if (size == 0)
    return &nothing;
  while (!pieces.empty() && used == pieces.front().size) {
    pieces = pieces.subspan(1);
    used = 0;
  }
  if (pieces.empty() || size > pieces.front().size - used)
    return nullptr;
  const std::byte *bytes = pieces.front().bytes + used;
  used += size;
  return bytes;
}

void Exchange::sendTo(uint32_t phase, uint32_t peer) {
  Outgoing &outgoing = phases[phase].outgoing.emplace_back();
  outgoing.message.to = peers[peer].executor;
  outgoing.message.tag.part = phase;
}

void Exchange::receiveFrom(uint32_t phase, uint32_t peer) {
  receiveFrom(phase, peer, {peer});
}

void Exchange::receiveFrom(uint32_t phase, uint32_t peer,
                           std::vector<uint32_t> sources) {
  phases[phase].senders.push_back({peer, std::move(sources)});
}

Status Exchange::tooShort(uint32_t peer) const {
  return corrupted(fmt::format(
      "a message of executor {} does not fit the sizes that it names",
      peers[peer].executor));
}

} // namespace lockstep::runtime
