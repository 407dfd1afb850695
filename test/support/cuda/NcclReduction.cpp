//===- NcclReduction.cpp - reductions by the stand-in for NCCL ------------===//

#include "NcclReduction.h"

#include "LibraryCalls.h"
#include "MemoryTable.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <type_traits>
#include <vector>

using namespace lockstep::standin;

NcclReduction::~NcclReduction() {
  if (received)
    MemoryTable::get().free(received);
}

static uint64_t sizeOfType(ncclDataType_t type) {
  switch (type) {
  case ncclInt8:
  case ncclUint8:
    return 1;
  case ncclFloat16:
  case ncclBfloat16:
    return 2;
  case ncclInt32:
  case ncclUint32:
  case ncclFloat32:
    return 4;
  case ncclInt64:
  case ncclUint64:
  case ncclFloat64:
    return 8;
  default:
    return 0;
  }
}

uint64_t NcclReduction::bytes() const { return count * sizeOfType(type); }

std::string NcclReduction::prepare(const void *context) {
  if (!sizeOfType(type))
    return "no elements of this type";
  if (operation != ncclSum && operation != ncclProd && operation != ncclMin &&
      operation != ncclMax)
    return "no such operation";
  MemoryTable &table = MemoryTable::get();
  for (auto [address, size] :
       {std::pair(operand, operandBytes()), std::pair(result, bytes())}) {
    std::optional<Allocation> memory = table.find(address, size);
    if (!memory || memory->context != context)
      return "the memory is not of this GPU";
  }
  uint64_t inPlace = isScattered ? sent(rank) : operand;
  if (result != inPlace && result < operand + operandBytes() &&
      operand < result + bytes())
    return "operand and result overlap";
  std::optional<uint64_t> memory =
      table.allocate(context, uint64_t(size) * bytes());
  if (!memory)
    return "no memory for what is received";
  received = *memory;
  return "";
}

/// Integers wrap around.
template <typename T> static T combine(ncclRedOp_t operation, T left, T right) {
  if (operation == ncclMin)
    return std::min(left, right);
  if (operation == ncclMax)
    return std::max(left, right);
  if constexpr (std::is_integral_v<T>) {
    auto x = uint64_t(left), y = uint64_t(right);
    return T(operation == ncclProd ? x * y : x + y);
  } else {
    return operation == ncclProd ? left * right : left + right;
  }
}

template <typename T>
static void reduceIntegers(ncclRedOp_t operation, std::byte *to,
                           const std::byte *from, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    T left, right;
    std::memcpy(&left, to + i * sizeof(T), sizeof(T));
    std::memcpy(&right, from + i * sizeof(T), sizeof(T));
    left = combine(operation, left, right);
    std::memcpy(to + i * sizeof(T), &left, sizeof(T));
  }
}

static void reduceFloats(ncclRedOp_t operation, std::byte *to,
                         const std::byte *from, uint64_t count, Float type) {
  uint64_t size = sizeOf(type);
  for (uint64_t i = 0; i < count; ++i)
    store(to + i * size, type,
          combine(operation, load(to + i * size, type),
                  load(from + i * size, type)));
}

static void reduceInto(ncclDataType_t type, ncclRedOp_t operation,
                       std::byte *to, const std::byte *from, uint64_t count) {
  switch (type) {
  case ncclInt8:
    return reduceIntegers<int8_t>(operation, to, from, count);
  case ncclUint8:
    return reduceIntegers<uint8_t>(operation, to, from, count);
  case ncclInt32:
    return reduceIntegers<int32_t>(operation, to, from, count);
  case ncclUint32:
    return reduceIntegers<uint32_t>(operation, to, from, count);
  case ncclInt64:
    return reduceIntegers<int64_t>(operation, to, from, count);
  case ncclUint64:
    return reduceIntegers<uint64_t>(operation, to, from, count);
  case ncclFloat16:
    return reduceFloats(operation, to, from, count, Float::F16);
  case ncclBfloat16:
    return reduceFloats(operation, to, from, count, Float::BF16);
  case ncclFloat32:
    return reduceFloats(operation, to, from, count, Float::F32);
  default:
    return reduceFloats(operation, to, from, count, Float::F64);
  }
}

void NcclReduction::compute() const {
  std::vector<std::byte> sum(bytes());
  for (int peer = size - 1; peer >= 0; --peer) {
    const std::byte *from =
        MemoryTable::host(peer == rank ? sent(rank) : arrival(peer));
    if (peer == size - 1)
      std::memcpy(sum.data(), from, bytes());
    else
      reduceInto(type, operation, sum.data(), from, count);
  }
  std::memcpy(MemoryTable::host(result), sum.data(), bytes());
}
