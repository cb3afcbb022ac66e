//===- HostCannTesting.h - What tests of the host's CANN share --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_HOSTCANN_HOSTCANNTESTING_H
#define MF_TEST_UNIT_HOSTCANN_HOSTCANNTESTING_H

#include "acl/acl.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <string>

/// A process with device 0; what a test leaves is a failure of the test.
class HostCannTest : public ::testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  }
  void TearDown() override {
    if (leaks)
      return;
    aclGetRecentErrMsg();
    EXPECT_EQ(aclFinalize(), ACL_SUCCESS) << getError();
  }

  static std::string getError() {
    const char *text = aclGetRecentErrMsg();
    return text ? text : "";
  }
  static void *allocate(size_t bytes) {
    void *memory = nullptr;
    EXPECT_EQ(aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST),
              ACL_SUCCESS);
    return memory;
  }
  static aclrtStream createStream() {
    aclrtStream stream = nullptr;
    EXPECT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
    return stream;
  }
  static aclrtEvent createEvent() {
    aclrtEvent event = nullptr;
    EXPECT_EQ(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC), ACL_SUCCESS);
    return event;
  }

  bool leaks = false;
};

#endif // MF_TEST_UNIT_HOSTCANN_HOSTCANNTESTING_H
