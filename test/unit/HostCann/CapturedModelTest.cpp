//===- CapturedModelTest.cpp - Work that is captured and runs again -------===//
// SPDX-License-Identifier: Apache-2.0

#include "HostCannTesting.h"

using ::testing::HasSubstr;

namespace {

class CapturedModelTest : public HostCannTest {
protected:
  void SetUp() override {
    HostCannTest::SetUp();
    first = createStream();
    second = createStream();
    there = createEvent();
    back = createEvent();
    device = static_cast<char *>(allocate(128));
    void *pinned = nullptr;
    ASSERT_EQ(aclrtMallocHost(&pinned, 128), ACL_SUCCESS);
    host = static_cast<float *>(pinned);
  }
  void TearDown() override {
    EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS) << getError();
    if (model)
      EXPECT_EQ(aclmdlRIDestroy(model), ACL_SUCCESS) << getError();
    for (aclrtEvent event : {there, back})
      EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
    for (aclrtStream stream : {first, second})
      EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS) << getError();
    if (device)
      EXPECT_EQ(aclrtFree(device), ACL_SUCCESS) << getError();
    EXPECT_EQ(aclrtFreeHost(host), ACL_SUCCESS) << getError();
    HostCannTest::TearDown();
  }

  int begin(aclmdlRICaptureMode mode = ACL_MODEL_RI_CAPTURE_MODE_GLOBAL) {
    return aclmdlRICaptureBegin(first, mode);
  }
  int end() { return aclmdlRICaptureEnd(first, &model); }
  int join() {
    EXPECT_EQ(aclrtRecordEvent(there, first), ACL_SUCCESS);
    return aclrtStreamWaitEvent(second, there);
  }
  int joinBack() {
    EXPECT_EQ(aclrtRecordEvent(back, second), ACL_SUCCESS);
    return aclrtStreamWaitEvent(first, back);
  }
  static int copy(void *to, const void *from, aclrtMemcpyKind kind,
                  aclrtStream stream) {
    return aclrtMemcpyAsync(to, sizeof(float), from, sizeof(float), kind,
                            stream);
  }
  /// Brings host[0] to host[16] by way of both streams.
  void captureCopies() {
    ASSERT_EQ(begin(), ACL_SUCCESS);
    EXPECT_EQ(copy(device, host, ACL_MEMCPY_HOST_TO_DEVICE, first),
              ACL_SUCCESS);
    EXPECT_EQ(join(), ACL_SUCCESS);
    EXPECT_EQ(copy(device + 64, device, ACL_MEMCPY_DEVICE_TO_DEVICE, second),
              ACL_SUCCESS);
    EXPECT_EQ(joinBack(), ACL_SUCCESS);
    EXPECT_EQ(copy(host + 16, device + 64, ACL_MEMCPY_DEVICE_TO_HOST, first),
              ACL_SUCCESS);
    ASSERT_EQ(end(), ACL_SUCCESS) << getError();
  }

  aclrtStream first = nullptr, second = nullptr;
  aclrtEvent there = nullptr, back = nullptr;
  char *device = nullptr;
  float *host = nullptr;
  aclmdlRI model = nullptr;
};

TEST_F(CapturedModelTest, RunsAsOftenAsItIsAsked) {
  host[0] = 1;
  host[16] = 0;
  captureCopies();
  aclmdlRICaptureStatus status = ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE;
  EXPECT_EQ(aclmdlRICaptureGetInfo(second, &status, nullptr), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_MODEL_RI_CAPTURE_STATUS_NONE);
  EXPECT_EQ(aclrtSynchronizeStream(first), ACL_SUCCESS);
  EXPECT_EQ(host[16], 0) << "captured work does not run";
  for (float value : {2.0F, 3.0F}) {
    host[0] = value;
    EXPECT_EQ(aclmdlRIExecuteAsync(model, first), ACL_SUCCESS) << getError();
    EXPECT_EQ(aclrtSynchronizeStream(first), ACL_SUCCESS) << getError();
    EXPECT_EQ(host[16], value);
  }
}

TEST_F(CapturedModelTest, IsCheckedLikeOtherWork) {
  captureCopies();
  EXPECT_EQ(aclmdlRIExecuteAsync(model, first), ACL_SUCCESS) << getError();
  EXPECT_EQ(copy(device + 64, device, ACL_MEMCPY_DEVICE_TO_DEVICE, second),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_THAT(getError(), HasSubstr("race: "));
  EXPECT_EQ(aclmdlRIDestroy(model), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(getError(), "aclmdlRIDestroy: the model still runs: synchronize "
                        "its stream first");
  EXPECT_EQ(aclrtSynchronizeStream(first), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(device), ACL_SUCCESS);
  device = nullptr;
  EXPECT_EQ(aclmdlRIExecuteAsync(model, first), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_THAT(getError(), HasSubstr("memory that was freed"));
}

TEST_F(CapturedModelTest, AllowsNoCallThatWaits) {
  ASSERT_EQ(begin(), ACL_SUCCESS);
  EXPECT_EQ(begin(), ACL_ERROR_RT_STREAM_CAPTURED);
  EXPECT_EQ(aclrtSynchronizeStream(second),
            ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT);
  EXPECT_EQ(getError(), "aclrtSynchronizeStream while work is captured, of "
                        "which nothing runs: expected it behind "
                        "aclmdlRICaptureEnd");
  EXPECT_EQ(end(), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(end(), ACL_ERROR_RT_STREAM_NOT_CAPTURED);
  ASSERT_EQ(begin(), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemset(device, 64, 0, 64),
            ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT);
  EXPECT_EQ(end(), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
  ASSERT_EQ(begin(ACL_MODEL_RI_CAPTURE_MODE_RELAXED), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemset(device, 64, 0, 64), ACL_SUCCESS);
  EXPECT_EQ(end(), ACL_SUCCESS);
}

TEST_F(CapturedModelTest, HasAllThatItsStreamsWaitFor) {
  EXPECT_EQ(aclmdlRICaptureBegin(nullptr, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL),
            ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT);
  EXPECT_EQ(aclrtRecordEvent(back, second), ACL_SUCCESS);
  ASSERT_EQ(begin(), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEvent(first, back), ACL_ERROR_RT_CAPTURE_DEPENDENCY);
  EXPECT_EQ(join(), ACL_SUCCESS);
  EXPECT_EQ(end(), ACL_ERROR_RT_STREAM_UNJOINED);
  EXPECT_EQ(getError(), "aclmdlRICaptureEnd: the 1. stream that joined has "
                        "work that the first one does not wait for");
}

TEST_F(CapturedModelTest, RecordsNothingOutside) {
  captureCopies();
  EXPECT_EQ(aclmdlRIExecuteAsync(model, first), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEvent(second, back), ACL_ERROR_RT_EVENT_CAPTURED);
  EXPECT_EQ(aclrtRecordEvent(back, first), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEvent(second, back), ACL_SUCCESS);
}

} // namespace
