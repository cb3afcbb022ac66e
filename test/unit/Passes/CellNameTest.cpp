//===- CellNameTest.cpp - Places in the Cell tree -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/CellName.h"
#include "gtest/gtest.h"

using mf::ir::getLayerNumberOfCell;

TEST(CellNameTest, ReadsLayerNumbers) {
  EXPECT_EQ(getLayerNumberOfCell("layers.31.attention.wq.matmul"), 31);
  EXPECT_EQ(getLayerNumberOfCell("layers.2"), 2);
  EXPECT_EQ(getLayerNumberOfCell("layers.x.mul"), std::nullopt);
  EXPECT_EQ(getLayerNumberOfCell("layers.2x.mul"), std::nullopt);
  EXPECT_EQ(getLayerNumberOfCell("norm_out.norm"), std::nullopt);
  EXPECT_EQ(getLayerNumberOfCell(""), std::nullopt);
}
