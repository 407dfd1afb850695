//===- MemoryTest.cpp - blocks between guard pages ------------------------===//

#include "runtime/support/Memory.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace lockstep::runtime;

namespace {

bool isZero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(
      bytes, [](std::byte byte) { return byte == std::byte(0); });
}

/// Writes where an optimizer cannot see that it must not.
void writeAt(std::byte *address) {
  *const_cast<volatile std::byte *>(address) = std::byte(1);
}

class MemoryTest : public testing::TestWithParam<uint64_t> {};
using MemoryDeathTest = MemoryTest;

// A byte, around a page, and around where huge pages are asked for.
INSTANTIATE_TEST_SUITE_P(Sizes, MemoryTest,
                         testing::Values(1, 64, 4095, 4096, 4097, (4 << 20) - 1,
                                         4 << 20, (6 << 20) + 100));
INSTANTIATE_TEST_SUITE_P(Sizes, MemoryDeathTest,
                         testing::Values(1, 64, 4095, 4096, 4097, (4 << 20) - 1,
                                         4 << 20, (6 << 20) + 100));

TEST_P(MemoryTest, isZeroAlignedAndWritable) {
  Expected<Memory> memory = Memory::allocate(GetParam());
  ASSERT_TRUE(memory.ok()) << memory.status().message();
  EXPECT_EQ(memory->size(), GetParam());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory->data()) % 64, 0u);
  EXPECT_TRUE(isZero({memory->data(), memory->size()}));
  std::fill_n(memory->data(), memory->size(), std::byte(7));
  EXPECT_EQ(memory->data()[GetParam() - 1], std::byte(7));
}

TEST_P(MemoryDeathTest, theNextPageFaults) {
  Expected<Memory> memory = Memory::allocate(GetParam());
  ASSERT_TRUE(memory.ok());
  uint64_t pages = (GetParam() + 4095) / 4096 * 4096;
  EXPECT_DEATH(writeAt(memory->data() + pages), "");
}

TEST_P(MemoryDeathTest, thePageBeforeFaults) {
  Expected<Memory> memory = Memory::allocate(GetParam());
  ASSERT_TRUE(memory.ok());
  EXPECT_DEATH(writeAt(memory->data() - 4096), "");
}

TEST_P(MemoryDeathTest, whatIsReadOnlyFaults) {
  Expected<Memory> memory = Memory::allocate(GetParam());
  ASSERT_TRUE(memory.ok());
  memory->makeReadOnly();
  EXPECT_TRUE(isZero({memory->data(), memory->size()}));
  EXPECT_DEATH(writeAt(memory->data()), "");
  EXPECT_DEATH(writeAt(memory->data() + GetParam() - 1), "");
}

TEST(Memory, nothingIsNoBlock) {
  Expected<Memory> memory = Memory::allocate(0);
  ASSERT_TRUE(memory.ok());
  EXPECT_EQ(memory->data(), nullptr);
  EXPECT_EQ(memory->size(), 0u);
}

TEST(Memory, moreThanThereIsIsAnError) {
  for (uint64_t bytes : {~uint64_t(0), ~uint64_t(0) - 4096, uint64_t(1) << 63,
                         uint64_t(1) << 60}) {
    Expected<Memory> memory = Memory::allocate(bytes);
    ASSERT_FALSE(memory.ok());
    EXPECT_EQ(memory.status().message(), "cannot allocate " +
                                             std::to_string(bytes) +
                                             " bytes: Cannot allocate memory");
  }
}

TEST(Arenas, blocksAreApartZeroAndAligned) {
  for (uint64_t bytes : {1, 100, 4096, 5000}) {
    Expected<Arenas> arenas = Arenas::allocate(3, bytes);
    ASSERT_TRUE(arenas.ok());
    for (uint32_t i = 0; i < 3; ++i) {
      std::span<std::byte> block = (*arenas)[i];
      ASSERT_EQ(block.size(), bytes);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(block.data()) % 64, 0u);
      // Not yet written through another one.
      EXPECT_TRUE(isZero(block));
      std::ranges::fill(block, std::byte(1));
    }
  }
}

TEST(Arenas, blocksOfNothingAreNull) {
  Expected<Arenas> arenas = Arenas::allocate(2, 0);
  ASSERT_TRUE(arenas.ok());
  EXPECT_EQ((*arenas)[0].data(), nullptr);
  EXPECT_EQ((*arenas)[1].data(), nullptr);
}

TEST(Arenas, moreThanThereIsIsAnError) {
  for (uint64_t bytes :
       {~uint64_t(0), ~uint64_t(0) - 4096, uint64_t(1) << 62}) {
    Expected<Arenas> arenas = Arenas::allocate(4, bytes);
    ASSERT_FALSE(arenas.ok());
    EXPECT_NE(arenas.status().message().find("Cannot allocate memory"),
              std::string::npos)
        << arenas.status().message();
  }
}

} // namespace
