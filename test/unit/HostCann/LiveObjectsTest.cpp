//===- LiveObjectsTest.cpp - What programs do to objects of aclnn ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "HostCannTesting.h"
#include "aclnnop/aclnn_silu.h"

using ::testing::HasSubstr;

namespace {

class LiveObjectsTest : public HostCannTest {
protected:
  void SetUp() override {
    HostCannTest::SetUp();
    memory = allocate(64);
    const float values[16] = {};
    ASSERT_EQ(aclrtMemcpy(memory, 64, values, 64, ACL_MEMCPY_HOST_TO_DEVICE),
              ACL_SUCCESS);
  }
  void TearDown() override {
    if (!leaks)
      EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS) << getError();
    HostCannTest::TearDown();
  }

  aclTensor *make(int64_t size, int64_t stride = 1, int64_t offset = 0) {
    const int64_t storage = 16;
    return aclCreateTensor(&size, 1, ACL_FLOAT, &stride, offset, ACL_FORMAT_ND,
                           &storage, 1, memory);
  }
  aclnnStatus prepare(const aclTensor *tensor) {
    uint64_t bytes = 0;
    return aclnnSiluGetWorkspaceSize(tensor, const_cast<aclTensor *>(tensor),
                                     &bytes, &executor);
  }

  void *memory = nullptr;
  aclOpExecutor *executor = nullptr;
};

TEST_F(LiveObjectsTest, AreDestroyedOnce) {
  aclTensor *tensor = make(16);
  EXPECT_EQ(aclDestroyTensor(tensor), ACLNN_SUCCESS);
  EXPECT_EQ(aclDestroyTensor(tensor), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(getError(), "there is no such aclTensor to destroy; it may be "
                        "destroyed already");
  EXPECT_EQ(aclDestroyTensor(nullptr), ACLNN_SUCCESS);

  const aclTensor *elements[] = {make(16), make(8)};
  aclTensorList *list = aclCreateTensorList(elements, 2);
  EXPECT_EQ(aclDestroyTensor(elements[1]), ACLNN_SUCCESS);
  EXPECT_EQ(aclDestroyTensorList(list), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(aclDestroyTensorList(list), ACLNN_ERR_PARAM_INVALID);
}

TEST_F(LiveObjectsTest, AreNotUsedBehindTheirEnd) {
  aclTensor *tensor = make(16);
  EXPECT_EQ(aclDestroyTensor(tensor), ACLNN_SUCCESS);
  EXPECT_EQ(prepare(tensor), ACLNN_ERR_PARAM_INVALID);
  EXPECT_THAT(getError(), HasSubstr("was destroyed before the call"));
}

TEST_F(LiveObjectsTest, LieInTheirStorage) {
  for (aclTensor *tensor : {make(17), make(8, 3), make(16, 1, 1)}) {
    EXPECT_EQ(prepare(tensor), ACLNN_ERR_PARAM_INVALID);
    EXPECT_THAT(getError(), HasSubstr("has elements outside of its storage"));
    EXPECT_EQ(aclDestroyTensor(tensor), ACLNN_SUCCESS);
  }
}

TEST_F(LiveObjectsTest, AreReportedIfTheyAreLeft) {
  leaks = true;
  ASSERT_EQ(prepare(make(16)), ACLNN_SUCCESS) << getError();
  EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);
  EXPECT_EQ(aclFinalize(), ACL_ERROR_INTERNAL_ERROR);
  EXPECT_EQ(getError(), "leak: aclFinalize finds 1 of aclOpExecutor, 1 of "
                        "aclTensor that nobody freed");
}

} // namespace
