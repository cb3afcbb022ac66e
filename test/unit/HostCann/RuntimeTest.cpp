//===- RuntimeTest.cpp - Memory, streams and events of the host's CANN ----===//
// SPDX-License-Identifier: Apache-2.0

#include "HostCannTesting.h"
#include <vector>

using ::testing::HasSubstr;

namespace {

using RuntimeTest = HostCannTest;

TEST(RuntimeStartTest, RefusesCallsInTheWrongOrder) {
  void *memory = nullptr;
  EXPECT_EQ(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST),
            ACL_ERROR_UNINITIALIZE);
  ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclInit(nullptr), ACL_ERROR_REPEAT_INITIALIZE);
  EXPECT_EQ(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST),
            ACL_ERROR_RT_CONTEXT_NULL);
  EXPECT_EQ(aclrtSetDevice(99), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
}

TEST_F(RuntimeTest, NamesBothCallsOfARace) {
  aclrtStream first = createStream(), second = createStream();
  void *memory = allocate(256), *other = allocate(256);
  ASSERT_EQ(aclrtMemsetAsync(memory, 256, 1, 256, first), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemcpyAsync(other, 128, static_cast<char *>(memory) + 128, 128,
                             ACL_MEMCPY_DEVICE_TO_DEVICE, second),
            ACL_ERROR_RT_PARAM_INVALID);
  const std::string text = getError();
  EXPECT_THAT(text, HasSubstr("race: aclrtMemcpyAsync (call "));
  EXPECT_THAT(text, HasSubstr("which aclrtMemsetAsync (call "));
  // An event orders the two.
  aclrtEvent event = createEvent();
  EXPECT_EQ(aclrtRecordEvent(event, first), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEvent(second, event), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemcpyAsync(other, 128, static_cast<char *>(memory) + 128, 128,
                             ACL_MEMCPY_DEVICE_TO_DEVICE, second),
            ACL_SUCCESS);
  // Overwriting what is still read is a race as well; other bytes are free.
  EXPECT_EQ(aclrtMemsetAsync(memory, 256, 2, 256, first),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemsetAsync(memory, 256, 2, 128, first), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(memory), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_THAT(getError(), HasSubstr("freed too early"));
  EXPECT_EQ(aclrtDestroyStream(first), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(other), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(first), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(second), ACL_SUCCESS);
}

TEST_F(RuntimeTest, AWaitBindsToTheRecordOfItsTime) {
  aclrtStream first = createStream(), second = createStream();
  aclrtEvent event = createEvent();
  void *memory = allocate(64);
  // Never recorded is done: nothing is ordered.
  EXPECT_EQ(aclrtStreamWaitEvent(second, event), ACL_SUCCESS);
  EXPECT_EQ(aclrtRecordEvent(event, first), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemsetAsync(memory, 64, 1, 64, first), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEvent(second, event), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemsetAsync(memory, 64, 2, 64, second),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtRecordEvent(event, first), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEvent(second, event), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemsetAsync(memory, 64, 2, 64, second), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeEvent(event), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetEvent(event, first), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
  // Events of the older kind are recorded once before each reset.
  ASSERT_EQ(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC), ACL_SUCCESS);
  EXPECT_EQ(aclrtStreamWaitEvent(second, event), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtRecordEvent(event, first), ACL_SUCCESS);
  EXPECT_EQ(aclrtRecordEvent(event, first), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtResetEvent(event, first), ACL_SUCCESS);
  EXPECT_EQ(aclrtRecordEvent(event, first), ACL_SUCCESS);
  EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(first), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(second), ACL_SUCCESS);
}

TEST_F(RuntimeTest, ChecksTheBoundsOfMemory) {
  void *memory = allocate(100);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0U);
  EXPECT_EQ(aclrtMemset(memory, 200, 0, 101), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_THAT(getError(), HasSubstr("has 101 bytes"));
  EXPECT_EQ(aclrtMemset(memory, 100, 0, 101), ACL_ERROR_INVALID_PARAM);
  int onHost = 0;
  EXPECT_EQ(aclrtMemset(&onHost, 4, 0, 4), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(memory), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemset(memory, 100, 0, 100), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_THAT(getError(), HasSubstr("memory that was freed"));
  EXPECT_EQ(aclrtMalloc(&memory, 0, ACL_MEM_MALLOC_HUGE_FIRST),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMalloc(&memory, size_t{65} << 30, ACL_MEM_MALLOC_HUGE_FIRST),
            ACL_ERROR_RT_MEMORY_ALLOCATION);
}

TEST_F(RuntimeTest, HasAsManyStreamsAsADevice) {
  std::vector<aclrtStream> streams(1984);
  for (aclrtStream &stream : streams)
    ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  aclrtStream more = nullptr;
  EXPECT_EQ(aclrtCreateStream(&more), ACL_ERROR_RT_NO_STREAM_RESOURCE);
  for (aclrtStream stream : streams)
    EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

TEST_F(RuntimeTest, SaysWhatIsLeft) {
  leaks = true;
  allocate(64);
  createStream();
  EXPECT_EQ(aclFinalize(), ACL_ERROR_INTERNAL_ERROR);
  EXPECT_EQ(getError(), "leak: aclFinalize finds 1 blocks of memory of 64 "
                        "bytes together, 1 streams that nobody freed");
}

} // namespace
