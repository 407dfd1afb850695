//===- FileCalls.h - the calls that write a file ----------------*- C++ -*-===//

#ifndef LOCKSTEP_RUNTIME_CHECKPOINT_FILECALLS_H
#define LOCKSTEP_RUNTIME_CHECKPOINT_FILECALLS_H

#include <cstddef>
#include <sys/types.h>

namespace lockstep::runtime {

/// Every call to the operating system by which files get written, with its
/// results and `errno`. Tests put others in their place, to see what is left
/// when any one of them fails.
class FileCalls {
public:
  virtual ~FileCalls() = default;

  /// Creates a file for writing, where there is nothing yet, not even a link. A
  /// descriptor, or -1.
  virtual int create(const char *path);
  virtual ssize_t write(int descriptor, const void *bytes, size_t size);
  virtual int sync(int descriptor);
  virtual int close(int descriptor);
  virtual int rename(const char *from, const char *to);
  /// A descriptor of a folder that can be synced, or -1.
  virtual int openFolder(const char *path);
  virtual int remove(const char *path);

  /// Those of the system.
  static FileCalls &system();
};

} // namespace lockstep::runtime

#endif // LOCKSTEP_RUNTIME_CHECKPOINT_FILECALLS_H
