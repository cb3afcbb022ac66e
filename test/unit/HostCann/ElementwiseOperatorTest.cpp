//===- ElementwiseOperatorTest.cpp - Operators against plain loops --------===//
// SPDX-License-Identifier: Apache-2.0

#include "OperatorTesting.h"
#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_div.h"
#include "aclnnop/aclnn_fill_scalar.h"
#include "aclnnop/aclnn_floor_divide.h"
#include "aclnnop/aclnn_ge_tensor.h"
#include "aclnnop/aclnn_gt_scalar.h"
#include "aclnnop/aclnn_mul.h"
#include "aclnnop/aclnn_ne_scalar.h"
#include "aclnnop/aclnn_remainder.h"
#include <cmath>

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::Pointwise;

namespace {

using Launch = aclnnStatus(void *, uint64_t, aclOpExecutor *, aclrtStream);

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

const std::vector<float> mixed = {-3, -1.5F, -0.25F, 0.5F, 2, 4.25F};

} // namespace

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

TEST_F(ElementwiseOperatorTest, AddsWithAFactor) {
  float factor = -0.5F, filled = 2;
  aclScalar *alpha = aclCreateScalar(&factor, ACL_FLOAT);
  aclScalar *value = aclCreateScalar(&filled, ACL_FLOAT);
  aclTensor *x = floats({3, 2}, {1, 2, 3, 4, 5, 6}), *twos = space({3, 2});
  aclTensor *sum = space({3, 2}), *above = space({3, 2}, ACL_BOOL);
  run(aclnnInplaceFillScalarGetWorkspaceSize(twos, value, &bytes, &executor),
      aclnnInplaceFillScalar);
  run(aclnnAddGetWorkspaceSize(x, twos, alpha, sum, &bytes, &executor),
      aclnnAdd);
  EXPECT_THAT(read(2, 6), ElementsAre(0, 1, 2, 3, 4, 5));
  run(aclnnGtScalarGetWorkspaceSize(sum, value, above, &bytes, &executor),
      aclnnGtScalar);
  EXPECT_THAT(readAs<uint8_t>(3, 6), ElementsAre(0, 0, 0, 1, 1, 1));
  aclDestroyScalar(alpha);
  aclDestroyScalar(value);
}
