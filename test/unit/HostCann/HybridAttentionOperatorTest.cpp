//===- HybridAttentionOperatorTest.cpp - What CANN refuses ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "OperatorTesting.h"
#include "aclnnop/aclnn_lightning_indexer_v2.h"
#include "aclnnop/aclnn_sparse_flash_mla.h"
#include "aclnnop/aclnn_sparse_flash_mla_grad.h"
#include "aclnnop/aclnn_sparse_flash_mla_metadata.h"

using ::testing::HasSubstr;

namespace {

constexpr int64_t width = 512;

/// Attention with the arguments that a test changes.
class HybridAttentionOperatorTest : public OperatorTest {
protected:
  /// Zeros of 16 bits.
  aclTensor *halves(int64_t rows, int64_t columns = width) {
    const std::vector<uint16_t> bits(static_cast<size_t>(rows * columns));
    return make({1, rows, 1, columns}, ACL_BF16, bits.data(),
                bits.size() * sizeof(uint16_t));
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
    query = halves(keys);
    keyRows = halves(keys);
    sink = floats({1}, {0.25F});
    out = space({1, keys, 1, width}, ACL_BF16);
    lse = space({1, 1, keys, 1});
    metadata = space({1024}, ACL_INT32);
  }
  void addEntries() {
    numEntries = numKeys / 4;
    entries = halves(numEntries);
    residual = integers({1}, {static_cast<int32_t>(numKeys % 4)});
    chosen =
        integers({1, numKeys, 1, 512}, std::vector<int32_t>(numKeys * 512, -1));
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
  aclnnStatus prepareGradient() {
    aclTensor *gradEntries =
        entries ? space({1, numEntries, 1, width}, ACL_BF16) : nullptr;
    return aclnnSparseFlashMlaGradGetWorkspaceSize(
        query, out, out, lse, keyRows, entries, nullptr, chosen, nullptr,
        nullptr, nullptr, nullptr, nullptr, nullptr, residual, nullptr, nullptr,
        sink, nullptr, scale, ratio, 4, 3, 127, 0, layout, layout,
        space({1, numKeys, 1, width}, ACL_BF16),
        space({1, numKeys, 1, width}, ACL_BF16), gradEntries, space({1}),
        nullptr, nullptr, &bytes, &executor);
  }

  aclTensor *query = nullptr, *keyRows = nullptr, *sink = nullptr,
            *out = nullptr, *lse = nullptr, *metadata = nullptr,
            *entries = nullptr, *residual = nullptr, *chosen = nullptr;
  int64_t numKeys = 0, numEntries = 0, ratio = 1, window = 127;
  double scale = 0.125;
  char layout[5] = "BSND";
};

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
  EXPECT_EQ(prepareGradient(), ACLNN_ERR_PARAM_INVALID);
  query = space({1, 13, 1, width});
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
  EXPECT_EQ(prepareGradient(), ACLNN_ERR_PARAM_INVALID);
  EXPECT_THAT(getError(), HasSubstr("no deterministic mode"));
  ASSERT_EQ(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 0), ACL_SUCCESS);
  EXPECT_EQ(prepareGradient(), ACLNN_SUCCESS) << getError();
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), ACLNN_SUCCESS);
}

TEST_F(HybridAttentionOperatorTest, AnIndexerHasAMostOfChoices) {
  constexpr int64_t indexWidth = 128;
  auto prepareIndexer = [&](int64_t topk) {
    return aclnnLightningIndexerV2GetWorkspaceSize(
        halves(11, indexWidth), halves(2, indexWidth), space({1, 11, 1}),
        nullptr, nullptr, nullptr, nullptr, integers({1}, {3}), nullptr,
        nullptr, nullptr, topk, -1, layout, layout, 3, 4, 1,
        space({1, 11, 1, topk}, ACL_INT32), space({1, 11, 1, topk}), &bytes,
        &executor);
  };
  EXPECT_EQ(prepareIndexer(2049), ACLNN_ERR_PARAM_INVALID);
  EXPECT_THAT(getError(), HasSubstr("topk is neither up to 2048"));
  ASSERT_EQ(prepareIndexer(2), ACLNN_SUCCESS) << getError();
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), ACLNN_SUCCESS);
}

} // namespace
