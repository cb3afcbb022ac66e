//===- OperatorTest.cpp - Operators of the host's CANN --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "OperatorTesting.h"
#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_cast.h"
#include "aclnnop/aclnn_copy.h"
#include "aclnnop/aclnn_dropout_do_mask.h"
#include "aclnnop/aclnn_embedding.h"
#include "aclnnop/aclnn_flash_attention_score.h"
#include "aclnnop/aclnn_matmul.h"
#include "aclnnop/aclnn_rms_norm.h"
#include "aclnnop/aclnn_rms_norm_grad.h"
#include "aclnnop/aclnn_silu.h"
#include <vector>

using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

namespace {

TEST_F(OperatorTest, AnExecutorRunsOnce) {
  aclTensor *a = floats({4}, {1, 2, 3, 4}), *out = space({4});
  ASSERT_EQ(aclnnSiluGetWorkspaceSize(a, out, &bytes, &executor), ACLNN_SUCCESS)
      << getError();
  EXPECT_EQ(aclnnAdd(nullptr, 0, executor, stream), ACLNN_ERR_PARAM_INVALID);
  EXPECT_THAT(getError(), HasSubstr("the executor is one of aclnnSilu"));
  EXPECT_EQ(aclnnSilu(nullptr, 0, executor, stream), ACLNN_SUCCESS);
  EXPECT_EQ(aclnnSilu(nullptr, 0, executor, stream), ACLNN_ERR_PARAM_INVALID);
  EXPECT_THAT(read(1, 4), Pointwise(FloatNear(1e-5F), {0.731059F, 1.761594F,
                                                       2.857722F, 3.928055F}));
}

TEST_F(OperatorTest, RefusesWrongArguments) {
  aclTensor *a = floats({4}, {1, 2, 3, 4}), *out = space({4});
  aclTensor *other = space({4}, ACL_BF16), *longer = space({5});
  EXPECT_EQ(aclnnSiluGetWorkspaceSize(nullptr, out, &bytes, &executor),
            ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(aclnnSiluGetWorkspaceSize(a, out, nullptr, &executor),
            ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(aclnnSiluGetWorkspaceSize(a, other, &bytes, &executor),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(aclnnSiluGetWorkspaceSize(a, longer, &bytes, &executor),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(
      aclnnDropoutDoMaskGetWorkspaceSize(a, a, 0.5, out, &bytes, &executor),
      ACLNN_ERR_PARAM_INVALID);
  EXPECT_THAT(getError(), HasSubstr("mask is not UINT8"));
  // Memory that nobody wrote has no value.
  ASSERT_EQ(aclnnSiluGetWorkspaceSize(longer, longer, &bytes, &executor),
            ACLNN_SUCCESS);
  EXPECT_EQ(aclnnSilu(nullptr, 0, executor, stream), ACLNN_ERR_RUNTIME_ERROR);
  EXPECT_THAT(getError(), HasSubstr("nothing has written"));
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), ACLNN_SUCCESS);
}

TEST_F(OperatorTest, NamesTheOperatorsOfARace) {
  aclTensor *a = floats({4}, {1, 2, 3, 4}), *b = space({4}), *c = space({4});
  aclrtStream second = createStream();
  ASSERT_EQ(aclnnSiluGetWorkspaceSize(a, b, &bytes, &executor), ACLNN_SUCCESS);
  ASSERT_EQ(aclnnSilu(nullptr, 0, executor, stream), ACLNN_SUCCESS);
  float one = 1;
  aclScalar *alpha = aclCreateScalar(&one, ACL_FLOAT);
  ASSERT_EQ(aclnnAddGetWorkspaceSize(a, b, alpha, c, &bytes, &executor),
            ACLNN_SUCCESS);
  EXPECT_EQ(aclnnAdd(nullptr, 0, executor, second), ACLNN_ERR_RUNTIME_ERROR);
  const std::string text = getError();
  EXPECT_THAT(text, HasSubstr("race: aclnnAdd (call "));
  EXPECT_THAT(text, HasSubstr("which aclnnSilu (call "));
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), ACLNN_SUCCESS);
  EXPECT_EQ(aclDestroyScalar(alpha), ACLNN_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(second), ACL_SUCCESS);
}

TEST_F(OperatorTest, ReadsElementsOfTheTypeThatWasWritten) {
  aclTensor *a = floats({32}, std::vector<float>(32, 1)), *b = space({32});
  ASSERT_EQ(aclnnSiluGetWorkspaceSize(a, b, &bytes, &executor), ACLNN_SUCCESS);
  ASSERT_EQ(aclnnSilu(nullptr, 0, executor, stream), ACLNN_SUCCESS);
  const int64_t size = 32;
  aclTensor *wrong = aclCreateTensor(&size, 1, ACL_BF16, nullptr, 0,
                                     ACL_FORMAT_ND, &size, 1, memories[1]);
  tensors.push_back(wrong);
  ASSERT_EQ(aclnnCastGetWorkspaceSize(wrong, ACL_FLOAT, a, &bytes, &executor),
            ACLNN_SUCCESS);
  EXPECT_EQ(aclnnCast(nullptr, 0, executor, stream), ACLNN_ERR_RUNTIME_ERROR);
  EXPECT_THAT(getError(), HasSubstr("as elements of type 27, but aclnnSilu"));
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), ACLNN_SUCCESS);
}

