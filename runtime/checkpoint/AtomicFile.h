//===- AtomicFile.h - atomic writes of files --------------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_CHECKPOINT_ATOMICFILE_H
#define LOCKSTEP_RUNTIME_CHECKPOINT_ATOMICFILE_H

#include "runtime/checkpoint/FileCalls.h"
#include "runtime/support/Status.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace lockstep::runtime {

/// Writes a file under a temporary name of its own (PATH.PROCESS-NUMBER.tmp) in
/// the same folder. `commit` syncs the file, renames it and syncs the folder,
/// so that after a crash, even of the machine, the file has the old content or
/// the new one. Without a `commit` the temporary file is removed; a process
/// that is killed leaves it behind. Errors name the file.
class AtomicFile {
public:
  /// `calls` must outlive the file.
  static Expected<AtomicFile> create(const std::string &path,
                                     FileCalls &calls = FileCalls::system());
  ~AtomicFile();
  AtomicFile(AtomicFile &&other) noexcept;
  AtomicFile &operator=(AtomicFile &&) = delete;

  Status write(std::span<const std::byte> bytes);
  Status commit();

private:
  AtomicFile(std::string path, FileCalls &calls)
      : path(std::move(path)), calls(&calls) {}
  Status failure(const char *what) const;

  std::string path, temporary;
  FileCalls *calls;
  int descriptor = -1;
};

/// Whether a name is that of a temporary file.
bool isTemporaryName(std::string_view name);

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_CHECKPOINT_ATOMICFILE_H
