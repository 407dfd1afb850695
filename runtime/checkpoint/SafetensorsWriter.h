//===- SafetensorsWriter.h - writing safetensors ----------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_CHECKPOINT_SAFETENSORSWRITER_H
#define LOCKSTEP_RUNTIME_CHECKPOINT_SAFETENSORSWRITER_H

#include "runtime/checkpoint/FileCalls.h"
#include "runtime/schema/Types.h"
#include "runtime/support/Status.h"

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace lockstep::runtime {

/// A tensor to write: its bytes are the concatenation of `parts`, row-major.
/// Not owned.
struct TensorToWrite {
  std::string name;
  artifact::ElementType element = artifact::ElementType::f32;
  std::vector<int64_t> shape;
  std::vector<std::span<const std::byte>> parts;
};

/// Writes a file atomically (see AtomicFile.h). The bytes do not depend on the
/// order of tensors and metadata: tensors are sorted by size of element,
/// largest first, so that each is aligned, then by name. Metadata `digestKey`
/// with the value `noDigest` get the digest of the file (see
/// SafetensorsHeader.h). Errors: a name twice, parts that do not have the size
/// of the shape, and those of the file system.
Status writeSafetensors(const std::string &path,
                        std::vector<TensorToWrite> tensors,
                        const std::map<std::string, std::string> &metadata,
                        FileCalls &calls = FileCalls::system());

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_CHECKPOINT_SAFETENSORSWRITER_H
