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
  EXPECT_EQ(parseMemorySize("17B"), 17);
  for (const char *same : {"2G", "2GiB", "2048MB", "2048M", "2048MiB"})
    EXPECT_EQ(parseMemorySize(same), int64_t(2) << 30) << same;
  for (const char *wrong : {"", "GB", "much", "-1", "0", "1TB", "1 GB", "1e3",
                            "0GB", "-1GB", "17", "52.5", "1iB", "1KBB"})
    EXPECT_EQ(parseMemorySize(wrong), std::nullopt) << wrong;
}

TEST(MemorySizeTest, AMissingUnitIsSaid) {
  EXPECT_EQ(explainMemorySize("52.5"),
            "a size with a unit, such as 54GB, 512MiB or 4096B, but got "
            "'52.5', which has no unit; '52.5GB' is 56371445760 bytes (52.50 "
            "GiB)");
  EXPECT_EQ(explainMemorySize("much"), "a size with a unit, such as 54GB, "
                                       "512MiB or 4096B, but got 'much'");
}

TEST(MemorySizeTest, TheRangeOfSizesIsSaid) {
  for (const char *outside : {"0GB", "0.1B", "9999999999GB"})
    EXPECT_EQ(explainMemorySize(outside),
              std::string("a size from 1B to 1048576GB, but got '") + outside +
                  "'");
}

TEST(MemorySizeTest, WrittenSizesAreReadAgain) {
  EXPECT_EQ(writeMemorySize(int64_t(30) << 30), "30GB");
  EXPECT_EQ(writeMemorySize(*parseMemorySize("52.5GB")), "52.5GB");
  EXPECT_EQ(writeMemorySize(*parseMemorySize("59.13GB")), "59.13GB");
  EXPECT_EQ(writeMemorySize(60 << 20), "60MB");
  EXPECT_EQ(writeMemorySize((60 << 20) + 1024), "61441KB");
  EXPECT_EQ(writeMemorySize(1025), "2KB");
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
