//===- HybridAttentionOperatorTest.cpp - Window, entries, indexer ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "OperatorTesting.h"
#include "aclnnop/aclnn_lightning_indexer_v2.h"
#include "aclnnop/aclnn_sparse_flash_mla.h"
#include "aclnnop/aclnn_sparse_flash_mla_grad.h"
#include "aclnnop/aclnn_sparse_flash_mla_metadata.h"
#include <cmath>
#include <cstring>
#include <limits>

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

namespace {

constexpr int64_t width = 512;

float roundTo16Bits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  bits &= 0xffff0000U;
  std::memcpy(&value, &bits, sizeof(bits));
  return value;
}

/// Numbers of 16 bits between -1 and 1 that differ from element to element.
std::vector<float> draw(size_t count, uint32_t seed) {
  std::vector<float> values(count);
  for (float &value : values) {
    seed = seed * 1664525U + 1013904223U;
    value = roundTo16Bits(static_cast<float>(seed >> 8) / 8388608.0F - 1);
  }
  return values;
}

/// Attention with the arguments that a test changes.
class HybridAttentionOperatorTest : public OperatorTest {
protected:
  aclTensor *halves(const std::vector<int64_t> &dims,
                    const std::vector<float> &values) {
    std::vector<uint16_t> bits(values.size());
    for (size_t i = 0; i < values.size(); ++i)
      std::memcpy(&bits[i], reinterpret_cast<const char *>(&values[i]) + 2, 2);
    return make(dims, ACL_BF16, bits.data(), bits.size() * sizeof(uint16_t));
  }
  aclTensor *integers(const std::vector<int64_t> &dims,
                      const std::vector<int32_t> &values) {
    return make(dims, ACL_INT32, values.data(),
                values.size() * sizeof(int32_t));
  }

  /// Makes the operands for `keys` keys and as many queries, and every fourth
  /// key an entry.
  void start(int64_t keys) {
    numKeys = keys;
    const auto rows = static_cast<size_t>(keys), size = rows * width;
    queryValues = draw(size, 1);
    keyValues = draw(size, 2);
    query = halves({1, keys, 1, width}, queryValues);
    keyRows = halves({1, keys, 1, width}, keyValues);
    sink = floats({1}, {0.25F});
    out = space({1, keys, 1, width}, ACL_BF16);
    lse = space({1, 1, keys, 1});
    lsePlace = memories.size() - 1;
    metadata = space({1024}, ACL_INT32);
  }
  void addEntries() {
    numEntries = numKeys / 4;
    entryValues = draw(static_cast<size_t>(numEntries * width), 3);
    entries = halves({1, numEntries, 1, width}, entryValues);
    residual = integers({1}, {static_cast<int32_t>(numKeys % 4)});
    chosenValues.assign(static_cast<size_t>(numKeys * 512), -1);
    // All queries choose entries 1 and 0, which not all of them see.
    for (int64_t i = 0; i < numKeys; ++i) {
      chosenValues[static_cast<size_t>(i * 512)] = 1;
      chosenValues[static_cast<size_t>(i * 512 + 1)] = 0;
    }
    chosen = integers({1, numKeys, 1, 512}, chosenValues);
    ratio = 4;
  }

  aclnnStatus divide() {
    if (const aclnnStatus status = aclnnSparseFlashMlaMetadataGetWorkspaceSize(
            nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, residual,
            nullptr, nullptr, 1, 1, width, 1, numKeys, numKeys, numEntries, 0,
            chosen ? 512 : 0, ratio, 4, 3, 127, 0, layout, layout, true,
            numEntries > 0, metadata, &bytes, &executor))
      return status;
    return aclnnSparseFlashMlaMetadata(getWorkspace(), bytes, executor, stream);
  }
  aclnnStatus prepare() {
    return aclnnSparseFlashMlaGetWorkspaceSize(
        query, keyRows, entries, nullptr, chosen, nullptr, nullptr, nullptr,
        nullptr, nullptr, nullptr, nullptr, nullptr, residual, nullptr, nullptr,
        sink, metadata, scale, ratio, 4, 3, window, 0, layout, layout, 1, true,
        out, lse, &bytes, &executor);
  }
  aclnnStatus run() {
    if (const aclnnStatus status = prepare())
      return status;
    return aclnnSparseFlashMla(getWorkspace(), bytes, executor, stream);
  }
  aclnnStatus prepareGradient(aclTensor *means) {
    aclTensor *gradEntries =
        entries ? space({1, numEntries, 1, width}, ACL_BF16) : nullptr;
    return aclnnSparseFlashMlaGradGetWorkspaceSize(
        query, out, out, lse, keyRows, entries, nullptr, chosen, nullptr,
        nullptr, nullptr, nullptr, nullptr, nullptr, residual, nullptr, nullptr,
        sink, nullptr, scale, ratio, 4, 3, 127, 0, layout, layout,
        space({1, numKeys, 1, width}, ACL_BF16),
        space({1, numKeys, 1, width}, ACL_BF16), gradEntries, space({1}),
        nullptr, means, &bytes, &executor);
  }

