//===- ReduceShape.h - what host and GPU agree on in reductions -*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DEVICE_CUDA_REDUCESHAPE_H
#define LOCKSTEP_RUNTIME_DEVICE_CUDA_REDUCESHAPE_H

#include <stdint.h>

namespace lockstep::runtime {

/// Operands, or results, whose addresses are parameters of a kernel; also the
/// operands that one thread loads together.
inline constexpr uint32_t reduceDirect = 8;
/// Levels of the tree above groups of that many operands.
inline constexpr uint32_t reduceLevels = 9;
inline constexpr uint32_t reduceMostOperands = reduceDirect << reduceLevels;

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DEVICE_CUDA_REDUCESHAPE_H
