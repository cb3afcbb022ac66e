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
  KernelTensor draw(DType::I64, {3});
  draw.set(0, static_cast<double>(source.seed));
  draw.set(1, static_cast<double>(source.step));
  draw.set(2, static_cast<double>(source.microBatch));
  Tensors inputs = {draw};
  Ints dims;
  for (auto [dim, first] : place.firsts) {
    dims.push_back(dim);
    inputs.emplace_back(DType::I32, Ints{1});
    inputs.back().set(0, static_cast<double>(first));
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

double getShareOfDropped(const KernelTensor &mask) {
  double dropped = 0;
  for (int64_t i = 0; i < mask.size(); ++i)
    dropped += mask.get(i) == 0 ? 1 : 0;
  return dropped / static_cast<double>(mask.size());
}

/// The correlation of two masks of one rate, which is 0 for independent ones.
double correlate(const KernelTensor &a, const KernelTensor &b, int64_t shift,
                 double rate) {
  double sum = 0;
  const int64_t count = a.size() - shift;
  for (int64_t i = 0; i < count; ++i)
    sum += (a.get(i) - (1 - rate)) * (b.get(i + shift) - (1 - rate));
  return sum / static_cast<double>(count) / (rate * (1 - rate));
}

} // namespace

TEST(DropoutTest, TakesAsMuchMemoryAsOnAscend) {
  EXPECT_EQ((TensorShape{DType::I1, {1}}.getBytes()), 16);
  EXPECT_EQ((TensorShape{DType::I1, {128}}.getBytes()), 16);
  EXPECT_EQ((TensorShape{DType::I1, {3, 43}}.getBytes()), 32);
  EXPECT_EQ((TensorShape{DType::I1, {8192, 4096}}.getBytes()), 8192 * 4096 / 8);
}

TEST(DropoutTest, DropsTheShareThatIsAskedFor) {
  const Ints shape = {1000, 1000};
  for (double rate : {0.001, 0.1, 0.5, 0.9}) {
    MaskSource source;
    source.rate = rate;
    // Six standard deviations of a million draws.
    EXPECT_NEAR(getShareOfDropped(drawWhole(shape, source)), rate,
                6e-3 * std::sqrt(rate * (1 - rate)))
        << rate;
  }
}

TEST(DropoutTest, ElementsAreIndependent) {
  const KernelTensor mask = drawWhole({1000, 1000});
  for (int64_t shift : {1, 2, 3, 4, 5, 128, 1000, 4000})
    EXPECT_NEAR(correlate(mask, mask, shift, 0.1), 0, 6e-3) << shift;
}

TEST(DropoutTest, MasksOfOtherSourcesAreIndependent) {
  const Ints shape = {1000, 1000};
  const KernelTensor mask = drawWhole(shape);
  auto expectOther = [&](const MaskSource &source) {
    EXPECT_NEAR(correlate(mask, drawWhole(shape, source), 0, 0.1), 0, 6e-3);
  };
  MaskSource key, seed, step, microBatch;
  key.key = 43;
  seed.seed = 2;
  step.step = 2;
  microBatch.microBatch = 1;
  for (const MaskSource &source : {key, seed, step, microBatch})
    expectOther(source);
}

/// Written once more, from the definition.
TEST(DropoutTest, BitsAreThoseOfPhilox) {
  MaskSource source;
  source.key = -5;
  source.seed = 7 + (int64_t{3} << 32);
  source.step = 4;
  source.microBatch = 9;
  const KernelTensor mask = drawWhole({5, 77}, source);
  const std::array<uint32_t, 4> own =
      philox4x32({0xfffffffb, 0xffffffff, 4, 9}, {7, 3});
  for (int64_t i = 0; i < mask.size(); ++i) {
    const std::array<uint32_t, 4> words = philox4x32(
        {static_cast<uint32_t>(i / 4), 0, own[2], own[3]}, {own[0], own[1]});
    EXPECT_EQ(mask.get(i), words[i % 4] >= 0.1 * 0x1p32 ? 1 : 0) << i;
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
  KernelTensor x(DType::F32, {2}), mask(DType::I1, {2});
  x.set(0, std::nan(""));
  x.set(1, INFINITY);
  mask.set(1, 1);
  const KernelTensor y =
      runKernel("aclnnDropoutDoMask", {x, mask},
                {KernelTensor(DType::F32, {2})}, {{"rate", 0.1}})
          .front();
  EXPECT_EQ(y.get(0), 0);
  EXPECT_EQ(y.get(1), INFINITY);
}
