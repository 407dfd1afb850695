//===- DriverOptions.h - what the environment chooses -----------*- C++ -*-===//
//
// LOCKSTEP_CUDA_SEED        of the random choices; by default 1
// LOCKSTEP_CUDA_DEVICES     their number; by default 1
// LOCKSTEP_CUDA_CAPABILITY  by default 9.0
// LOCKSTEP_CUDA_MEMORY      bytes of a device; by default 8 GiB
// LOCKSTEP_CUDA_MAPPING     how many devices, from the first one on, map memory
//                           that can be exported; by default all
// LOCKSTEP_CUDA_CUDNN       the version of cuDNN; by default 91900
// LOCKSTEP_CUDA_FAIL        faults, separated by commas, each KIND:N:
//   alloc:N   the N-th allocation of memory fails, as if there were no more
//   load:N    the N-th module is refused
//   launch:N  the N-th launch fails at the call
//   fault:N   the N-th launch that is executed accesses an illegal address
//   map:N     the N-th call of cuMemAddressReserve, cuMemMap and
//             cuMemSetAccess fails
//   register:N  the N-th registration of memory with NCCL fails
//   graph:N   there is no memory for the N-th graph
//   lost:N    with the N-th command that is executed, the device is lost
//   ecc:N     the same, for an error of its memory
//   transfer:N  the N-th group of transfers of NCCL fails at the call
//   product:N   the N-th product of cuBLASLt fails at the call
//   refused:N   the N-th product of cuBLASLt is refused at the call
//   link:N    the N-th query of the state of a communicator of NCCL whose last
//             call is known to have ended finds that its link is lost
// LOCKSTEP_CUDA_HANG        KERNEL:N: the N-th launch of kernels whose names
//                           begin so is executed without an end
// LOCKSTEP_CUDA_CACHE       a folder for the code that kernels are translated
//                           to, which processes share; by default none
// LOCKSTEP_CUDA_CALLS       a file, to which the process appends at its end how
//                           often it has called each function of the driver
//
// Numbers count from 1 and in the whole process.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_TEST_SUPPORT_CUDA_DRIVEROPTIONS_H
#define LOCKSTEP_TEST_SUPPORT_CUDA_DRIVEROPTIONS_H

#include <atomic>
#include <climits>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace lockstep::standin {

/// Counts events; the one that is named happens to fail.
class Injection {
public:
  void failAt(uint64_t number) { failing = number; }
  bool happens() { return ++count == failing; }

private:
  std::atomic<uint64_t> count{0};
  uint64_t failing = 0;
};

/// Counts calls of the driver's functions, if a file for them is named.
class CallCounts {
public:
  void writeTo(std::string name);
  void add(const char *function) {
    if (!file.empty())
      addKnown(function);
  }

private:
  void addKnown(const char *function);
  void write();

  std::string file;
  std::mutex mutex;
  std::map<std::string, uint64_t> counts;
};

struct DriverOptions {
  uint64_t seed = 1;
  int devices = 1;
  int mappingDevices = INT_MAX;
  /// Ten times the compute capability.
  unsigned capability = 90;
  uint64_t memory = uint64_t(8) << 30;
  size_t cudnnVersion = 91900;
  Injection map, registration;
  Injection alloc, load, launch, fault, graph, lost, ecc, transfer, product,
      refused, link;
  CallCounts calls;
  std::string hangingKernel;
  Injection hang;

  /// Read from the environment at the first call. DriverOptions that are not
  /// understood end the process: a test that needs them would test nothing.
  static DriverOptions &get();
};

} // namespace lockstep::standin

#endif // LOCKSTEP_TEST_SUPPORT_CUDA_DRIVEROPTIONS_H
