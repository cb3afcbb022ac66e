//===- ModelOperatorTest.cpp - Operators of layers and of experts ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "OperatorTesting.h"
#include "aclnnop/aclnn_dropout_do_mask.h"
#include "aclnnop/aclnn_fast_gelu.h"
#include "aclnnop/aclnn_fast_gelu_backward.h"
#include "aclnnop/aclnn_flash_attention_score.h"
#include "aclnnop/aclnn_flash_attention_score_grad.h"
#include "aclnnop/aclnn_gather.h"
#include "aclnnop/aclnn_layer_norm.h"
#include "aclnnop/aclnn_layer_norm_backward.h"
#include "aclnnop/aclnn_moe_token_permute.h"
#include "aclnnop/aclnn_moe_token_unpermute.h"
#include "aclnnop/aclnn_scatter_add.h"
#include "aclnnop/aclnn_topk.h"
#include <cstring>

using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

namespace {

class ModelOperatorTest : public OperatorTest {
protected:
  using Run = aclnnStatus (*)(void *, uint64_t, aclOpExecutor *, aclrtStream);

  /// Runs an operator behind its first phase.
  void run(aclnnStatus prepared, Run phase) {
    ASSERT_EQ(prepared, ACLNN_SUCCESS) << getError();
    EXPECT_EQ(phase(getWorkspace(), bytes, executor, stream), ACLNN_SUCCESS)
        << getError();
  }
  std::vector<float> readTensor(const aclTensor *tensor, size_t count) {
    for (size_t i = 0; i < tensors.size(); ++i)
      if (tensors[i] == tensor)
        return read(places[i], count);
    return {};
  }
  aclTensor *remember(aclTensor *tensor) {
    places.push_back(memories.size() - 1);
    return tensor;
  }
  aclTensor *given(const std::vector<int64_t> &dims,
                   const std::vector<float> &values) {
    return remember(floats(dims, values));
  }
  aclTensor *made(const std::vector<int64_t> &dims,
                  aclDataType type = ACL_FLOAT) {
    return remember(space(dims, type));
  }
  aclTensor *integers(const std::vector<int64_t> &dims,
                      const std::vector<int32_t> &values) {
    return remember(
        make(dims, ACL_INT32, values.data(), values.size() * sizeof(int32_t)));
  }
  /// A mask of 128 bits.
  aclTensor *bits(uint8_t first) {
    std::vector<uint8_t> values(16, 0);
    values.front() = first;
    return remember(make({16}, ACL_UINT8, values.data(), values.size()));
  }
  std::vector<int32_t> readIntegers(const aclTensor *tensor, size_t count) {
    const std::vector<float> raw = readTensor(tensor, count);
    std::vector<int32_t> values(count);
    std::memcpy(values.data(), raw.data(), count * sizeof(int32_t));
    return values;
  }

