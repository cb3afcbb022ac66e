//===- DropoutTest.cpp - Random masks -------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "KernelTesting.h"
#include "mf/Support/Philox.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mf;
using namespace mf::testing;

namespace {

/// A tensor, and the part of it that a mask is for.
struct Place {
  Ints whole, starts, sizes;
  /// Offsets of the starts, by dimension, as data.
  std::vector<std::pair<int64_t, int64_t>> firsts = {};
};

struct MaskSource {
  double rate = 0.1;
  int64_t key = 42, seed = 1, step = 1, microBatch = 0;
};

KernelTensor drawMask(const Place &place, const MaskSource &source = {}) {
  Tensors inputs = {
      makeRow(DType::I64, {static_cast<double>(source.seed),
                           static_cast<double>(source.step),
                           static_cast<double>(source.microBatch)})};
  Ints dims;
  for (auto [dim, first] : place.firsts) {
    dims.push_back(dim);
    inputs.push_back(makePosition(first));
  }
  return runKernel("aclnnDropoutGenMask", inputs,
                   {KernelTensor(DType::I1, place.sizes)},
                   {{"rate", source.rate},
                    {"key", source.key},
                    {"shape", place.whole},
                    {"starts", place.starts},
                    {"cut_dims", dims}})
      .front();
}

KernelTensor drawWhole(const Ints &shape, const MaskSource &source = {}) {
  return drawMask({shape, Ints(shape.size(), 0), shape}, source);
}

} // namespace

TEST(DropoutTest, TakesAsMuchMemoryAsOnAscend) {
  EXPECT_EQ((TensorShape{DType::I1, {1}}.getBytes()), 16);
  EXPECT_EQ((TensorShape{DType::I1, {128}}.getBytes()), 16);
  EXPECT_EQ((TensorShape{DType::I1, {3, 43}}.getBytes()), 32);
  EXPECT_EQ((TensorShape{DType::I1, {8192, 4096}}.getBytes()), 8192 * 4096 / 8);
}

/// Written once more, from the definition.
TEST(DropoutTest, BitsAreThoseOfPhilox) {
  for (double rate : {0.001, 0.1, 0.9}) {
    const MaskSource source = {rate, -5, 7 + (int64_t{3} << 32), 4, 9};
    const KernelTensor mask = drawWhole({5, 77}, source);
    const std::array<uint32_t, 4> own =
        philox4x32({0xfffffffb, 0xffffffff, 4, 9}, {7, 3});
    for (int64_t i = 0; i < mask.size(); ++i) {
      const std::array<uint32_t, 4> words = philox4x32(
          {static_cast<uint32_t>(i / 4), 0, own[2], own[3]}, {own[0], own[1]});
      EXPECT_EQ(mask.get(i), words[i % 4] >= rate * 0x1p32 ? 1 : 0) << i;
    }
  }
}

TEST(DropoutTest, APartHasTheBitsOfTheWhole) {
  const Ints whole = {4, 30, 70};
  const KernelTensor mask = drawWhole(whole);
  const Place place = {
      whole, {0, 10, 0}, {2, 5, 35}, {{0, 2}, {1, 5}, {2, 35}}};
  const KernelTensor part = drawMask(place);
  for (int64_t i = 0; i < part.size(); ++i) {
    const int64_t a = 2 + i / (5 * 35), b = 15 + i / 35 % 5, c = 35 + i % 35;
    EXPECT_EQ(part.get(i), mask.get((a * 30 + b) * 70 + c)) << i;
  }
}

TEST(DropoutTest, KeepsAndScalesOrDrops) {
  for (DType type : floatTypes) {
    const KernelTensor x = randomTensor(type, {3, 1500}, 1);
    const KernelTensor mask = drawWhole({3, 1500});
    const KernelTensor y =
        runKernel("aclnnDropoutDoMask", {x, mask},
                  {KernelTensor(type, {3, 1500})}, {{"rate", 0.1}})
            .front();
    Values expected;
    for (int64_t i = 0; i < x.size(); ++i)
      expected.push_back(mask.get(i) * x.get(i) / 0.9);
    expectNear(y, expected);
  }
}

TEST(DropoutTest, WhatIsDroppedIsZeroWhateverItWas) {
  const KernelTensor x = makeRow(DType::F32, {NAN, INFINITY}),
                     mask = makeRow(DType::I1, {0, 1});
  const KernelTensor y =
      runKernel("aclnnDropoutDoMask", {x, mask},
                {KernelTensor(DType::F32, {2})}, {{"rate", 0.1}})
          .front();
  EXPECT_EQ(y.get(0), 0);
  EXPECT_EQ(y.get(1), INFINITY);
}
