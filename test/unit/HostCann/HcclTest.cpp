//===- HcclTest.cpp - Collectives of the host's CANN ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "hccl/hccl.h"
#include "HostCannTesting.h"
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

using ::testing::AllOf;
using ::testing::HasSubstr;

namespace {

/// A rank of a test: a thread with its own device, stream and communicator.
struct TestRank {
  uint32_t rank = 0;
  HcclComm communicator = nullptr;
  aclrtStream stream = nullptr;
  std::string error;

  float *makeBuffer(const std::vector<float> &values) {
    void *memory = nullptr;
    const size_t bytes = values.size() * sizeof(float);
    aclrtMalloc(&memory, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMemcpy(memory, bytes, values.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE);
    return static_cast<float *>(memory);
  }
  void expect(int code) {
    if (code)
      keepError();
  }
  void synchronize() { expect(aclrtSynchronizeStream(stream)); }
  void keepError() {
    const char *text = aclGetRecentErrMsg();
    if (error.empty())
      error = text ? text : "no text";
  }
};

class HcclTest : public HostCannTest {
protected:
  /// Runs `body` on ranks that are connected, and gives their errors.
  std::vector<std::string> run(uint32_t numRanks,
                               const std::function<void(TestRank &)> &body) {
    HcclRootInfo root;
    EXPECT_EQ(HcclGetRootInfo(&root), HCCL_SUCCESS);
    std::vector<std::thread> threads;
    std::vector<std::string> errors(numRanks);
    for (uint32_t number = 0; number < numRanks; ++number)
      threads.emplace_back([&, number] {
        TestRank rank;
        rank.rank = number;
        EXPECT_EQ(aclrtSetDevice(static_cast<int32_t>(number)), ACL_SUCCESS);
        EXPECT_EQ(aclrtCreateStream(&rank.stream), ACL_SUCCESS);
        HcclCommConfig config;
        HcclCommConfigInit(&config);
        std::snprintf(config.hcclCommName, sizeof(config.hcclCommName), "dp");
        EXPECT_EQ(HcclCommInitRootInfoConfig(numRanks, &root, number, &config,
                                             &rank.communicator),
                  HCCL_SUCCESS)
            << getError();
        body(rank);
        errors[number] = rank.error;
      });
    for (std::thread &thread : threads)
      thread.join();
    // Ranks keep what they have made until the process ends.
    leaks = true;
    return errors;
  }
  void TearDown() override {
    aclFinalize();
    unsetenv("HCCL_EXEC_TIMEOUT");
  }
};

TEST_F(HcclTest, NamesCollectivesThatDoNotFit) {
  const auto errors = run(2, [](TestRank &rank) {
    float *from = rank.makeBuffer({1, 2}), *to = rank.makeBuffer({0, 0});
    rank.expect(rank.rank == 0 ? HcclAllReduce(from, to, 1, HCCL_DATA_TYPE_FP32,
                                               HCCL_REDUCE_SUM,
                                               rank.communicator, rank.stream)
                               : HcclAllGather(from, to, 1, HCCL_DATA_TYPE_FP32,
                                               rank.communicator, rank.stream));
    rank.synchronize();
  });
  EXPECT_THAT(errors[0],
              AllOf(HasSubstr("communicator 'dp', rank 0: HcclAllReduce (call "
                              "1) of 1 elements"),
                    HasSubstr("HcclAllGather (call 1)")));
  EXPECT_THAT(errors[1], HasSubstr("meets HcclAllReduce (call 1)"));
}

TEST_F(HcclTest, NamesSizesAndTypesThatDoNotFit) {
  for (const bool isType : {false, true}) {
    const auto errors = run(2, [&](TestRank &rank) {
      const bool isOther = rank.rank == 1;
      float *buffer = rank.makeBuffer({1, 2});
      rank.expect(HcclAllReduce(
          buffer, buffer, isOther && !isType ? 2 : 1,
          isOther && isType ? HCCL_DATA_TYPE_INT32 : HCCL_DATA_TYPE_FP32,
          HCCL_REDUCE_SUM, rank.communicator, rank.stream));
      rank.synchronize();
    });
    EXPECT_THAT(errors[0],
                HasSubstr(isType ? "1 elements of type 2 of rank 1"
                                 : "2 elements of type 4 of rank 1"));
    EXPECT_THAT(errors[1], HasSubstr("of rank 0"));
    aclFinalize();
    ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
  }
}

TEST_F(HcclTest, DoesNotWaitForEver) {
  setenv("HCCL_EXEC_TIMEOUT", "1", 1);
  const auto errors = run(2, [](TestRank &rank) {
    float *buffer = rank.makeBuffer({1});
    for (uint32_t i = 0; i < 2 - rank.rank; ++i)
      rank.expect(HcclAllReduce(buffer, buffer, 1, HCCL_DATA_TYPE_FP32,
                                HCCL_REDUCE_SUM, rank.communicator,
                                rank.stream));
    rank.synchronize();
  });
  EXPECT_THAT(errors[0],
              AllOf(HasSubstr("HcclAllReduce (call 2)"),
                    HasSubstr("waits for rank 1, whose latest call is "
                              "HcclAllReduce (call 1)"),
                    HasSubstr("within 1 s (HCCL_EXEC_TIMEOUT)")));
  EXPECT_EQ(errors[1], "");
}

TEST_F(HcclTest, RefusesDestroyedCommunicators) {
  const auto errors = run(2, [](TestRank &rank) {
    float *buffer = rank.makeBuffer({1});
    if (rank.rank == 1) {
      EXPECT_EQ(HcclCommDestroy(rank.communicator), HCCL_SUCCESS) << getError();
      EXPECT_EQ(HcclBarrier(rank.communicator, rank.stream), HCCL_E_PARA);
      rank.keepError();
      return;
    }
    rank.expect(HcclAllReduce(buffer, buffer, 1, HCCL_DATA_TYPE_FP32,
                              HCCL_REDUCE_SUM, rank.communicator, rank.stream));
    rank.synchronize();
  });
  EXPECT_THAT(errors[0], HasSubstr("it has destroyed the communicator"));
  EXPECT_THAT(errors[1], HasSubstr("or it was destroyed"));
}

TEST_F(HcclTest, FindsRaces) {
  const auto errors = run(1, [](TestRank &rank) {
    float *buffer = rank.makeBuffer({1}), *other = rank.makeBuffer({1});
    aclrtStream second = createStream();
    rank.expect(HcclAllReduce(buffer, buffer, 1, HCCL_DATA_TYPE_FP32,
                              HCCL_REDUCE_SUM, rank.communicator, rank.stream));
    // Calls of a communicator need an order, whatever their buffers are.
    EXPECT_EQ(HcclAllReduce(other, other, 1, HCCL_DATA_TYPE_FP32,
                            HCCL_REDUCE_SUM, rank.communicator, second),
              HCCL_E_PARA);
    rank.keepError();
    // Nor may one be destroyed that still has work, or memory be used.
    EXPECT_EQ(HcclCommDestroy(rank.communicator), HCCL_E_PARA);
    EXPECT_THAT(getError(), HasSubstr("freed too early"));
    EXPECT_NE(aclrtMemsetAsync(buffer, 4, 0, 4, second), ACL_SUCCESS);
    EXPECT_THAT(getError(), HasSubstr("which HcclAllReduce (call"));
    rank.synchronize();
  });
  EXPECT_THAT(errors[0], HasSubstr("race: HcclAllReduce (call"));
}

TEST_F(HcclTest, RefusesWhatDoesNotFitTheCommunicator) {
  run(1, [](TestRank &rank) {
    float *buffer = rank.makeBuffer({1, 2});
    EXPECT_EQ(HcclSend(buffer, 1, HCCL_DATA_TYPE_FP32, 0, rank.communicator,
                       rank.stream),
              HCCL_E_NOT_SUPPORT);
    EXPECT_EQ(HcclAllReduce(buffer, buffer, 1, HCCL_DATA_TYPE_FP32,
                            HCCL_REDUCE_PROD, rank.communicator, rank.stream),
              HCCL_E_NOT_SUPPORT);
    EXPECT_EQ(HcclAllReduce(buffer, buffer, 1, HCCL_DATA_TYPE_UINT8,
                            HCCL_REDUCE_SUM, rank.communicator, rank.stream),
              HCCL_E_NOT_SUPPORT);
    EXPECT_EQ(HcclAllReduce(nullptr, buffer, 1, HCCL_DATA_TYPE_FP32,
                            HCCL_REDUCE_SUM, rank.communicator, rank.stream),
              HCCL_E_PTR);
    EXPECT_EQ(HcclAllReduce(buffer, buffer, 3, HCCL_DATA_TYPE_FP32,
                            HCCL_REDUCE_SUM, rank.communicator, rank.stream),
              HCCL_E_PARA);
    EXPECT_THAT(getError(), HasSubstr("has 12 bytes"));
  });
}

} // namespace
