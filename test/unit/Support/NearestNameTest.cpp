//===- NearestNameTest.cpp - Tests of suggestions in messages -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Support/NearestName.h"
#include "gtest/gtest.h"
#include <string>
#include <vector>

using namespace mf;

namespace {

TEST(NearestNameTest, ANameWithFewMistakesIsFound) {
  EXPECT_EQ(findNearestName("recomputee", {"recompute", "swap"}), "recompute");
  EXPECT_EQ(findNearestName("cach_gain", {"bytes", "cache_gain"}),
            "cache_gain");
  EXPECT_EQ(findNearestName("dq", {"dp", "mp"}), "dp");
}

TEST(NearestNameTest, TheFirstOfEquallyNearNamesIsTaken) {
  EXPECT_EQ(findNearestName("ab", {"xb", "ax"}), "xb");
}

TEST(NearestNameTest, NothingIsFoundIfMostIsDifferent) {
  EXPECT_EQ(findNearestName("xyz", {"recompute", "swap"}), "");
  EXPECT_EQ(findNearestName("x", {}), "");
  EXPECT_EQ(findNearestName(std::string(5000, 'a'), {"a"}), "");
}

TEST(NearestNameTest, TheSuggestionIsTheEndOfAMessage) {
  const std::vector<std::string> names = {"recompute", "swap"};
  EXPECT_EQ(suggestName("swep", names), "; did you mean 'swap'?");
  EXPECT_EQ(suggestName("layers", names), "");
}

TEST(NearestNameTest, AFixedListIsPrintedIfNoNameIsNear) {
  EXPECT_EQ(suggestOrListNames("swep", {"recompute", "swap"}),
            "; did you mean 'swap'?");
  EXPECT_EQ(suggestOrListNames("layers", {"recompute", "swap"}),
            "; known are recompute, swap");
  EXPECT_EQ(suggestOrListNames("layers", {}), "");
}

} // namespace
