//===- ShuffleTest.cpp - the order of the examples ------------------------===//
//
// The same values as in test/python/test_shuffle.py.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/Shuffle.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace lockstep::runtime;

namespace {

using Order = std::vector<uint64_t>;

/// CRC-32 as in zlib, of the little-endian bytes.
uint32_t checksum(const Order &order) {
  uint32_t crc = ~0u;
  for (uint64_t value : order)
    for (unsigned byte = 0; byte < 8; ++byte) {
      crc ^= static_cast<uint8_t>(value >> (8 * byte));
      for (unsigned bit = 0; bit < 8; ++bit)
        crc = (crc >> 1) ^ (crc & 1 ? 0xedb88320 : 0);
    }
  return ~crc;
}

} // namespace

TEST(Shuffle, Words) {
  ShuffleStream stream(0, 0);
  for (uint64_t word :
       std::vector<uint64_t>{0x238275bc38fcbe91, 0xf89a2566b5822c54,
                             0x47200e1d9780fa44, 0xe710dc7a64e2470a})
    EXPECT_EQ(stream.next(), word);
}

TEST(Shuffle, Orders) {
  EXPECT_EQ(shuffledOrder(0, 0, 10), (Order{4, 7, 0, 5, 9, 3, 6, 2, 8, 1}));
  EXPECT_EQ(shuffledOrder(0, 1, 10), (Order{7, 8, 4, 0, 9, 2, 6, 3, 5, 1}));
  EXPECT_EQ(shuffledOrder(1, 0, 10), (Order{1, 9, 0, 7, 4, 2, 5, 3, 8, 6}));
  EXPECT_EQ(shuffledOrder(~uint64_t(0), 7, 12),
            (Order{1, 5, 6, 3, 4, 2, 7, 0, 11, 10, 9, 8}));
  EXPECT_EQ(shuffledOrder(5, 5, 0), Order());
  EXPECT_EQ(shuffledOrder(5, 5, 1), Order{0});
}

TEST(Shuffle, LongOrder) {
  Order order = shuffledOrder(3, 2, 100'000);
  EXPECT_EQ(checksum(order), 0x5c607956);
  std::sort(order.begin(), order.end());
  for (uint64_t i = 0; i < order.size(); ++i)
    ASSERT_EQ(order[i], i);
}

// Draws that would favour small numbers are repeated; with a bound just above
// 2^63 half of them are, so this would show a wrong comparison at once.
TEST(Shuffle, DrawsStayBelowTheBound) {
  ShuffleStream stream(0, 0);
  uint64_t bound = (uint64_t(1) << 63) + 1;
  for (unsigned i = 0; i < 1000; ++i)
    EXPECT_LT(stream.nextBelow(bound), bound);
}
