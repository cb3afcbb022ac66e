//===- AttentionDropoutTest.cpp - Probabilities that are dropped ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "KernelTesting.h"
#include "gtest/gtest.h"

using namespace mf;
using namespace mf::testing;

namespace {

constexpr int64_t heads = 2, rows = 70, keys = 530, dim = 16, droppedKey = 3;

/// Inputs of attention, and what it gives without dropout.
struct Attended {
  KernelTensor q, k, v;
  Tensors results;

  explicit Attended(DType type)
      : q(randomTensor(type, {1, heads, rows, dim}, 1)),
        k(randomTensor(type, {1, heads, keys, dim}, 2)),
        v(randomTensor(type, {1, heads, keys, dim}, 3)),
        results(runKernel("aclnnFlashAttentionScore", {q, k, v}, makeOutputs(),
                          {{"scale", 0.3}})) {}

  Tensors makeOutputs() const {
    return {KernelTensor(DType::F32, {1, heads, rows}),
            KernelTensor(DType::F32, {1, heads, rows}),
            KernelTensor(q.shape.type, {1, heads, rows, dim})};
  }
};

/// Keeps all probabilities, or all but those of one key.
KernelTensor makeMask(bool drops) {
  KernelTensor mask(DType::I1, {1, heads, rows, keys});
  for (int64_t i = 0; i < mask.size(); ++i)
    mask.set(i, drops && i % keys == droppedKey ? 0 : 1);
  return mask;
}

Values times(const KernelTensor &x, double factor) {
  Values values = x.toVector();
  for (double &value : values)
    value *= factor;
  return values;
}

TEST(AttentionDropoutTest, ADroppedKeyIsAValueOfZero) {
  for (DType type : floatTypes) {
    Attended with(type);
    const Tensors dropped = runKernel(
        "aclnnFlashAttentionScore", {with.q, with.k, with.v, makeMask(true)},
        with.makeOutputs(), {{"scale", 0.3}, {"rate", 0.5}});
    KernelTensor v = with.v;
    for (int64_t head = 0; head < heads; ++head)
      for (int64_t i = 0; i < dim; ++i)
        v.set((head * keys + droppedKey) * dim + i, 0);
    const Tensors expected =
        runKernel("aclnnFlashAttentionScore", {with.q, with.k, v},
                  with.makeOutputs(), {{"scale", 0.3}});
    // Sums of the softmax are those of all keys.
    expectNear(dropped[0], with.results[0].toVector());
    expectNear(dropped[1], with.results[1].toVector());
    expectNear(dropped[2], times(expected[2], 2), 4);
  }
}

TEST(AttentionDropoutTest, GradientsGrowAsWhatIsKept) {
  for (DType type : floatTypes) {
    Attended with(type);
    const KernelTensor dy = randomTensor(type, {1, heads, rows, dim}, 4);
    auto getGradients = [&](const KernelTensor &out,
                            std::optional<KernelTensor> mask) {
      Tensors inputs = {with.q,          with.k,          with.v, dy,
                        with.results[0], with.results[1], out};
      AttributeMap attributes = {{"scale", 0.3}};
      if (mask) {
        inputs.push_back(*mask);
        attributes["rate"] = 0.5;
      }
      return runKernel("aclnnFlashAttentionScoreGrad", inputs,
                       {with.q, with.k, with.v}, attributes);
    };
    KernelTensor doubled = with.results[2];
    for (int64_t i = 0; i < doubled.size(); ++i)
      doubled.set(i, 2 * doubled.get(i));
    const Tensors plain = getGradients(with.results[2], {});
    const Tensors kept = getGradients(doubled, makeMask(false));
    for (size_t i = 0; i < 3; ++i)
      expectNear(kept[i], times(plain[i], 2), 8);
    const Tensors dropped = getGradients(doubled, makeMask(true));
    for (int64_t head = 0; head < heads; ++head)
      for (int64_t i = 0; i < dim; ++i)
        EXPECT_EQ(dropped[2].get((head * keys + droppedKey) * dim + i), 0);
  }
}

} // namespace
