//===- FuzzNpz.cpp - any bytes as an .npz file ----------------------------===//

#include "MemoryFile.h"

#include "runtime/data/NpzFile.h"

using namespace lockstep::runtime;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  test::MemoryFile input(bytes, size);
  Expected<NpzFile> file = NpzFile::open(input.path());
  if (!file)
    return 0;
  for (const std::string &name : file->names()) {
    Expected<NpyArray> array = file->read(name);
    if (array && array->data().size() != array->type().bytes)
      std::abort();
    // Reads every byte that the array claims to have.
    if (array)
      (void)areBooleans(array->data());
  }
  return 0;
}