  float getScore(int64_t row, const std::vector<float> &rows,
                 int64_t other) const {
    double sum = 0;
    for (int64_t i = 0; i < width; ++i)
      sum += double(queryValues[static_cast<size_t>(row * width + i)]) *
             rows[static_cast<size_t>(other * width + i)];
    return static_cast<float>(scale * sum);
  }
  bool sees(int64_t row, int64_t entry) const {
    return (entry + 1) * 4 <= row + 1;
  }
  /// Returns the logarithms of sums by the definition.
  std::vector<float> getLogarithms() const {
    std::vector<float> logarithms;
    for (int64_t row = 0; row < numKeys; ++row) {
      double sum = std::exp(0.25);
      for (int64_t key = std::max<int64_t>(0, row - 127); key <= row; ++key)
        sum += std::exp(double(getScore(row, keyValues, key)));
      for (int64_t entry = 0; entry < std::min<int64_t>(2, numEntries); ++entry)
        if (sees(row, entry))
          sum += std::exp(double(getScore(row, entryValues, entry)));
      logarithms.push_back(static_cast<float>(std::log(sum)));
    }
    return logarithms;
  }

  std::vector<float> queryValues, keyValues, entryValues;
  std::vector<int32_t> chosenValues;
  aclTensor *query = nullptr, *keyRows = nullptr, *sink = nullptr,
            *out = nullptr, *lse = nullptr, *metadata = nullptr,
            *entries = nullptr, *residual = nullptr, *chosen = nullptr;
  int64_t numKeys = 0, numEntries = 0, ratio = 1, window = 127;
  size_t lsePlace = 0;
  double scale = 0.125;
  char layout[5] = "BSND";
};

TEST_F(HybridAttentionOperatorTest, SeesAWindow) {
  start(130);
  ASSERT_EQ(divide(), ACLNN_SUCCESS) << getError();
  ASSERT_EQ(run(), ACLNN_SUCCESS) << getError();
  EXPECT_THAT(read(lsePlace, 130),
              Pointwise(FloatNear(1e-4F), getLogarithms()));
}

TEST_F(HybridAttentionOperatorTest, SeesChosenEntriesThatAreComplete) {
  start(13);
  addEntries();
  ASSERT_EQ(divide(), ACLNN_SUCCESS) << getError();
  ASSERT_EQ(run(), ACLNN_SUCCESS) << getError();
  const std::vector<float> logarithms = getLogarithms();
  EXPECT_THAT(read(lsePlace, 13), Pointwise(FloatNear(1e-4F), logarithms));
  // The gradient has the probabilities of the chosen entries.
  aclTensor *means = space({1, 13, 1, 512});
  const size_t place = memories.size() - 1;
  ASSERT_EQ(prepareGradient(means), ACLNN_SUCCESS) << getError();
  ASSERT_EQ(aclnnSparseFlashMlaGrad(getWorkspace(), bytes, executor, stream),
            ACLNN_SUCCESS)
      << getError();
  const std::vector<float> found = read(place, 13 * 512);
  EXPECT_NEAR(found[12 * 512],
              std::exp(getScore(12, entryValues, 1) - logarithms[12]), 1e-5);
  EXPECT_NEAR(found[12 * 512 + 1],
              std::exp(getScore(12, entryValues, 0) - logarithms[12]), 1e-5);
  EXPECT_EQ(found[12 * 512 + 2], 0);
}

TEST_F(HybridAttentionOperatorTest, RefusesWhatCannRefuses) {
  start(13);
  EXPECT_EQ(run(), ACLNN_ERR_RUNTIME_ERROR);
  EXPECT_THAT(getError(), HasSubstr("nothing has written"));
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), ACLNN_SUCCESS);
  window = 63;
  EXPECT_EQ(prepare(), ACLNN_ERR_PARAM_INVALID);
  EXPECT_THAT(getError(), HasSubstr("oriWinLeft is not 127"));
  window = 127;
  ratio = 4;
  EXPECT_EQ(prepare(), ACLNN_ERR_PARAM_INVALID);
  EXPECT_THAT(getError(), HasSubstr("cmpRatio is not 1"));
  addEntries();
  aclTensor *right = chosen;
  chosen = integers({1, 13, 1, 4}, std::vector<int32_t>(52, 0));
  EXPECT_EQ(prepare(), ACLNN_ERR_PARAM_INVALID);
  EXPECT_THAT(getError(), HasSubstr("are not 512 or 1024"));
  chosen = nullptr;
  EXPECT_EQ(prepare(), ACLNN_ERR_PARAM_INVALID);
  EXPECT_THAT(getError(), HasSubstr("not 128 without"));
  chosen = right;
  residual = nullptr;
  EXPECT_EQ(prepare(), ACLNN_ERR_PARAM_INVALID);
  EXPECT_THAT(getError(), HasSubstr("cmpResidualKv"));
  EXPECT_EQ(prepareGradient(nullptr), ACLNN_ERR_PARAM_INVALID);
  query = floats({1, 13, 1, width}, queryValues);
  residual = integers({1}, {1});
  EXPECT_EQ(prepare(), ACLNN_ERR_PARAM_INVALID);
  EXPECT_THAT(getError(), HasSubstr("q is not BFLOAT16 or FLOAT16"));
}