TEST_F(OperatorTest, AsksForItsWorkspace) {
  aclTensor *x = floats({2, 2}, {1, 1, 2, 2}), *gamma = floats({2}, {1, 3});
  aclTensor *y = space({2, 2}), *rstd = space({2, 1}), *flat = space({2});
  EXPECT_EQ(
      aclnnRmsNormGetWorkspaceSize(x, gamma, 0, y, flat, &bytes, &executor),
      ACLNN_ERR_PARAM_INVALID);
  ASSERT_EQ(
      aclnnRmsNormGetWorkspaceSize(x, gamma, 0, y, rstd, &bytes, &executor),
      ACLNN_SUCCESS)
      << getError();
  EXPECT_EQ(aclnnRmsNorm(getWorkspace(), bytes, executor, stream),
            ACLNN_SUCCESS);
  EXPECT_EQ(read(2, 4), (std::vector<float>{1, 3, 1, 3}));
  EXPECT_EQ(read(3, 2), (std::vector<float>{1, 0.5F}));
  aclTensor *dx = space({2, 2}), *dgamma = space({2});
  ASSERT_EQ(aclnnRmsNormGradGetWorkspaceSize(x, x, rstd, gamma, dx, dgamma,
                                             &bytes, &executor),
            ACLNN_SUCCESS)
      << getError();
  ASSERT_GT(bytes, 0U);
  EXPECT_EQ(aclnnRmsNormGrad(nullptr, 0, executor, stream),
            ACLNN_ERR_PARAM_NULLPTR);
  void *workspace = getWorkspace();
  EXPECT_EQ(aclnnRmsNormGrad(workspace, bytes - 1, executor, stream),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(aclnnRmsNormGrad(workspace, bytes, executor, stream), ACLNN_SUCCESS)
      << getError();
}

TEST_F(OperatorTest, RefusesTensorsThatAreNotAligned) {
  floats({2}, {1, 2});
  aclTensor *out = space({1});
  const int64_t one[1] = {1}, two[1] = {2};
  tensors.push_back(aclCreateTensor(one, 1, ACL_FLOAT, nullptr, 0,
                                    ACL_FORMAT_ND, one, 1,
                                    static_cast<float *>(memories[0]) + 1));
  ASSERT_EQ(aclnnSiluGetWorkspaceSize(tensors.back(), out, &bytes, &executor),
            ACLNN_SUCCESS);
  EXPECT_EQ(aclnnSilu(nullptr, 0, executor, stream), ACLNN_ERR_PARAM_INVALID);
  EXPECT_THAT(getError(), HasSubstr("self is not aligned to 32 bytes"));
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), ACLNN_SUCCESS);
  // An offset from an address that is aligned will do.
  tensors.push_back(aclCreateTensor(one, 1, ACL_FLOAT, nullptr, 1,
                                    ACL_FORMAT_ND, two, 1, memories[0]));
  ASSERT_EQ(aclnnSiluGetWorkspaceSize(tensors.back(), out, &bytes, &executor),
            ACLNN_SUCCESS);
  EXPECT_EQ(aclnnSilu(nullptr, 0, executor, stream), ACLNN_SUCCESS);
  EXPECT_NEAR(read(1, 1)[0], 1.761594F, 1e-5);
}

