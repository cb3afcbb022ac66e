//===- RoutingOperatorTest.cpp - Operators that move rows to experts ------===//
// SPDX-License-Identifier: Apache-2.0

#include "OperatorTesting.h"
#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_constant_pad_nd.h"
#include "aclnnop/aclnn_embedding_dense_backward.h"
#include "aclnnop/aclnn_fill_scalar.h"
#include "aclnnop/aclnn_grouped_matmul_v4.h"
#include "aclnnop/aclnn_gt_scalar.h"
#include "aclnnop/aclnn_index_select.h"
#include "aclnnop/aclnn_permute.h"
#include "aclnnop/aclnn_reduce_sum.h"
#include "aclnnop/aclnn_repeat_interleave.h"

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

namespace {

class RoutingOperatorTest : public OperatorTest {
protected:
  using Run = aclnnStatus(void *, uint64_t, aclOpExecutor *, aclrtStream);

  void run(aclnnStatus prepared, Run *phase) {
    ASSERT_EQ(prepared, ACLNN_SUCCESS) << getError();
    ASSERT_EQ(phase(getWorkspace(), bytes, executor, stream), ACLNN_SUCCESS)
        << getError();
  }
  /// The number of the next tensor's memory.
  size_t next() const { return memories.size(); }
  aclTensor *integers(const std::vector<int64_t> &values) {
    return make({static_cast<int64_t>(values.size())}, ACL_INT64, values.data(),
                values.size() * sizeof(int64_t));
  }
  static aclTensorList *list(const std::vector<const aclTensor *> &tensors) {
    return aclCreateTensorList(tensors.data(), tensors.size());
  }
  /// Lists own their tensors.
  void product(const aclTensor *x, const aclTensor *weight, aclTensor *counts,
               aclTensor *out, int64_t groupType) {
    aclTensorList *lists[] = {list({x}), list({weight}), list({out})};
    run(aclnnGroupedMatmulV4GetWorkspaceSize(
            lists[0], lists[1], nullptr, nullptr, nullptr, nullptr, nullptr,
            nullptr, counts, nullptr, nullptr, nullptr, 3, groupType, 1, 0,
            lists[2], nullptr, nullptr, &bytes, &executor),
        aclnnGroupedMatmulV4);
    EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS) << getError();
    for (aclTensorList *made : lists)
      aclDestroyTensorList(made);
    tensors = {counts};
  }
};

/// Rows of two experts, of which the second has the last two.
const std::vector<float> rows = {1, 2, 3, 4, 5, 6};
const std::vector<float> weights = {1, 0, 2, 1, 3, -1, 0, 2};

} // namespace

TEST_F(RoutingOperatorTest, MultipliesRowsOfEachExpert) {
  const size_t place = next() + 3;
  aclTensor *counts = integers({1, 2});
  aclTensor *x = floats({3, 2}, rows), *weight = floats({2, 2, 2}, weights);
  // Rows behind the last expert's stay as they are.
  product(x, weight, counts, floats({3, 2}, std::vector<float>(6)), 0);
  std::vector<float> expected;
  for (int row = 0; row < 3; ++row)
    for (int column = 0; column < 2; ++column) {
      float sum = 0;
      for (int i = 0; i < 2; ++i)
        sum += rows[row * 2 + i] * weights[(row > 0) * 4 + i * 2 + column];
      expected.push_back(sum);
    }
  EXPECT_THAT(read(place, 6), ElementsAreArray(expected));
}

TEST_F(RoutingOperatorTest, AddsWeightGradientsOfEachExpert) {
  const size_t place = next() + 3;
  aclTensor *counts = integers({1, 2});
  // x is transposed by strides.
  aclTensor *x = floats({2, 3}, rows, {1, 2});
  aclTensor *dy = floats({3, 2}, {1, -1, 2, 0, 0, 3});
  product(x, dy, counts, floats({2, 2, 2}, std::vector<float>(8)), 2);
  EXPECT_THAT(read(place, 8),
              ElementsAre(1, -1, 2, -2, 3 * 2, 5 * 3, 4 * 2, 6 * 3));
}

