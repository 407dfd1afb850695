//===- NpzFile.h - a container of .npy arrays -------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DATA_NPZFILE_H
#define LOCKSTEP_RUNTIME_DATA_NPZFILE_H

#include "runtime/data/NpyArray.h"
#include "runtime/support/Status.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct zip;

namespace lockstep::runtime {

/// An open .npz: a ZIP file whose members `NAME.npy` are stored or deflated, as
/// `numpy.savez` and `numpy.savez_compressed` write it. Arrays are read on
/// demand. Errors name the file and the member.
class NpzFile {
public:
  /// Errors: not found, not a ZIP file, truncated, a name twice.
  static Expected<NpzFile> open(const std::string &path);

  /// Names of the arrays (without ".npy"), in the order of the file.
  const std::vector<std::string> &names() const { return members; }
  /// Reads one array into memory; its checksum is verified.
  Expected<NpyArray> read(std::string_view name) const;

private:
  struct Close {
    void operator()(struct zip *archive) const;
  };

  NpzFile() = default;

  std::string path;
  uint64_t fileSize = 0;
  std::unique_ptr<struct zip, Close> archive;
  std::vector<std::string> members;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DATA_NPZFILE_H
