//===- PrefixTest.cpp - Prefixes that all tokens of a sample see ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "KernelTesting.h"
#include "gtest/gtest.h"

using namespace mf;
using namespace mf::testing;

namespace {

TEST(PrefixPositionsTest, CountWithinAndBehind) {
  KernelTensor tokens(DType::I32, {4, 5});
  const Values ids = {7, 7, 2, 7, 2, //
                      7, 2, 7, 7, 7, //
                      2, 7, 7, 7, 7, //
                      7, 7, 7, 7, 7};
  // Without a token before the first 2, or without a 2, the first token is the
  // prefix.
  const Values within = {0, 1, 1, 1, 1, //
                         0, 0, 0, 0, 0, //
                         0, 0, 0, 0, 0, //
                         0, 0, 0, 0, 0};
  const Values behind = {0, 0, 1, 2, 3, //
                         0, 1, 2, 3, 4, //
                         0, 1, 2, 3, 4, //
                         0, 1, 2, 3, 4};
  for (int64_t i = 0; i < tokens.size(); ++i)
    tokens.set(i, ids[i]);
  const auto positions = runKernel("mfPrefixPositions", {tokens},
                                   {tokens, tokens}, {{"begin", int64_t{2}}});
  EXPECT_EQ(positions[0].toVector(), within);
  EXPECT_EQ(positions[1].toVector(), behind);
}

TEST(PrefixMaskTest, HidesLaterKeysBehindThePrefix) {
  KernelTensor behind(DType::I32, {2, 4});
  const int places[] = {0, 0, 1, 2, 0, 1, 2, 3};
  for (int64_t i = 0; i < behind.size(); ++i)
    behind.set(i, places[i]);
  const double h = -10000;
  const Values expected = {0, 0, h, h, //
                           0, 0, h, h, //
                           0, 0, 0, h, //
                           0, 0, 0, 0, //
                           0, h, h, h, //
                           0, 0, h, h, //
                           0, 0, 0, h, //
                           0, 0, 0, 0};
  for (DType type : floatTypes) {
    KernelTensor mask(type, {2, 1, 4, 4});
    expectNear(runOne("mfPrefixMask", {behind}, mask, {{"value", h}}),
               expected);
  }
}

} // namespace
