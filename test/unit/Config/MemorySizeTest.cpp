//===- MemorySizeTest.cpp -------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Config/MemorySize.h"
#include "gmock/gmock.h"

using namespace mf;
using testing::ElementsAre;
using testing::Pair;

namespace {

TEST(MemorySizeTest, SizesAreReadWithTheirUnits) {
  EXPECT_EQ(parseMemorySize("2GB"), int64_t(2) << 30);
  EXPECT_EQ(parseMemorySize("0.5MB"), 1 << 19);
  EXPECT_EQ(parseMemorySize("3KB"), 3072);
  EXPECT_EQ(parseMemorySize("17"), 17);
  for (const char *wrong : {"", "GB", "much", "-1", "0", "1TB", "1 GB", "1e3"})
    EXPECT_EQ(parseMemorySize(wrong), std::nullopt) << wrong;
}

TEST(MemorySizeTest, LargeSizesAreSaidInGibToo) {
  EXPECT_EQ(describeMemorySize(57982058496), "57982058496 bytes (54.00 GiB)");
  EXPECT_EQ(describeMemorySize(61963264), "61963264 bytes (0.06 GiB)");
  EXPECT_EQ(describeMemorySize(5368710), "5368710 bytes (0.01 GiB)");
  EXPECT_EQ(describeMemorySize(5368709), "5368709 bytes");
  EXPECT_EQ(describeMemorySize(0), "0 bytes");
}

TEST(MemorySizeTest, LargestCategoryComesFirstAndEqualOnesByName) {
  EXPECT_THAT(
      sortBySize({{"a", 1}, {"b", 3}, {"d", 2}, {"c", 2}}),
      ElementsAre(Pair("b", 3), Pair("c", 2), Pair("d", 2), Pair("a", 1)));
}

} // namespace
