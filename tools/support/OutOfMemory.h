//===- OutOfMemory.h - exit without memory ----------------------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_SUPPORT_OUTOFMEMORY_H
#define LOCKSTEP_TOOLS_SUPPORT_OUTOFMEMORY_H

namespace lockstep::tools {

/// From now on the process prints "TOOL: error: out of memory" and ends with
/// status 1 when memory runs out in any thread. Large allocations, such as
/// tensors, are handled by their callers, which report the size.
void endWhenOutOfMemory(const char *tool);

} // namespace lockstep::tools

#endif // LOCKSTEP_TOOLS_SUPPORT_OUTOFMEMORY_H
