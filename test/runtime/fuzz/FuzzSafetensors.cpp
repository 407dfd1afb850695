//===- FuzzSafetensors.cpp - any bytes as a safetensors file --------------===//

#include "runtime/checkpoint/SafetensorsHeader.h"

#include <cstdlib>

using namespace lockstep::runtime;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  Expected<SafetensorsHeader> header =
      parseSafetensorsHeader(std::as_bytes(std::span(bytes, size)));
  if (!header)
    return 0;
  // The tensors of accepted files cover the data exactly.
  uint64_t total = 0;
  for (const SafetensorsEntry &tensor : header->tensors) {
    if (tensor.offset > size || tensor.type.bytes > size - tensor.offset)
      std::abort();
    total += tensor.type.bytes;
  }
  uint64_t headerSize = 0;
  for (unsigned i = 0; i < safetensorsPrefix; ++i)
    headerSize |= uint64_t(bytes[i]) << (8 * i);
  if (safetensorsPrefix + headerSize + total != size)
    std::abort();
  return 0;
}
