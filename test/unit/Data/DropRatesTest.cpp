//===- DropRatesTest.cpp - Rates of tokens that experts dropped -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/DropRates.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mf;
using testing::ElementsAre;

TEST(DropRatesTest, LayersAreNumberedByTheirParameters) {
  EXPECT_EQ(getLayerNumber("model.layers.12.feed_forward.fi_parameter"), 12);
  EXPECT_EQ(getLayerNumber("layers.3"), 3);
  EXPECT_EQ(getLayerNumber("fi_parameter"), 0);
  EXPECT_EQ(getLayerNumber("model.layers.x"), 0);
}

TEST(DropRatesTest, RatesAreSortedByLayerAndKeepTheirRows) {
  std::vector<DropRates> rates =
      collectDropRates({{"drop_rate.layers.10.fi_parameter", {0.5F, 0.25F}},
                        {"dropped.layers.10.fi_parameter", {0.125F, 0}},
                        {"drop_rate.layers.9.fi_parameter", {0}},
                        {"loss", {1}}});
  ASSERT_EQ(rates.size(), 2U);
  EXPECT_EQ(rates[0].layer, 9);
  EXPECT_THAT(rates[0].logged, ElementsAre(0));
  EXPECT_TRUE(rates[0].dropped.empty());
  EXPECT_EQ(rates[1].layer, 10);
  EXPECT_THAT(rates[1].logged, ElementsAre(0.5F, 0.25F));
  EXPECT_THAT(rates[1].dropped, ElementsAre(0.125F, 0));
  EXPECT_THAT(formatDropRates(rates),
              ElementsAre("INFO - layer: 9, drop_rate: 0.00000",
                          "INFO - layer: 10, drop_rate: 0.50000",
                          "INFO - layer: 10, drop_rate: 0.25000"));
}
