//===- Liveness.cpp - when the buffers of a program are in use ------------===//

#include "tools/lockstep-inspect/Inspection.h"

#include <algorithm>

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
  std::sort(buffers.begin(), buffers.end(),
            [](const BufferInfo *a, const BufferInfo *b) {
              return a->offset < b->offset;
            });
  PeakInfo peak;
  for (uint32_t command = 0; command < program.commands.size(); ++command) {
    uint64_t bytes = 0, end = 0;
    for (const BufferInfo *buffer : buffers) {
      if (command < buffer->live->first || command > buffer->live->last)
        continue;
      uint64_t bufferEnd = buffer->offset + buffer->size;
      if (bufferEnd > end) {
        bytes += bufferEnd - std::max(end, buffer->offset);
        end = bufferEnd;
      }
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