TEST_F(OperatorTest, ErrorsOfTasksComeToWhoWaits) {
  aclTensor *table = floats({2, 1}, {1, 2});
  const int64_t rows[1] = {2};
  aclTensor *indices = make({1}, ACL_INT64, rows, sizeof rows);
  aclTensor *out = space({1, 1});
  ASSERT_EQ(
      aclnnEmbeddingGetWorkspaceSize(table, indices, out, &bytes, &executor),
      ACLNN_SUCCESS)
      << getError();
  EXPECT_EQ(aclnnEmbedding(nullptr, 0, executor, stream), ACLNN_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_RT_AICORE_EXCEPTION);
  EXPECT_THAT(getError(), HasSubstr("aclnnEmbedding: index 2 is outside"));
  restart();
}

TEST_F(OperatorTest, RefusesTensorsThatDoNotFit) {
  aclTensor *a = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(
      aclnnMatmulGetWorkspaceSize(a, a, space({2, 2}), 0, &bytes, &executor),
      ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(
      aclnnInplaceCopyGetWorkspaceSize(space({2, 1}), a, &bytes, &executor),
      ACLNN_ERR_PARAM_INVALID);
}

/// Attention of two queries to two keys.
TEST_F(OperatorTest, RefusesOtherAttention) {
  aclTensor *x = floats({1, 1, 2, 1}, {0, 0}), *out = space({1, 1, 2, 1});
  aclTensor *statistics = space({1, 1, 2, 8}), *slopes = floats({1}, {0.5F});
  aclTensor *mask = make({2048, 2048}, ACL_BOOL, nullptr, 2048 * 2048);
  aclTensor *small = make({2, 2}, ACL_BOOL, nullptr, 4);
  char order[] = "BNSD", other[] = "BSH";
  struct Attention {
    char *layout;
    const aclTensor *mask;
    int64_t mode = 2, nextTokens = 0;
    double keptShare = 1;
    const aclTensor *slopes = nullptr;
  };
  auto prepare = [&](const Attention &a) {
    return aclnnFlashAttentionScoreV2GetWorkspaceSize(
        x, x, x, a.slopes, nullptr, nullptr, a.mask, nullptr, nullptr, nullptr,
        1, a.keptShare, 65536, a.nextTokens, 1, a.layout, 0, a.mode,
        a.slopes ? 2 : 1, statistics, statistics, nullptr, out, &bytes,
        &executor);
  };
  EXPECT_EQ(prepare({other, mask}), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(prepare({order, nullptr}), ACLNN_ERR_PARAM_NULLPTR);
  EXPECT_EQ(prepare({order, x}), ACLNN_ERR_PARAM_INVALID);
  // Dropout without a mask of it.
  EXPECT_EQ(prepare({order, mask, 2, 0, 0.5}), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(prepare({order, mask, 4, 1}), ACLNN_ERR_PARAM_INVALID);
  EXPECT_THAT(getError(), HasSubstr("behind the last key"));
  EXPECT_EQ(prepare({order, nullptr, 0, 65536, 1, slopes}),
            ACLNN_ERR_PARAM_INVALID);
  EXPECT_THAT(getError(), HasSubstr("without a causal mask"));
  EXPECT_EQ(prepare({order, small, 0, 65536}), ACLNN_ERR_PARAM_INVALID);
  EXPECT_THAT(getError(), HasSubstr("[batch, 1, queries, keys]"));
  ASSERT_EQ(prepare({order, mask}), ACLNN_SUCCESS) << getError();
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), ACLNN_SUCCESS);
}

} // namespace
