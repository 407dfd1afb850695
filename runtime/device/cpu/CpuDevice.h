//===- CpuDevice.h - the processors of the host -----------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DEVICE_CPU_CPUDEVICE_H
#define LOCKSTEP_RUNTIME_DEVICE_CPU_CPUDEVICE_H

#include "runtime/device/Device.h"

namespace lockstep::runtime {

/// A host device: workers execute the kernels.
std::unique_ptr<Device> makeCpuDevice();

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DEVICE_CPU_CPUDEVICE_H
