//===- Liveness.cpp - live ranges of buffers ------------------------------===//

#include "tools/lockstep-inspect/Inspection.h"

#include <algorithm>
#include <map>

namespace lockstep::inspect {

namespace {

void use(BufferInfo &buffer, uint32_t command) {
  if (!buffer.live)
    buffer.live = CommandRange{command, command};
  buffer.live->first = std::min(buffer.live->first, command);
  buffer.live->last = std::max(buffer.live->last, command);
}

/// The most bytes of `space` in use at one command. Buffers may share bytes:
/// those count once.
PeakInfo findPeak(const ProgramInfo &program, artifact::Space space) {
  std::vector<const BufferInfo *> buffers;
  for (const BufferInfo &buffer : program.buffers)
    if (buffer.space == space && buffer.live)
      buffers.push_back(&buffer);
  // Between two adjacent bounds, each buffer contains either all bytes or none.
  std::vector<uint64_t> bounds;
  std::map<uint32_t, std::vector<std::pair<const BufferInfo *, int>>> changes;
  for (const BufferInfo *buffer : buffers) {
    bounds.push_back(buffer->offset);
    bounds.push_back(buffer->offset + buffer->size);
    changes[buffer->live->first].emplace_back(buffer, 1);
    changes[buffer->live->last + 1].emplace_back(buffer, -1);
  }
  std::sort(bounds.begin(), bounds.end());
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  std::vector<int> users(bounds.size());
  PeakInfo peak;
  uint64_t bytes = 0;
  for (const auto &[command, changed] : changes) {
    for (auto [buffer, change] : changed)
      for (size_t i =
               std::lower_bound(bounds.begin(), bounds.end(), buffer->offset) -
               bounds.begin();
           bounds[i] < buffer->offset + buffer->size; ++i) {
        bool wasUsed = users[i] > 0;
        users[i] += change;
        if (wasUsed != (users[i] > 0))
          bytes +=
              wasUsed ? bounds[i] - bounds[i + 1] : bounds[i + 1] - bounds[i];
      }
    if (bytes > peak.bytes)
      peak = {bytes, command};
  }
  return peak;
}

} // namespace

void findLifetimes(ProgramInfo &program) {
  for (uint32_t i = 0; i < program.commands.size(); ++i)
    for (const std::vector<uint32_t> *buffers :
         {&program.commands[i].reads, &program.commands[i].writes,
          &program.commands[i].scratch})
      for (uint32_t buffer : *buffers)
        use(program.buffers[buffer], i);
  for (const CollectiveInfo &collective : program.collectives)
    for (uint32_t wait : collective.waits) {
      for (const OperandInfo &operand : collective.operands)
        use(program.buffers[operand.buffer], wait);
      for (uint32_t result : collective.results)
        use(program.buffers[result], wait);
    }
  for (const OutputInfo &output : program.outputs)
    use(program.buffers[output.buffer],
        program.commands.empty()
            ? 0
            : static_cast<uint32_t>(program.commands.size() - 1));
  // Loops are sorted by their ends: an inner one comes before those around it.
  for (const LoopInfo &loop : program.loops)
    for (BufferInfo &buffer : program.buffers)
      if (buffer.live && buffer.live->first < loop.commands.first &&
          buffer.live->last >= loop.commands.first)
        buffer.live->last = std::max(buffer.live->last, loop.commands.last);
  program.replicaPeak = findPeak(program, artifact::Space::replica);
  program.sharedPeak = findPeak(program, artifact::Space::shared);
}

} // namespace lockstep::inspect