  std::vector<size_t> places;
};

TEST_F(ModelOperatorTest, DropsWhereTheBitIsZero) {
  aclTensor *x = given({4}, {1, 2, 3, 4}), *out = made({4});
  run(aclnnDropoutDoMaskGetWorkspaceSize(x, bits(0b0101), 0.5, out, &bytes,
                                         &executor),
      aclnnDropoutDoMask);
  EXPECT_EQ(readTensor(out, 4), (std::vector<float>{2, 0, 6, 0}));
  EXPECT_EQ(
      aclnnDropoutDoMaskGetWorkspaceSize(x, x, 0.5, out, &bytes, &executor),
      ACLNN_ERR_PARAM_INVALID);
  EXPECT_THAT(getError(), HasSubstr("mask is not UINT8"));
}

TEST_F(ModelOperatorTest, NormalizesRows) {
  aclTensor *x = given({2, 2}, {1, 3, 5, 5}), *weight = given({2}, {2, 1});
  aclTensor *bias = given({2}, {0.5F, 0}), *dy = given({2, 2}, {1, 0, 1, 1});
  aclTensor *y = made({2, 2}), *mean = made({2, 1}), *rstd = made({2, 1});
  const int64_t columns = 2;
  aclIntArray *shape = aclCreateIntArray(&columns, 1);
  const bool all[] = {true, true, true};
  aclBoolArray *mask = aclCreateBoolArray(all, 3);
  run(aclnnLayerNormGetWorkspaceSize(x, shape, weight, bias, 0, y, mean, rstd,
                                     &bytes, &executor),
      aclnnLayerNorm);
  EXPECT_EQ(readTensor(mean, 2), (std::vector<float>{2, 5}));
  EXPECT_EQ(readTensor(y, 2), (std::vector<float>{-1.5F, 1}));
  // The second row has no deviation.
  run(aclnnLayerNormGetWorkspaceSize(x, shape, weight, bias, 1, y, mean, rstd,
                                     &bytes, &executor),
      aclnnLayerNorm);
  aclTensor *dx = made({2, 2}), *dw = made({2}), *db = made({2});
  run(aclnnLayerNormBackwardGetWorkspaceSize(dy, x, shape, mean, rstd, weight,
                                             bias, mask, dx, dw, db, &bytes,
                                             &executor),
      aclnnLayerNormBackward);
  EXPECT_EQ(readTensor(db, 2), (std::vector<float>{2, 1}));
  EXPECT_THAT(readTensor(dw, 2),
              Pointwise(FloatNear(1e-6F), {-0.707107F, 0.0F}));
  EXPECT_THAT(
      readTensor(dx, 4),
      Pointwise(FloatNear(1e-6F), {0.353553F, -0.353553F, 0.5F, -0.5F}));
  EXPECT_EQ(aclDestroyIntArray(shape), ACLNN_SUCCESS);
  EXPECT_EQ(aclDestroyBoolArray(mask), ACLNN_SUCCESS);
}

TEST_F(ModelOperatorTest, HasTheFastFormOfGelu) {
  aclTensor *x = given({2}, {0, 1}), *dy = given({2}, {2, 1});
  aclTensor *out = made({2}), *dx = made({2});
  run(aclnnFastGeluGetWorkspaceSize(x, out, &bytes, &executor), aclnnFastGelu);
  run(aclnnFastGeluBackwardGetWorkspaceSize(dy, x, dx, &bytes, &executor),
      aclnnFastGeluBackward);
  EXPECT_THAT(readTensor(out, 2),
              Pointwise(FloatNear(1e-6F), {0.0F, 0.845796F}));
  EXPECT_THAT(readTensor(dx, 2),
              Pointwise(FloatNear(1e-6F), {1.0F, 1.067779F}));
}

/// One head of two queries, all of whose keys are equal.
class AttentionOperatorTest : public ModelOperatorTest {
protected:
  void forward(const aclTensor *dropMask, double keepProb) {
    run(aclnnFlashAttentionScoreV2GetWorkspaceSize(
            q, k, v, nullptr, dropMask, nullptr, nullptr, nullptr, nullptr,
            nullptr, 1, keepProb, 65536, 65536, 1, layout, 0, 0, 1, max, sum,
            nullptr, out, &bytes, &executor),
        aclnnFlashAttentionScoreV2);
  }
  void backward(const aclTensor *dropMask, double keepProb) {
    run(aclnnFlashAttentionScoreGradV2GetWorkspaceSize(
            q, k, v, dy, nullptr, dropMask, nullptr, nullptr, max, sum, nullptr,
            out, nullptr, nullptr, nullptr, 1, keepProb, 65536, 65536, 1,
            layout, 0, 0, 1, dq, dk, dv, nullptr, &bytes, &executor),
        aclnnFlashAttentionScoreGradV2);
  }

  char layout[5] = "BNSD";
  aclTensor *q = nullptr, *k = nullptr, *v = nullptr, *dy = nullptr;
  aclTensor *max = nullptr, *sum = nullptr, *out = nullptr;
  aclTensor *dq = nullptr, *dk = nullptr, *dv = nullptr;

