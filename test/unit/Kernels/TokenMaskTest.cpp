//===- TokenMaskTest.cpp - Positions and masks that tokens make -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "KernelTesting.h"
#include "gtest/gtest.h"

using namespace mf;
using namespace mf::testing;

namespace {

/// What masks hide.
constexpr double h = -10000;

void expectMask(llvm::StringRef kernel, const KernelTensor &positions,
                const Ints &dims, const Values &expected) {
  for (DType type : floatTypes)
    expectNear(
        runOne(kernel, {positions}, KernelTensor(type, dims), {{"value", h}}),
        expected);
}

TEST(DocumentStartsTest, StandBehindTheLastEnd) {
  const KernelTensor tokens = makeTensor(DType::I32, {3, 6},
                                         {5, 2, 7, 7, 2, 2, //
                                          2, 1, 1, 1, 1, 2, //
                                          1, 1, 1, 1, 1, 1});
  const Values expected = {0, 0, 2, 2, 2, 5, //
                           0, 1, 1, 1, 1, 1, //
                           0, 0, 0, 0, 0, 0};
  EXPECT_EQ(runOne("mfDocumentStarts", {tokens}, tokens, {{"end", int64_t{2}}})
                .toVector(),
            expected);
}

TEST(DocumentMaskTest, HidesKeysBeforeTheStart) {
  expectMask("mfDocumentMask", makeTensor(DType::I32, {1, 5}, {0, 2, 3, 7, -1}),
             {1, 1, 5, 3},
             {0, 0, 0, //
              h, h, 0, //
              h, h, h, //
              h, h, h, //
              0, 0, 0});
}

TEST(PrefixPositionsTest, CountWithinAndBehind) {
  const KernelTensor tokens = makeTensor(DType::I32, {4, 5}, {7, 7, 2, 7, 2, //
                                                              7, 2, 7, 7, 7, //
                                                              2, 7, 7, 7, 7, //
                                                              7, 7, 7, 7, 7});
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
  const auto positions = runKernel("mfPrefixPositions", {tokens},
                                   {tokens, tokens}, {{"begin", int64_t{2}}});
  EXPECT_EQ(positions[0].toVector(), within);
  EXPECT_EQ(positions[1].toVector(), behind);
}

TEST(PrefixMaskTest, HidesLaterKeysBehindThePrefix) {
  expectMask("mfPrefixMask",
             makeTensor(DType::I32, {2, 4}, {0, 0, 1, 2, 0, 1, 2, 3}),
             {2, 1, 4, 4}, {0, 0, h, h, //
                            0, 0, h, h, //
                            0, 0, 0, h, //
                            0, 0, 0, 0, //
                            0, h, h, h, //
                            0, 0, h, h, //
                            0, 0, 0, h, //
                            0, 0, 0, 0});
}

} // namespace
