//===- Dataset.h - named arrays of examples ---------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_DATA_DATASET_H
#define LOCKSTEP_RUNTIME_DATA_DATASET_H

#include "runtime/data/NpyArray.h"
#include "runtime/data/NpzFile.h"
#include "runtime/support/Status.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::runtime {

/// Arrays by name: the members of an .npz file, or the files NAME.npy of a
/// folder. The first dimension of an array counts examples. Arrays of an .npz
/// and small files of a folder are read into memory, both on demand.
class Dataset {
public:
  /// Errors: no such file or folder, not an .npz, a folder without .npy files.
  static Expected<Dataset> open(const std::string &path);

  const std::string &path() const { return source; }
  /// In the order of the file; sorted for a folder.
  const std::vector<std::string> &names() const { return arrayNames; }
  bool contains(std::string_view name) const;
  Expected<std::shared_ptr<const NpyArray>> array(std::string_view name) const;

private:
  Dataset() = default;

  std::string source;
  std::vector<std::string> arrayNames;
  /// Nothing if `source` is a folder.
  std::optional<NpzFile> container;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_DATA_DATASET_H