  void SetUp() override {
    ModelOperatorTest::SetUp();
    const std::vector<int64_t> dims = {1, 1, 2, 1};
    q = given(dims, {1, 1});
    k = given(dims, {1, 1});
    v = given(dims, {2, 4});
    dy = given(dims, {1, 0});
    max = made({1, 1, 2, 8});
    sum = made({1, 1, 2, 8});
    for (aclTensor **tensor : {&out, &dq, &dk, &dv})
      *tensor = made(dims);
  }
};

TEST_F(AttentionOperatorTest, ComputesGradients) {
  forward(nullptr, 1);
  backward(nullptr, 1);
  EXPECT_EQ(readTensor(out, 2), (std::vector<float>{3, 3}));
  // The probabilities are a half; the scores' gradients -1/2 and 1/2.
  EXPECT_EQ(readTensor(dv, 2), (std::vector<float>{0.5F, 0.5F}));
  EXPECT_EQ(readTensor(dq, 2), (std::vector<float>{0, 0}));
  EXPECT_EQ(readTensor(dk, 2), (std::vector<float>{-0.5F, 0.5F}));
}

TEST_F(AttentionOperatorTest, DropsProbabilities) {
  // The first query loses its second key, the second one both.
  aclTensor *mask = bits(0b0001);
  forward(mask, 0.5);
  backward(mask, 0.5);
  EXPECT_EQ(readTensor(out, 2), (std::vector<float>{2, 0}));
  EXPECT_EQ(readTensor(dv, 2), (std::vector<float>{1, 0}));
  EXPECT_EQ(readTensor(dk, 2), (std::vector<float>{1, -1}));
  EXPECT_EQ(aclnnFlashAttentionScoreV2GetWorkspaceSize(
                q, k, v, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                nullptr, 1, 0.5, 65536, 65536, 1, layout, 0, 0, 1, max, sum,
                nullptr, out, &bytes, &executor),
            ACLNN_ERR_PARAM_INVALID);
}

TEST_F(ModelOperatorTest, SortsTokensByExpertAndBack) {
  aclTensor *tokens = given({3, 2}, {1, 2, 3, 4, 5, 6});
  aclTensor *experts = integers({3, 1}, {1, 0, 1});
  aclTensor *sorted = made({3, 2}), *back = made({3, 2});
  aclTensor *rows = made({3}, ACL_INT32);
  run(aclnnMoeTokenPermuteGetWorkspaceSize(tokens, experts, 0, false, sorted,
                                           rows, &bytes, &executor),
      aclnnMoeTokenPermute);
  EXPECT_EQ(readTensor(sorted, 6), (std::vector<float>{3, 4, 1, 2, 5, 6}));
  EXPECT_EQ(readIntegers(rows, 3), (std::vector<int32_t>{1, 0, 2}));
  run(aclnnMoeTokenUnpermuteGetWorkspaceSize(sorted, rows, nullptr, false,
                                             nullptr, back, &bytes, &executor),
      aclnnMoeTokenUnpermute);
  EXPECT_EQ(readTensor(back, 6), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST_F(ModelOperatorTest, ChoosesExperts) {
  aclTensor *scores = given({2, 3}, {1, 3, 2, 5, 4, 5});
  aclTensor *best = made({2, 2});
  memories.push_back(allocate(4 * sizeof(int64_t)));
  const std::vector<int64_t> dims = {2, 2};
  aclTensor *numbers =
      aclCreateTensor(dims.data(), 2, ACL_INT64, nullptr, 0, ACL_FORMAT_ND,
                      dims.data(), 2, memories.back());
  run(aclnnTopkGetWorkspaceSize(scores, 2, 1, true, true, best, numbers, &bytes,
                                &executor),
      aclnnTopk);
  EXPECT_EQ(readTensor(best, 4), (std::vector<float>{3, 2, 5, 5}));
  EXPECT_EQ(aclDestroyTensor(numbers), ACLNN_SUCCESS);
}

TEST_F(ModelOperatorTest, GathersAndScattersByIndex) {
  aclTensor *x = given({2, 3}, {1, 2, 3, 4, 5, 6});
  aclTensor *index = integers({2, 2}, {2, 0, 1, 1});
  aclTensor *picked = made({2, 2}), *sums = made({2, 3});
  run(aclnnGatherGetWorkspaceSize(x, 1, index, picked, &bytes, &executor),
      aclnnGather);
  EXPECT_EQ(readTensor(picked, 4), (std::vector<float>{3, 1, 5, 5}));
  run(aclnnScatterAddGetWorkspaceSize(x, 1, index, picked, sums, &bytes,
                                      &executor),
      aclnnScatterAdd);
  EXPECT_EQ(readTensor(sums, 6), (std::vector<float>{2, 2, 6, 4, 15, 6}));
}

} // namespace
