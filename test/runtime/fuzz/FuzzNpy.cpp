//===- FuzzNpy.cpp - any bytes as an .npy file ----------------------------===//

#include "runtime/data/NpyArray.h"

#include <cstdlib>
#include <cstring>

using namespace lockstep::runtime;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  Expected<AlignedBytes> file = AlignedBytes::allocate(size);
  if (!file)
    return 0;
  if (size > 0)
    std::memcpy(file->bytes().data(), bytes, size);
  Expected<NpyArray> array = NpyArray::fromMemory(std::move(*file));
  if (array && array->data().size() != array->type().bytes)
    std::abort();
  // Reads every byte that the array claims to have.
  if (array)
    (void)areBooleans(array->data());
  return 0;
}
