//===- CommunicatorTest.cpp - Messages between ranks of a process ---------===//

#include "lib/Runner/Communicator.h"
#include "mf/Data/ElementConversion.h"
#include <atomic>
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

using namespace mf;
using namespace mf::runner;
using ::testing::Each;

namespace {

TEST(CommunicatorTest, KeepsTheOrderOfAChannel) {
  Communicator communicator({{"x", false, {0, 1}}});
  constexpr int count = 2000;
  std::thread sender([&] {
    for (int i = 0; i < count; ++i)
      ASSERT_FALSE(static_cast<bool>(communicator.send(
          0, reinterpret_cast<const std::byte *>(&i), sizeof(i))));
  });
  for (int i = 0; i < count; ++i) {
    int value = -1;
    ASSERT_FALSE(static_cast<bool>(communicator.receive(
        0, reinterpret_cast<std::byte *>(&value), sizeof(value))));
    EXPECT_EQ(value, i);
  }
  sender.join();
}

/// All members' data after a reduction over `group`.
template <typename Element>
std::vector<std::vector<Element>> reduce(std::vector<int64_t> group,
                                         std::vector<std::vector<Element>> data,
                                         DType type) {
  Communicator communicator({{"r", true, std::move(group)}});
  std::vector<std::thread> members;
  for (size_t rank = 0; rank < data.size(); ++rank)
    members.emplace_back([&, rank] {
      EXPECT_FALSE(static_cast<bool>(communicator.allReduce(
          0, static_cast<int64_t>(rank),
          reinterpret_cast<std::byte *>(data[rank].data()),
          static_cast<int64_t>(data[rank].size() * sizeof(Element)), type)));
    });
  for (std::thread &member : members)
    member.join();
  return data;
}

TEST(CommunicatorTest, SumsInTheOrderOfTheGroup) {
  for (int repetition = 0; repetition < 20; ++repetition) {
    // 1e8 + 1 is 1e8 in fp32.
    EXPECT_THAT(reduce<float>({0, 1, 2}, {{1e8F}, {1}, {-1e8F}}, DType::F32),
                Each(std::vector<float>{0}));
    EXPECT_THAT(reduce<float>({0, 2, 1}, {{1e8F}, {1}, {-1e8F}}, DType::F32),
                Each(std::vector<float>{1}));
  }
}

TEST(CommunicatorTest, SumsEachType) {
  EXPECT_THAT(reduce<float>({0, 1}, {{-0.0F, 1}, {-0.0F, 2}}, DType::F32),
              Each(std::vector<float>{-0.0F, 3}));
  EXPECT_THAT(reduce<int32_t>({0, 1}, {{1, -5}, {2, 3}}, DType::I32),
              Each(std::vector<int32_t>{3, -2}));
  EXPECT_THAT(reduce<int64_t>({0, 1}, {{int64_t{1} << 40}, {5}}, DType::I64),
              Each(std::vector<int64_t>{(int64_t{1} << 40) + 5}));
  // 1 + 2^-9 + 2^-9 is 1 + 2^-8 if rounded once, and 1 in steps of bf16.
  const uint16_t one = floatToBfloat16(1);
  const uint16_t small = floatToBfloat16(0.0078125F / 4);
  const uint16_t half = floatToHalf(0.5);
  const uint16_t sum = floatToBfloat16(1 + 4 * (0.0078125F / 4));
  EXPECT_THAT(reduce<uint16_t>({0, 1, 2, 3, 4},
                               {{one}, {small}, {small}, {small}, {small}},
                               DType::BF16),
              Each(std::vector<uint16_t>{sum}));
  EXPECT_THAT(reduce<uint16_t>({0, 1}, {{half}, {half}}, DType::F16),
              Each(std::vector<uint16_t>{floatToHalf(1)}));
}

TEST(CommunicatorTest, RepeatsReductions) {
  Communicator communicator({{"r", true, {0, 1, 2}}});
  std::vector<std::thread> members;
  for (int rank = 0; rank < 3; ++rank)
    members.emplace_back([&, rank] {
      for (int i = 0; i < 500; ++i) {
        auto value = static_cast<float>(rank + i);
        EXPECT_FALSE(static_cast<bool>(communicator.allReduce(
            0, rank, reinterpret_cast<std::byte *>(&value), sizeof(value),
            DType::F32)));
        EXPECT_EQ(value, static_cast<float>(3 + 3 * i));
      }
    });
  for (std::thread &member : members)
    member.join();
}

TEST(CommunicatorTest, ReleasesEveryoneOnAbort) {
  Communicator communicator(
      {{"x", false, {0, 1}}, {"y", false, {0, 1}}, {"r", true, {0, 1}}});
  std::byte data[4] = {};
  std::atomic<int> failures{0};
  auto expectFailure = [&](llvm::Error error) {
    failures += static_cast<bool>(error);
    EXPECT_THAT(llvm::toString(std::move(error)),
                ::testing::HasSubstr("is closed because a rank failed"));
  };
  std::thread sender([&] { expectFailure(communicator.send(0, data, 4)); });
  std::thread receiver(
      [&] { expectFailure(communicator.receive(1, data, 4)); });
  std::thread reducer([&] {
    expectFailure(communicator.allReduce(2, 0, data, 4, DType::F32));
  });
  communicator.abort();
  sender.join();
  receiver.join();
  reducer.join();
  expectFailure(communicator.receive(1, data, 4));
  EXPECT_EQ(failures, 4);
}

} // namespace
