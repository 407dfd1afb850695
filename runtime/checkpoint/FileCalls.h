//===- FileCalls.h - the calls that write a file ----------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_CHECKPOINT_FILECALLS_H
#define LOCKSTEP_RUNTIME_CHECKPOINT_FILECALLS_H

#include <cstddef>
#include <sys/types.h>

namespace lockstep::runtime {

/// The system calls that write files, with their results and `errno`. Tests
/// replace them to simulate a failure of each.
class FileCalls {
public:
  virtual ~FileCalls() = default;

  /// Creates a file for writing; fails if the path exists, even as a link.
  /// Returns a descriptor, or -1.
  virtual int create(const char *path);
  virtual ssize_t write(int descriptor, const void *bytes, size_t size);
  virtual int sync(int descriptor);
  virtual int close(int descriptor);
  virtual int rename(const char *from, const char *to);
  /// A descriptor of a folder that can be synced, or -1.
  virtual int openFolder(const char *path);
  virtual int remove(const char *path);

  /// The calls of the system.
  static FileCalls &system();
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_CHECKPOINT_FILECALLS_H
