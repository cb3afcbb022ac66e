//===- ElementwiseOperatorTest.cpp - Operators against plain loops --------===//
// SPDX-License-Identifier: Apache-2.0

#include "OperatorTesting.h"
#include "aclnnop/aclnn_arange.h"
#include "aclnnop/aclnn_cummax.h"
#include "aclnnop/aclnn_cumsum.h"
#include "aclnnop/aclnn_div.h"
#include "aclnnop/aclnn_exp.h"
#include "aclnnop/aclnn_floor_divide.h"
#include "aclnnop/aclnn_ge_tensor.h"
#include "aclnnop/aclnn_gt_tensor.h"
#include "aclnnop/aclnn_log.h"
#include "aclnnop/aclnn_logical_or.h"
#include "aclnnop/aclnn_lt_tensor.h"
#include "aclnnop/aclnn_masked_fill_scalar.h"
#include "aclnnop/aclnn_maximum.h"
#include "aclnnop/aclnn_mul.h"
#include "aclnnop/aclnn_ne_scalar.h"
#include "aclnnop/aclnn_neg.h"
#include "aclnnop/aclnn_reciprocal.h"
#include "aclnnop/aclnn_remainder.h"
#include "aclnnop/aclnn_sigmoid.h"
#include "aclnnop/aclnn_sigmoid_backward.h"
#include "aclnnop/aclnn_silu_backward.h"
#include "aclnnop/aclnn_sort.h"
#include "aclnnop/aclnn_sqrt.h"
#include "aclnnop/aclnn_sub.h"
#include "aclnnop/aclnn_topk.h"
#include <cmath>

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::Pointwise;

namespace {

using Launch = aclnnStatus(void *, uint64_t, aclOpExecutor *, aclrtStream);

double getSigmoid(double x) { return 1 / (1 + std::exp(-x)); }

class ElementwiseOperatorTest : public OperatorTest {
protected:
  void run(aclnnStatus prepared, Launch *launch) {
    ASSERT_EQ(prepared, ACLNN_SUCCESS) << getError();
    ASSERT_EQ(launch(getWorkspace(), bytes, executor, stream), ACLNN_SUCCESS)
        << getError();
  }
  /// Reads a tensor of other elements, by its number.
  template <typename Value>
  std::vector<Value> readAs(size_t tensor, size_t count) {
    EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS) << getError();
    std::vector<Value> values(count);
    EXPECT_EQ(aclrtMemcpy(values.data(), count * sizeof(Value),
                          memories[tensor], count * sizeof(Value),
                          ACL_MEMCPY_DEVICE_TO_HOST),
              ACL_SUCCESS);
    return values;
  }
};

const std::vector<float> positive = {0.25F, 0.5F, 1, 1.5F, 2, 3.75F};
const std::vector<float> mixed = {-3, -1.5F, -0.25F, 0.5F, 2, 4.25F};

} // namespace

/// Checks an operator of one tensor against a function of double.
#define CHECK_UNARY(NAME, VALUES, FUNCTION)                                    \
  {                                                                            \
    const size_t first = memories.size();                                      \
    aclTensor *self = floats({6}, VALUES), *out = space({6});                  \
    run(NAME##GetWorkspaceSize(self, out, &bytes, &executor), NAME);           \
    std::vector<float> expected;                                               \
    for (const double x : (VALUES))                                            \
      expected.push_back(static_cast<float>(FUNCTION));                        \
    EXPECT_THAT(read(first + 1, 6), Pointwise(FloatNear(1e-5F), expected))     \
        << #NAME;                                                              \
  }

/// Checks an operator of two tensors.
#define CHECK_BINARY(NAME, FUNCTION, ...)                                      \
  {                                                                            \
    const size_t first = memories.size();                                      \
    aclTensor *self = floats({6}, mixed), *other = floats({6}, positive);      \
    aclTensor *out = space({6});                                               \
    run(NAME##GetWorkspaceSize(self, other, ##__VA_ARGS__, out, &bytes,        \
                               &executor),                                     \
        NAME);                                                                 \
    std::vector<float> expected;                                               \
    for (size_t i = 0; i < mixed.size(); ++i) {                                \
      const double x = mixed[i], y = positive[i];                              \
      expected.push_back(static_cast<float>(FUNCTION));                        \
    }                                                                          \
    EXPECT_THAT(read(first + 2, 6), Pointwise(FloatNear(1e-5F), expected))     \
        << #NAME;                                                              \
  }

