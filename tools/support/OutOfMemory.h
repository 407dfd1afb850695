//===- OutOfMemory.h - the end of a tool without memory ---------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_SUPPORT_OUTOFMEMORY_H
#define LOCKSTEP_TOOLS_SUPPORT_OUTOFMEMORY_H

namespace lockstep::tools {

/// From now on the process, in whichever thread memory runs out, says "TOOL:
/// error: out of memory" and ends with status 1. Large memory, like that of
/// tensors, is not meant: whoever asks for that says how much it would have
/// been.
void endWhenOutOfMemory(const char *tool);

} // namespace lockstep::tools

#endif // LOCKSTEP_TOOLS_SUPPORT_OUTOFMEMORY_H
