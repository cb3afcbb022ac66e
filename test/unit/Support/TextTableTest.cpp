//===- TextTableTest.cpp - Tests of tables and their numbers --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Support/TextTable.h"
#include "mf/Support/NumberText.h"
#include <gtest/gtest.h>

namespace {

TEST(TextTableTest, AlignsColumns) {
  mf::TextTable table({"stage", "peak"});
  table.addRow({"0", "12345"});
  table.addRow({"1", "6"});
  std::string text;
  llvm::raw_string_ostream os(text);
  table.print(os);
  EXPECT_EQ(text, "stage   peak\n"
                  "0      12345\n"
                  "1          6\n");
}

TEST(TextTableTest, RoundsToSixDigitsWithoutExponent) {
  EXPECT_EQ(mf::formatRounded(0), "0");
  EXPECT_EQ(mf::formatRounded(1132.6622), "1132.66");
  EXPECT_EQ(mf::formatRounded(0.25), "0.25");
  EXPECT_EQ(mf::formatRounded(1.0 / 3), "0.333333");
  EXPECT_EQ(mf::formatRounded(40), "40");
  EXPECT_EQ(mf::formatRounded(59055800320.0), "59055800320");
  EXPECT_EQ(mf::formatRounded(-12.5), "-12.5");
}

} // namespace