TEST_F(RoutingOperatorTest, TakesRowsByNumberAndBack) {
  aclTensor *x = floats({3, 2}, rows), *index = integers({2, 0, 2});
  aclTensor *picked = space({3, 2}), *sums = space({3, 2});
  run(aclnnIndexSelectGetWorkspaceSize(x, 0, index, picked, &bytes, &executor),
      aclnnIndexSelect);
  EXPECT_THAT(read(2, 6), ElementsAre(5, 6, 1, 2, 5, 6));
  run(aclnnEmbeddingDenseBackwardGetWorkspaceSize(picked, index, 3, 9, false,
                                                  sums, &bytes, &executor),
      aclnnEmbeddingDenseBackward);
  EXPECT_THAT(read(3, 6), ElementsAre(1, 2, 0, 0, 10, 12));
}

TEST_F(RoutingOperatorTest, MovesElements) {
  aclTensor *x = floats({3, 2}, rows);
  const std::vector<int64_t> order = {1, 0}, pad = {1, 0, 0, 1}, last = {1};
  aclIntArray *perm = aclCreateIntArray(order.data(), 2);
  aclIntArray *around = aclCreateIntArray(pad.data(), 4);
  aclIntArray *axes = aclCreateIntArray(last.data(), 1);
  float number = 0;
  aclScalar *zero = aclCreateScalar(&number, ACL_FLOAT);
  run(aclnnPermuteGetWorkspaceSize(x, perm, space({2, 3}), &bytes, &executor),
      aclnnPermute);
  EXPECT_THAT(read(1, 6), ElementsAre(1, 3, 5, 2, 4, 6));
  size_t place = next();
  run(aclnnConstantPadNdGetWorkspaceSize(x, around, zero, space({4, 3}), &bytes,
                                         &executor),
      aclnnConstantPadNd);
  EXPECT_THAT(read(place, 12), ElementsAre(0, 1, 2, 0, 3, 4, 0, 5, 6, 0, 0, 0));
  place = next();
  run(aclnnReduceSumGetWorkspaceSize(x, axes, false, ACL_FLOAT, space({3}),
                                     &bytes, &executor),
      aclnnReduceSum);
  EXPECT_THAT(read(place, 3), ElementsAre(3, 7, 11));
  place = next();
  run(aclnnRepeatInterleaveIntWithDimGetWorkspaceSize(x, 2, 1, 4, space({3, 4}),
                                                      &bytes, &executor),
      aclnnRepeatInterleaveIntWithDim);
  EXPECT_THAT(read(place, 12), ElementsAre(1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6));
  aclDestroyIntArray(perm);
  aclDestroyIntArray(around);
  aclDestroyIntArray(axes);
  aclDestroyScalar(zero);
}

TEST_F(RoutingOperatorTest, AddsWithAFactor) {
  float factor = -0.5F, filled = 2;
  aclScalar *alpha = aclCreateScalar(&factor, ACL_FLOAT);
  aclScalar *value = aclCreateScalar(&filled, ACL_FLOAT);
  aclTensor *x = floats({3, 2}, rows), *twos = space({3, 2});
  aclTensor *sum = space({3, 2}), *above = space({3, 2}, ACL_BOOL);
  run(aclnnInplaceFillScalarGetWorkspaceSize(twos, value, &bytes, &executor),
      aclnnInplaceFillScalar);
  run(aclnnAddGetWorkspaceSize(x, twos, alpha, sum, &bytes, &executor),
      aclnnAdd);
  EXPECT_THAT(read(2, 6), ElementsAre(0, 1, 2, 3, 4, 5));
  run(aclnnGtScalarGetWorkspaceSize(sum, value, above, &bytes, &executor),
      aclnnGtScalar);
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS) << getError();
  std::vector<uint8_t> holds(6);
  EXPECT_EQ(
      aclrtMemcpy(holds.data(), 6, memories[3], 6, ACL_MEMCPY_DEVICE_TO_HOST),
      ACL_SUCCESS);
  EXPECT_THAT(holds, ElementsAre(0, 0, 0, 1, 1, 1));
  aclDestroyScalar(alpha);
  aclDestroyScalar(value);
}
