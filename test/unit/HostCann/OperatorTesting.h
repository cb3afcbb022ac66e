//===- OperatorTesting.h - What tests of operators share --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_HOSTCANN_OPERATORTESTING_H
#define MF_TEST_UNIT_HOSTCANN_OPERATORTESTING_H

#include "HostCannTesting.h"
#include "aclnn/acl_meta.h"
#include <vector>

/// A device with a stream. Tensors live until the end of a test.
class OperatorTest : public HostCannTest {
protected:
  void SetUp() override {
    HostCannTest::SetUp();
    stream = createStream();
  }
  void TearDown() override {
    EXPECT_EQ(aclrtSynchronizeDevice(), ACL_SUCCESS) << getError();
    for (aclTensor *tensor : tensors)
      aclDestroyTensor(tensor);
    for (void *memory : memories)
      EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS) << getError();
    EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS) << getError();
    HostCannTest::TearDown();
  }

  /// Takes another device after an error of a task, with which the device does
  /// not work any more: all goes with the process.
  void restart() {
    aclFinalize();
    aclInit(nullptr);
    aclrtSetDevice(0);
    stream = createStream();
    memories.clear();
  }

  aclTensor *make(const std::vector<int64_t> &dims, aclDataType type,
                  const void *values, size_t bytes,
                  const std::vector<int64_t> &strides = {}) {
    memories.push_back(allocate(bytes));
    if (values)
      EXPECT_EQ(aclrtMemcpy(memories.back(), bytes, values, bytes,
                            ACL_MEMCPY_HOST_TO_DEVICE),
                ACL_SUCCESS);
    tensors.push_back(aclCreateTensor(
        dims.data(), dims.size(), type,
        strides.empty() ? nullptr : strides.data(), 0, ACL_FORMAT_ND,
        dims.data(), dims.size(), memories.back()));
    return tensors.back();
  }
  aclTensor *floats(const std::vector<int64_t> &dims,
                    const std::vector<float> &values,
                    const std::vector<int64_t> &strides = {}) {
    return make(dims, ACL_FLOAT, values.data(), values.size() * sizeof(float),
                strides);
  }
  aclTensor *space(const std::vector<int64_t> &dims,
                   aclDataType type = ACL_FLOAT) {
    size_t count = 1;
    for (int64_t size : dims)
      count *= size;
    return make(dims, type, nullptr, count * sizeof(float));
  }
  std::vector<float> read(size_t tensor, size_t count) {
    EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS) << getError();
    std::vector<float> values(count);
    EXPECT_EQ(aclrtMemcpy(values.data(), count * sizeof(float),
                          memories[tensor], count * sizeof(float),
                          ACL_MEMCPY_DEVICE_TO_HOST),
              ACL_SUCCESS);
    return values;
  }
  void *getWorkspace() {
    if (bytes == 0)
      return nullptr;
    memories.push_back(allocate(bytes));
    return memories.back();
  }

  aclrtStream stream = nullptr;
  std::vector<void *> memories;
  std::vector<aclTensor *> tensors;
  uint64_t bytes = 0;
  aclOpExecutor *executor = nullptr;
};

#endif // MF_TEST_UNIT_HOSTCANN_OPERATORTESTING_H