/// Checks an operator of a tensor and a number of the host.
#define CHECK_SCALAR(NAME, NUMBER, FUNCTION)                                   \
  {                                                                            \
    const size_t first = memories.size();                                      \
    const double y = NUMBER;                                                   \
    auto single = static_cast<float>(y);                                       \
    aclScalar *value = aclCreateScalar(&single, ACL_FLOAT);                    \
    aclTensor *self = floats({6}, mixed), *out = space({6});                   \
    run(NAME##GetWorkspaceSize(self, value, out, &bytes, &executor), NAME);    \
    std::vector<float> expected;                                               \
    for (const double x : mixed)                                               \
      expected.push_back(static_cast<float>(FUNCTION));                        \
    EXPECT_THAT(read(first + 1, 6), Pointwise(FloatNear(1e-5F), expected))     \
        << #NAME;                                                              \
    aclDestroyScalar(value);                                                   \
  }

TEST_F(ElementwiseOperatorTest, ComputesFunctionsOfOneTensor){
    CHECK_UNARY(aclnnExp, mixed, std::exp(x))
        CHECK_UNARY(aclnnLog, positive, std::log(x))
            CHECK_UNARY(aclnnNeg, mixed, -x)
                CHECK_UNARY(aclnnReciprocal, mixed, 1 / x)
                    CHECK_UNARY(aclnnSigmoid, mixed, getSigmoid(x))
                        CHECK_UNARY(aclnnSqrt, positive, std::sqrt(x))}

TEST_F(ElementwiseOperatorTest, ComputesFunctionsOfTwoTensors) {
  float one = 1;
  aclScalar *alpha = aclCreateScalar(&one, ACL_FLOAT);
  CHECK_BINARY(aclnnDiv, x / y)
  CHECK_BINARY(aclnnMul, x * y)
  CHECK_BINARY(aclnnMaximum, std::max(x, y))
  CHECK_BINARY(aclnnSub, x - y, alpha)
  CHECK_BINARY(aclnnSigmoidBackward, x * y * (1 - y))
  CHECK_BINARY(aclnnSiluBackward,
               x * getSigmoid(y) * (1 + y * (1 - getSigmoid(y))))
  aclDestroyScalar(alpha);
}

TEST_F(ElementwiseOperatorTest, ComputesWithNumbersOfTheHost){
    CHECK_SCALAR(aclnnDivs, 1.5, x / y)
        CHECK_SCALAR(aclnnFloorDivides, 1.5, std::floor(x / y))
            CHECK_SCALAR(aclnnMuls, 1.5, x *y)
                CHECK_SCALAR(aclnnRemainderTensorScalar, 1.5,
                             x - y * std::floor(x / y))}

TEST_F(ElementwiseOperatorTest, ComparesAsBool) {
  aclTensor *self = floats({2, 3}, mixed), *other = floats({3}, {-2, 0, 2});
  aclTensor *out = space({2, 3}, ACL_BOOL);
  run(aclnnGeTensorGetWorkspaceSize(self, other, out, &bytes, &executor),
      aclnnGeTensor);
  EXPECT_THAT(readAs<uint8_t>(2, 6), ElementsAre(0, 0, 0, 1, 1, 1));
  float number = 2;
  aclScalar *value = aclCreateScalar(&number, ACL_FLOAT);
  run(aclnnNeScalarGetWorkspaceSize(self, value, out, &bytes, &executor),
      aclnnNeScalar);
  EXPECT_THAT(readAs<uint8_t>(2, 6), ElementsAre(1, 1, 1, 1, 0, 1));
  EXPECT_EQ(aclnnGeTensorGetWorkspaceSize(self, other, space({2, 3}), &bytes,
                                          &executor),
            ACLNN_ERR_PARAM_INVALID);
  aclDestroyScalar(value);
}

TEST_F(ElementwiseOperatorTest, SelectsAndAddsUp) {
  aclTensor *self = floats({2, 3}, {2, 4.25F, -3, 0.5F, -1.5F, 6});
  aclTensor *values = space({2, 2});
  const std::vector<int64_t> none(6, -1);
  aclTensor *indices = make({2, 2}, ACL_INT64, none.data(), 32);
  run(aclnnTopkGetWorkspaceSize(self, 2, -1, true, true, values, indices,
                                &bytes, &executor),
      aclnnTopk);
  EXPECT_THAT(read(1, 4), ElementsAre(4.25F, 2, 6, 0.5F));
  EXPECT_THAT(readAs<int64_t>(2, 4), ElementsAre(1, 0, 2, 0));
  const size_t sorted = memories.size();
  aclTensor *order = space({2, 3});
  aclTensor *places = make({2, 3}, ACL_INT64, none.data(), 48);
  run(aclnnSortGetWorkspaceSize(self, true, -1, false, order, places, &bytes,
                                &executor),
      aclnnSort);
  EXPECT_THAT(read(sorted, 6), ElementsAre(-3, 2, 4.25F, -1.5F, 0.5F, 6));
  EXPECT_THAT(readAs<int64_t>(sorted + 1, 6), ElementsAre(2, 0, 1, 1, 0, 2));
  const size_t sums = memories.size();
  run(aclnnCumsumGetWorkspaceSize(self, 1, ACL_FLOAT, space({2, 3}), &bytes,
                                  &executor),
      aclnnCumsum);
  EXPECT_THAT(read(sums, 6), ElementsAre(2, 6.25F, 3.25F, 0.5F, -1, 5));
}

TEST_F(ElementwiseOperatorTest, MakesMasksOfPlaces) {
  int32_t numbers[] = {0, 4, 1, 7};
  std::vector<aclScalar *> scalars;
  for (int32_t &number : numbers)
    scalars.push_back(aclCreateScalar(&number, ACL_INT32));
  aclTensor *places = space({4}, ACL_INT32);
  run(aclnnArangeGetWorkspaceSize(scalars[0], scalars[1], scalars[2], places,
                                  &bytes, &executor),
      aclnnArange);
  EXPECT_THAT(readAs<int32_t>(0, 4), ElementsAre(0, 1, 2, 3));
  const std::vector<int32_t> own = {2, 0};
  aclTensor *queries = make({2, 1}, ACL_INT32, own.data(), 8);
  aclTensor *later = space({2, 4}, ACL_BOOL), *before = space({2, 4}, ACL_BOOL);
  run(aclnnGtTensorGetWorkspaceSize(places, queries, later, &bytes, &executor),
      aclnnGtTensor);
  run(aclnnLtTensorGetWorkspaceSize(places, queries, before, &bytes, &executor),
      aclnnLtTensor);
  EXPECT_THAT(readAs<uint8_t>(2, 8), ElementsAre(0, 0, 0, 1, 0, 1, 1, 1));
  EXPECT_THAT(readAs<uint8_t>(3, 8), ElementsAre(1, 1, 0, 0, 0, 0, 0, 0));
  const std::vector<uint8_t> last = {0, 0, 0, 1};
  aclTensor *row = make({4}, ACL_BOOL, last.data(), 4);
  run(aclnnInplaceLogicalOrGetWorkspaceSize(before, row, &bytes, &executor),
      aclnnInplaceLogicalOr);
  EXPECT_THAT(readAs<uint8_t>(3, 8), ElementsAre(1, 1, 0, 1, 0, 0, 0, 1));
  run(aclnnInplaceMaskedFillScalarGetWorkspaceSize(places, row, scalars[3],
                                                   &bytes, &executor),
      aclnnInplaceMaskedFillScalar);
  EXPECT_THAT(readAs<int32_t>(0, 4), ElementsAre(0, 1, 2, 7));
  for (aclScalar *scalar : scalars)
    aclDestroyScalar(scalar);
}

TEST_F(ElementwiseOperatorTest, KeepsTheLargestSoFar) {
  const std::vector<int32_t> given = {1, 3, 2, 3, 5, 0, 0, 6};
  aclTensor *self = make({2, 4}, ACL_INT32, given.data(), 32);
  aclTensor *values = space({2, 4}, ACL_INT32);
  aclTensor *indices = space({2, 4}, ACL_INT32);
  run(aclnnCummaxGetWorkspaceSize(self, 1, values, indices, &bytes, &executor),
      aclnnCummax);
  EXPECT_THAT(readAs<int32_t>(1, 8), ElementsAre(1, 3, 3, 3, 5, 5, 5, 6));
  EXPECT_THAT(readAs<int32_t>(2, 8), ElementsAre(0, 1, 1, 3, 0, 0, 0, 3));
}
