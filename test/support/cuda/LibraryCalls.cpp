//===- LibraryCalls.cpp - what the stand-ins for libraries share ----------===//

#include "LibraryCalls.h"

#include "MemoryTable.h"

#include <array>
#include <cmath>
#include <cstring>

namespace lockstep::standin {

uint64_t sizeOf(Float type) {
  switch (type) {
  case Float::F16:
  case Float::BF16:
    return 2;
  case Float::F32:
    return 4;
  case Float::F64:
    return 8;
  }
  return 0;
}

double load(const std::byte *from, Float type) {
  auto read = [&](auto value) {
    std::memcpy(&value, from, sizeof(value));
    return value;
  };
  switch (type) {
  case Float::F16:
    return double(read(_Float16()));
  case Float::BF16: {
    uint32_t bits = uint32_t(read(uint16_t())) << 16;
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }
  case Float::F32:
    return read(float());
  case Float::F64:
    return read(double());
  }
  return 0;
}

/// The nearest number of `bits` explicit bits of the mantissa, of which an f32
/// has more; ties go away from zero for tf32, to even else.
static float roundMantissa(float value, int bits, bool isTf32) {
  if (!std::isfinite(value))
    return value;
  uint32_t word;
  std::memcpy(&word, &value, sizeof(word));
  int dropped = 23 - bits;
  uint32_t half = uint32_t(1) << (dropped - 1);
  word += isTf32 ? half : half - 1 + (word >> dropped & 1);
  word &= ~((uint32_t(1) << dropped) - 1);
  std::memcpy(&value, &word, sizeof(value));
  return value;
}

float roundToTf32(float value) {
  return roundMantissa(value, 10, /*isTf32=*/true);
}

void store(std::byte *to, Float type, double value) {
  auto write = [&](auto narrow) { std::memcpy(to, &narrow, sizeof(narrow)); };
  switch (type) {
  case Float::F16:
    return write(_Float16(float(value)));
  case Float::BF16: {
    float rounded = roundMantissa(float(value), 7, /*isTf32=*/false);
    uint32_t bits;
    std::memcpy(&bits, &rounded, sizeof(bits));
    return write(uint16_t(bits >> 16 | (std::isnan(rounded) ? 0x40 : 0)));
  }
  case Float::F32:
    return write(float(value));
  case Float::F64:
    return write(value);
  }
}

float roundTo(float value, Float type) {
  std::array<std::byte, sizeof(double)> stored{};
  store(stored.data(), type, value);
  return float(load(stored.data(), type));
}

bool isOf(const Context *context, const void *address, uint64_t bytes) {
  auto begin = reinterpret_cast<uint64_t>(address);
  std::optional<Allocation> memory = MemoryTable::get().find(begin, bytes);
  return memory && memory->context == context && begin % leastAlignment == 0;
}

std::byte *hostOf(const void *address) {
  return MemoryTable::host(reinterpret_cast<uint64_t>(address));
}

void submitCall(Context *context, Stream *stream, void *workspace,
                uint64_t bytes, std::function<void()> compute) {
  context->submit(
      stream->lane,
      [=]() -> CUresult {
        auto own = uint32_t(Scheduler::get().draw());
        fillPattern(hostOf(workspace), bytes, own);
        compute();
        for (size_t at = 0; at < bytes; at += sizeof(own))
          if (std::memcmp(hostOf(workspace) + at, &own, sizeof(own)) != 0) {
            context->setError(CUDA_ERROR_LAUNCH_FAILED,
                              "two calls of libraries use the same working "
                              "memory");
            return CUDA_ERROR_LAUNCH_FAILED;
          }
        return CUDA_SUCCESS;
      },
      CommandKind::OnDevice);
}

void countCall(const char *name) { DriverOptions::get().calls.add(name); }

} // namespace lockstep::standin
