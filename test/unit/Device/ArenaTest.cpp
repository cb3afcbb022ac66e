//===- ArenaTest.cpp - Arenas of exactly the planned size -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Device/Arena.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>
#include <thread>

using namespace mf;
using ::testing::HasSubstr;

namespace {

std::unique_ptr<Arena> make(int64_t bytes, bool guard, bool poison = false) {
  Arena::Options options;
  options.guard = guard;
  options.poison = poison;
  llvm::Expected<std::unique_ptr<Arena>> arena =
      Arena::create("HBM", bytes, options);
  EXPECT_TRUE(static_cast<bool>(arena));
  return std::move(*arena);
}

std::string textOf(llvm::Error error) {
  return llvm::toString(std::move(error));
}

TEST(ArenaTest, IsAlignedAndWholeAtAnySize) {
  for (bool guard : {false, true})
    for (int64_t bytes : {0, 1, 63, 64, 65, 4096, 4097, 1000000}) {
      std::unique_ptr<Arena> arena = make(bytes, guard);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(arena->getBase()) % 64, 0u);
      EXPECT_EQ(arena->getBytes(), bytes);
      std::memset(arena->getBase(), 0x11, bytes);
      EXPECT_EQ(textOf(arena->checkCanaries()), "");
    }
}

TEST(ArenaTest, CanariesTellOfWritesOnBothSides) {
  std::unique_ptr<Arena> arena = make(1000, true);
  arena->getBase()[1000] = std::byte{1};
  EXPECT_THAT(textOf(arena->checkCanaries()),
              HasSubstr("0 bytes past its end of 1000 bytes"));
  arena->getBase()[1000] = std::byte{0xc5};
  arena->getBase()[-3] = std::byte{1};
  EXPECT_THAT(textOf(arena->checkCanaries()),
              HasSubstr("3 bytes before its start"));
}

TEST(ArenaDeathTest, ThePagePastTheEndIsInaccessible) {
  std::unique_ptr<Arena> arena = make(6400, true);
  volatile std::byte *base = arena->getBase();
  base[6399] = std::byte{1};
  EXPECT_DEATH(base[6400] = std::byte{1}, "");
}

TEST(ArenaTest, PoisonIsNaNInEveryTypeAndStaysInRange) {
  std::unique_ptr<Arena> arena = make(64, false, true);
  arena->poison(0, 64);
  float value;
  std::memcpy(&value, arena->getBase() + 4, 4);
  EXPECT_TRUE(std::isnan(value));
  std::memset(arena->getBase(), 0, 64);
  arena->poison(3, 6);
  const unsigned char expected[] = {0,    0,    0,    0x7f, 0xa0,
                                    0x7f, 0xa0, 0x7f, 0xa0, 0};
  EXPECT_EQ(std::memcmp(arena->getBase(), expected, sizeof(expected)), 0);
  arena->poison(60, 1000);
  arena->poison(-5, 3);
  arena->poison(1000, 3);
  EXPECT_EQ(arena->getBase()[59], std::byte{0});
  EXPECT_EQ(arena->getBase()[63], std::byte{0x7f});
}

TEST(ArenaTest, PoisonDoesNothingUnlessEnabled) {
  std::unique_ptr<Arena> arena = make(64, false);
  arena->poison(0, 64);
  EXPECT_EQ(arena->getBase()[0], std::byte{0});
}

TEST(ArenaTest, TouchKeepsTheFurthestEnd) {
  std::unique_ptr<Arena> arena = make(1000, false);
  EXPECT_EQ(arena->getTouchedBytes(), 0);
  std::thread other([&] {
    for (int i = 0; i < 500; ++i)
      arena->touch(i, 1);
  });
  for (int i = 0; i < 400; ++i)
    arena->touch(i, 2);
  other.join();
  EXPECT_EQ(arena->getTouchedBytes(), 500);
}

TEST(ArenaTest, ContainsOnlyItsOwnRange) {
  std::unique_ptr<Arena> arena = make(100, false);
  std::byte *base = arena->getBase();
  EXPECT_TRUE(arena->contains(base, 100));
  EXPECT_TRUE(arena->contains(base + 100, 0));
  EXPECT_FALSE(arena->contains(base + 1, 100));
  EXPECT_FALSE(arena->contains(base - 1, 1));
  EXPECT_FALSE(arena->contains(base, -1));
  EXPECT_FALSE(arena->contains(base, INT64_MAX));
}

TEST(ArenaTest, RefusesSizesThatCannotBe) {
  for (int64_t bytes : {int64_t{-1}, INT64_MAX, INT64_MIN}) {
    llvm::Expected<std::unique_ptr<Arena>> arena =
        Arena::create("HBM", bytes, {});
    ASSERT_FALSE(static_cast<bool>(arena));
    EXPECT_THAT(textOf(arena.takeError()), HasSubstr("HBM: cannot reserve"));
  }
}

} // namespace
