//===- FiniteSearch.cpp ---------------------------------------------------===//

#include "runtime/device/FiniteSearch.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace lockstep::runtime {

using artifact::ElementType;

// As in device/cuda/Reduce.cu.
static constexpr std::string_view values[] = {"nan", "inf", "-inf"};

std::string_view NonFinite::value() const { return values[code % 4]; }

uint64_t exponentBits(ElementType element) {
  switch (element) {
  case ElementType::f16:
    return 0x7c00;
  case ElementType::bf16:
    return 0x7f80;
  case ElementType::f32:
    return 0x7f800000;
  case ElementType::f64:
    return 0x7ff0000000000000;
  default:
    return 0;
  }
}

template <typename Bits> static void search(const FiniteSearch &search) {
  auto exponent = Bits(exponentBits(search.element));
  auto at = [&](uint64_t i) {
    Bits bits;
    std::memcpy(&bits, search.tensor + i * sizeof(Bits), sizeof(Bits));
    return bits;
  };
  auto isFinite = [&](uint64_t i) { return (at(i) & exponent) != exponent; };
  // Compilers vectorize a block without branches.
  constexpr uint64_t block = 1024;
  for (uint64_t begin = 0; begin < search.elements; begin += block) {
    uint64_t end = std::min(search.elements, begin + block), first = begin;
    Bits any = 0;
    for (uint64_t i = begin; i < end; ++i)
      any |= Bits(!isFinite(i));
    if (!any)
      continue;
    while (isFinite(first))
      ++first;
    Bits mantissa = (Bits(1) << std::countr_zero(exponent)) - 1;
    uint64_t kind = at(first) & mantissa                      ? 0
                    : at(first) >> (8 * sizeof(Bits) - 1) & 1 ? 2
                                                              : 1;
    *search.finding = {search.order, 4 * first + kind};
    return;
  }
}

void searchOnHost(const FiniteSearch &given) {
  if (given.finding->order < given.order)
    return;
  switch (given.element) {
  case ElementType::f16:
  case ElementType::bf16:
    return search<uint16_t>(given);
  case ElementType::f32:
    return search<uint32_t>(given);
  case ElementType::f64:
    return search<uint64_t>(given);
  default:
    return;
  }
}

} // namespace lockstep::runtime
