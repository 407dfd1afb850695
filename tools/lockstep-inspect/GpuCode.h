//===- GpuCode.h - what the code for GPUs needs of a GPU --------*- C++ -*-===//

#ifndef LOCKSTEP_TOOLS_LOCKSTEP_INSPECT_GPUCODE_H
#define LOCKSTEP_TOOLS_LOCKSTEP_INSPECT_GPUCODE_H

#include "runtime/artifact/Artifact.h"
#include "tools/support/Table.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::inspect {

/// What ptxas has assigned to a function.
struct AssemblyInfo {
  /// Of a thread.
  uint32_t registers = 0;
  /// Bytes of a thread that have no register: in the memory of the GPU.
  uint32_t spilledBytes = 0;
};

/// One launch of a kernel: a grid of blocks of threads.
struct GpuLaunchInfo {
  /// The function: the kernel's symbol, `$`, and the number of the launch.
  std::string function;
  int64_t blocks = 0, threads = 0;
  /// Memory that the threads of a block share.
  uint64_t sharedBytes = 0;
  std::optional<AssemblyInfo> assembly;
  /// The fraction of the threads of a multiprocessor that its registers, its
  /// shared memory and its blocks allow; `assembly` must be known.
  std::optional<double> occupancy;
};

/// The code for one kind of GPUs.
struct GpuCodeInfo {
  std::string target;
  std::vector<GpuLaunchInfo> launches;
};

/// The code for GPUs in an artifact, in its order. With `assembler`, the path
/// or name of NVIDIA's ptxas, what it says of each function is included. Error:
/// ptxas cannot be executed, or refuses the code.
runtime::Expected<std::vector<GpuCodeInfo>>
inspectGpuCode(const runtime::Artifact &artifact,
               const std::optional<std::string> &assembler);

/// A row for each launch.
tools::Table tableOf(const GpuCodeInfo &code);

} // namespace lockstep::inspect

#endif // LOCKSTEP_TOOLS_LOCKSTEP_INSPECT_GPUCODE_H
