//===- AttentionMaskTest.cpp - Which keys a query sees --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "OperatorTesting.h"
#include "aclnnop/aclnn_flash_attention_score.h"
#include <cmath>
#include <functional>

using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

namespace {

constexpr int64_t keys = 4;
constexpr int64_t compressedSize = 2048;
const std::vector<float> queryValues = {1, -0.5F, 2, 0.25F};
const std::vector<float> keyValues = {0.5F, 1, -1, 0.75F};
const std::vector<float> values = {2, -3, 5, 7};

using Hides = std::function<bool(int64_t query, int64_t key)>;

/// Attention of one head, written as the formula.
std::vector<float> computeAttention(int64_t queries, const Hides &hides) {
  std::vector<float> result;
  for (int64_t i = 0; i < queries; ++i) {
    double sum = 0, product = 0;
    for (int64_t j = 0; j < keys; ++j) {
      if (hides(i, j))
        continue;
      const double weight =
          std::exp(static_cast<double>(queryValues[i]) * keyValues[j]);
      sum += weight;
      product += weight * values[j];
    }
    result.push_back(static_cast<float>(product / sum));
  }
  return result;
}

class AttentionMaskTest : public OperatorTest {
protected:
  aclTensor *makeMask(const std::vector<int64_t> &dims, int64_t columns,
                      int64_t rows, const Hides &hides) {
    std::vector<uint8_t> bits;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        bits.push_back(hides(i, j) ? 1 : 0);
    return make(dims, ACL_BOOL, bits.data(), bits.size());
  }
  aclTensor *makeCompressed() {
    return makeMask({compressedSize, compressedSize}, compressedSize,
                    compressedSize,
                    [](int64_t row, int64_t column) { return column > row; });
  }
  aclTensor *makeWhole(int64_t queries, const Hides &hides) {
    return makeMask({1, 1, queries, keys}, keys, queries, hides);
  }

  aclnnStatus prepare(int64_t queries, const aclTensor *mask, int64_t mode,
                      int64_t nextTokens, const aclTensor *slopes = nullptr) {
    const std::vector<float> own(queryValues.begin(),
                                 queryValues.begin() + queries);
    char layout[] = "BNSD";
    aclTensor *out = space({1, 1, queries, 1});
    place = memories.size() - 1;
    return aclnnFlashAttentionScoreV2GetWorkspaceSize(
        floats({1, 1, queries, 1}, own), floats({1, 1, keys, 1}, keyValues),
        floats({1, 1, keys, 1}, values), slopes, nullptr, nullptr, mask,
        nullptr, nullptr, nullptr, 1, 1, 65536, nextTokens, 1, layout, 0, mode,
        slopes ? 2 : 1, space({1, 1, queries, 8}), space({1, 1, queries, 8}),
        nullptr, out, &bytes, &executor);
  }
  void expect(int64_t queries, const Hides &hides) {
    ASSERT_EQ(
        aclnnFlashAttentionScoreV2(getWorkspace(), bytes, executor, stream),
        ACLNN_SUCCESS)
        << getError();
    EXPECT_THAT(read(place, queries),
                Pointwise(FloatNear(1e-5F), computeAttention(queries, hides)));
  }

  /// The result's memory.
  size_t place = 0;
};

} // namespace

TEST_F(AttentionMaskTest, SeesKeysUpToTheOwnOne) {
  aclTensor *mask = makeCompressed();
  EXPECT_EQ(prepare(2, mask, 3, 65536), ACLNN_SUCCESS) << getError();
  expect(2, [](int64_t query, int64_t key) { return key > query + 2; });
  for (int64_t first = 0; first <= 2; ++first) {
    EXPECT_EQ(prepare(2, mask, 4, first - 2), ACLNN_SUCCESS) << getError();
    expect(2,
           [first](int64_t query, int64_t key) { return key > query + first; });
  }
  EXPECT_EQ(prepare(2, mask, 4, 1), ACLNN_ERR_PARAM_INVALID);
  EXPECT_THAT(getError(), HasSubstr("behind the last key"));
}

TEST_F(AttentionMaskTest, SeesNoOtherDocument) {
  const auto hides = [](int64_t query, int64_t key) {
    return key > query || (query >= 2 && key < 2);
  };
  EXPECT_EQ(prepare(4, makeWhole(4, hides), 0, 65536), ACLNN_SUCCESS)
      << getError();
  expect(4, hides);
  // The queries are the second and the third one.
  const auto hidesOfPart = [&](int64_t query, int64_t key) {
    return hides(query + 1, key);
  };
  EXPECT_EQ(prepare(2, makeWhole(2, hidesOfPart), 0, 65536), ACLNN_SUCCESS)
      << getError();
  expect(2, hidesOfPart);
}

TEST_F(AttentionMaskTest, OtherMasksAreRefused) {
  EXPECT_EQ(prepare(4, nullptr, 0, 65536, floats({1}, {0.5F})),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_THAT(getError(), HasSubstr("without a causal mask"));
  EXPECT_EQ(prepare(4, makeMask({4, 4}, 4, 4, std::greater<>()), 0, 65536),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_THAT(getError(), HasSubstr("[batch, 1, queries, keys]"));
}
