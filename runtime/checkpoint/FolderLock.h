//===- FolderLock.h - exclusive use of a folder -----------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_CHECKPOINT_FOLDERLOCK_H
#define LOCKSTEP_RUNTIME_CHECKPOINT_FOLDERLOCK_H

#include "runtime/support/Status.h"

#include <string>
#include <utility>

namespace lockstep::runtime {

/// Keeps other runs from saving to the same folder: a lock of the operating
/// system on the file "lock" in it, which is released when the process ends for
/// any reason. The file remains, with the number of the last process that held
/// the lock. Move-only.
class FolderLock {
public:
  /// Holds nothing.
  FolderLock() = default;
  /// Locks `folder`, which exists, and removes temporary files left by killed
  /// runs. Errors: another process holds the lock, the file system has no
  /// locks.
  static Expected<FolderLock> acquire(const std::string &folder);
  ~FolderLock();
  FolderLock(FolderLock &&other) noexcept
      : descriptor(std::exchange(other.descriptor, -1)) {}
  FolderLock &operator=(FolderLock &&other) noexcept {
    std::swap(descriptor, other.descriptor);
    return *this;
  }

private:
  int descriptor = -1;
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_CHECKPOINT_FOLDERLOCK_H
