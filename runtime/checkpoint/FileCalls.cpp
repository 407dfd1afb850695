//===- FileCalls.cpp - the calls that write a file ------------------------===//

#include "runtime/checkpoint/FileCalls.h"

#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

namespace lockstep::runtime {

int FileCalls::create(const char *path) {
  return open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
}
ssize_t FileCalls::write(int descriptor, const void *bytes, size_t size) {
  return ::write(descriptor, bytes, size);
}
int FileCalls::sync(int descriptor) { return fsync(descriptor); }
int FileCalls::close(int descriptor) { return ::close(descriptor); }
int FileCalls::rename(const char *from, const char *to) {
  return std::rename(from, to);
}
int FileCalls::openFolder(const char *path) {
  return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}
int FileCalls::remove(const char *path) { return unlink(path); }

FileCalls &FileCalls::system() {
  static FileCalls calls;
  return calls;
}

} // namespace lockstep::runtime
