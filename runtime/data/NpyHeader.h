//===- NpyHeader.h - the header of an .npy file -----------------*- C++ -*-===//
//
// Format: numpy/lib/_format_impl.py ("Format Version 1.0" to "3.0"). An .npy
// file is
//
//   "\x93NUMPY" major minor | header length | header | data
//
// where the length is u16 in version 1 and u32 in versions 2 and 3, and the
// header is the text of a Python dict: {'descr': '<f4', 'fortran_order': False,
// 'shape': (3, 4), }.
//
//===----------------------------------------------------------------------===//

#ifndef LOCKSTEP_RUNTIME_DATA_NPYHEADER_H
#define LOCKSTEP_RUNTIME_DATA_NPYHEADER_H

#include "runtime/schema/Types.h"
#include "runtime/support/Status.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace lockstep::runtime {

struct NpyHeader {
  /// Static shape; `type.bytes` is the size of the data.
  TensorInfo type;
  /// Offset of the data in the file, in bytes.
  uint64_t dataOffset = 0;
};

/// Reads the header of a whole .npy file, or of the first bytes of one, and
/// checks it: known version, little-endian element type of Lockstep, C order, a
/// valid size. Does not read the data. Errors do not name the file.
Expected<NpyHeader> parseNpyHeader(std::span<const std::byte> file);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DATA_NPYHEADER_H
