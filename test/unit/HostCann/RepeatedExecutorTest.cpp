//===- RepeatedExecutorTest.cpp - Executors that run more than once -------===//
// SPDX-License-Identifier: Apache-2.0

#include "HostCannTesting.h"
#include "aclnnop/aclnn_silu.h"

using ::testing::HasSubstr;

namespace {

class RepeatedExecutorTest : public HostCannTest {
protected:
  void SetUp() override {
    HostCannTest::SetUp();
    stream = createStream();
    memory = allocate(4096);
    ASSERT_EQ(aclrtMemset(memory, 4096, 0, 4096), ACL_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
    EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
    EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS) << getError();
    HostCannTest::TearDown();
  }

  /// In place, so that one tensor is all that it needs. CANN's cache outlives
  /// a test: each has a size of its own.
  aclOpExecutor *prepare(int64_t size) {
    tensor = aclCreateTensor(&size, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND,
                             &size, 1, memory);
    uint64_t bytes = 0;
    aclOpExecutor *executor = nullptr;
    EXPECT_EQ(aclnnSiluGetWorkspaceSize(tensor, tensor, &bytes, &executor),
              ACLNN_SUCCESS)
        << getError();
    return executor;
  }
  aclnnStatus run(aclOpExecutor *executor) {
    return aclnnSilu(nullptr, 0, executor, stream);
  }

  void *memory = nullptr;
  aclrtStream stream = nullptr;
  aclTensor *tensor = nullptr;
};

TEST_F(RepeatedExecutorTest, RunUntilTheyAreDestroyed) {
  aclOpExecutor *executor = prepare(20);
  EXPECT_EQ(aclSetAclOpExecutorRepeatable(executor), ACLNN_SUCCESS);
  EXPECT_EQ(run(executor), ACLNN_SUCCESS);
  EXPECT_EQ(run(executor), ACLNN_SUCCESS);
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), ACLNN_SUCCESS);
  EXPECT_EQ(run(executor), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(aclDestroyTensor(tensor), ACLNN_SUCCESS);
}

TEST_F(RepeatedExecutorTest, AreNotMadeOfCallsThatRanBefore) {
  EXPECT_EQ(run(prepare(21)), ACLNN_SUCCESS);
  EXPECT_EQ(aclDestroyTensor(tensor), ACLNN_SUCCESS);
  aclOpExecutor *executor = prepare(21);
  EXPECT_EQ(aclSetAclOpExecutorRepeatable(executor), ACLNN_ERR_PARAM_INVALID);
  EXPECT_EQ(getError(), "aclnnSilu: the executor is of CANN's cache, since "
                        "this call ran before: make executors repeatable ahead "
                        "of that");
  EXPECT_EQ(run(executor), ACLNN_SUCCESS);
  EXPECT_EQ(aclDestroyTensor(tensor), ACLNN_SUCCESS);

  executor = prepare(22);
  EXPECT_EQ(aclSetAclOpExecutorRepeatable(executor), ACLNN_SUCCESS);
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), ACLNN_SUCCESS);
  EXPECT_EQ(aclDestroyTensor(tensor), ACLNN_SUCCESS);
}

TEST_F(RepeatedExecutorTest, NeedTheirTensorsAsLong) {
  aclOpExecutor *executor = prepare(23);
  EXPECT_EQ(aclSetAclOpExecutorRepeatable(executor), ACLNN_SUCCESS);
  EXPECT_EQ(aclDestroyTensor(tensor), ACLNN_SUCCESS);
  EXPECT_EQ(run(executor), ACLNN_ERR_PARAM_INVALID);
  EXPECT_THAT(getError(), HasSubstr("was destroyed, but tensors of a "
                                    "repeatable executor live as long"));
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), ACLNN_SUCCESS);
}

} // namespace