TEST_F(HybridAttentionOperatorTest, HasItsOwnDivisionOfWork) {
  start(13);
  ASSERT_EQ(divide(), ACLNN_SUCCESS) << getError();
  addEntries();
  ASSERT_EQ(run(), ACLNN_SUCCESS) << getError();
  EXPECT_NE(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_THAT(getError(), HasSubstr("the metadata are not those of this call"));
  restart();
}

TEST_F(HybridAttentionOperatorTest, GradientsHaveNoDeterministicMode) {
  start(13);
  ASSERT_EQ(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1), ACL_SUCCESS);
  EXPECT_EQ(prepareGradient(nullptr), ACLNN_ERR_PARAM_INVALID);
  EXPECT_THAT(getError(), HasSubstr("no deterministic mode"));
  ASSERT_EQ(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 0), ACL_SUCCESS);
  EXPECT_EQ(prepareGradient(nullptr), ACLNN_SUCCESS) << getError();
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), ACLNN_SUCCESS);
}

TEST_F(HybridAttentionOperatorTest, AnIndexerChoosesAmongWhatQueriesSee) {
  // A query of ones and two keys of 1 / 128 and 2 / 128 have scores 1 and 2.
  constexpr int64_t keys = 11, indexWidth = 128;
  std::vector<float> rows(2 * indexWidth, 1.0F / 128);
  std::fill(rows.begin() + indexWidth, rows.end(), 2.0F / 128);
  aclTensor *q = halves({1, keys, 1, indexWidth},
                        std::vector<float>(keys * indexWidth, 1)),
            *k = halves({1, 2, 1, indexWidth}, rows),
            *w = floats({1, keys, 1}, std::vector<float>(keys, 0.5F)),
            *rest = integers({1}, {3}), *values = space({1, keys, 1, 2}),
            *indices = nullptr;
  const size_t place = memories.size() - 1;
  indices = space({1, keys, 1, 2}, ACL_INT32);
  auto prepareIndexer = [&](int64_t topk) {
    return aclnnLightningIndexerV2GetWorkspaceSize(
        q, k, w, nullptr, nullptr, nullptr, nullptr, rest, nullptr, nullptr,
        nullptr, topk, -1, layout, layout, 3, 4, 1, indices, values, &bytes,
        &executor);
  };
  EXPECT_EQ(prepareIndexer(2049), ACLNN_ERR_PARAM_INVALID);
  EXPECT_THAT(getError(), HasSubstr("topk is neither up to 2048"));
  ASSERT_EQ(prepareIndexer(2), ACLNN_SUCCESS) << getError();
  ASSERT_EQ(aclnnLightningIndexerV2(getWorkspace(), bytes, executor, stream),
            ACLNN_SUCCESS)
      << getError();
  const std::vector<float> found = read(place, 2 * keys);
  constexpr float none = -std::numeric_limits<float>::infinity();
  auto ofQuery = [&](int64_t query) {
    return std::vector<float>(found.begin() + 2 * query,
                              found.begin() + 2 * query + 2);
  };
  EXPECT_THAT(ofQuery(2), ElementsAre(none, none));
  EXPECT_THAT(ofQuery(3), ElementsAre(0.5F, none));
  EXPECT_THAT(ofQuery(7), ElementsAre(1.0F, 0.5F));
  std::vector<int32_t> places(2 * keys);
  ASSERT_EQ(aclrtMemcpy(places.data(), places.size() * sizeof(int32_t),
                        memories[place + 1], places.size() * sizeof(int32_t),
                        ACL_MEMCPY_DEVICE_TO_HOST),
            ACL_SUCCESS);
  EXPECT_THAT(std::vector<int32_t>(places.begin() + 4, places.begin() + 8),
              ElementsAre(-1, -1, 0, -1));
  EXPECT_THAT(std::vector<int32_t>(places.begin() + 14, places.begin() + 16),
              ElementsAre(1, 0));
}

} // namespace
