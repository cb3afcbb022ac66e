//===- ExchangeTest.cpp - Ranks that wait for each other ------------------===//

#include "lib/Interpreter/Exchange.h"
#include "LoweredSteps.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mf::interpreter;
using mf::CollectiveKind;
using mf::DType;
using mf::Reduction;
using mf::TensorShape;
using testing::HasSubstr;

namespace {

/// Ranks of a module that stands for all operations.
struct ExchangeTest : testing::Test {
  mf::tools::QuietContext quiet;
  OwningOpRef<ModuleOp> module =
      ModuleOp::create(UnknownLoc::get(&quiet.context));
  Turns turns;
  Exchange exchange{turns};
  const TensorShape scalar{DType::F32, {}};

  LogicalResult communicate(CollectiveKind kind, size_t rank,
                            llvm::ArrayRef<int64_t> members,
                            const Tensor &input, const Tensor &output,
                            Reduction reduction = Reduction::Sum) {
    mf::ir::EmittedCollective collective;
    collective.kind = kind;
    collective.reduction = reduction;
    collective.channel = "all";
    return exchange.communicate(*module, static_cast<int64_t>(rank), members,
                                collective, input, output);
  }
};

TEST_F(ExchangeTest, OnlyOneRankRunsAtATime) {
  std::vector<int> order;
  bool isOpen = false;
  EXPECT_TRUE(succeeded(turns.run(3, [&](size_t rank) {
    order.push_back(static_cast<int>(rank));
    if (rank == 0 &&
        failed(turns.waitUntil(*module, "a door", [&] { return isOpen; })))
      return failure();
    isOpen |= rank == 1;
    order.push_back(static_cast<int>(rank) + 10);
    return success();
  })));
  EXPECT_THAT(order, testing::ElementsAre(0, 1, 11, 2, 12, 10));
}

TEST_F(ExchangeTest, MessagesOfARouteArriveInOrder) {
  std::vector<float> got;
  EXPECT_TRUE(succeeded(turns.run(2, [&](size_t rank) {
    const Route route{1, 0, "forward"};
    for (int64_t i = 0; i < 3; ++i) {
      if (rank == 1) {
        exchange.send(*module, route, i, makeScalar(static_cast<float>(i)));
        continue;
      }
      FailureOr<Tensor> value = exchange.receive(*module, route, i, scalar);
      if (failed(value))
        return failure();
      got.push_back(value->getElements<float>()[0]);
    }
    return success();
  })));
  EXPECT_THAT(got, testing::ElementsAre(0, 1, 2));
  EXPECT_TRUE(succeeded(exchange.checkAllReceived()));
}

TEST_F(ExchangeTest, AMessageDoesNotChangeWithWhatWasSent) {
  const Route route{0, 0, "loop"};
  Tensor value = makeScalar(1);
  exchange.send(*module, route, 0, value);
  value.getElements<float>()[0] = 2;
  FailureOr<Tensor> got = exchange.receive(*module, route, 0, scalar);
  ASSERT_TRUE(succeeded(got));
  EXPECT_EQ(got->getElements<float>()[0], 1);
}

TEST_F(ExchangeTest, WaitingInACircleIsReportedForEachRank) {
  EXPECT_TRUE(failed(turns.run(3, [&](size_t rank) {
    if (rank == 2)
      return success();
    auto self = static_cast<int64_t>(rank);
    return failure(failed(exchange.receive(*module, {1 - self, self, "forward"},
                                           self + 5, scalar)));
  })));
  EXPECT_THAT(quiet.messages,
              HasSubstr("no rank can go on: rank 0 waits for a message from 1 "
                        "on channel 'forward', micro-batch 5"));
  EXPECT_THAT(quiet.messages,
              HasSubstr("note: rank 1 waits for a message from 0 on channel "
                        "'forward', micro-batch 6"));
}

TEST_F(ExchangeTest, ARankThatFailsEndsThoseThatWaitForIt) {
  EXPECT_TRUE(failed(turns.run(2, [&](size_t rank) -> LogicalResult {
    if (rank == 1)
      return failure();
    return exchange.receive(*module, {1, 0, "forward"}, 0, scalar);
  })));
  EXPECT_EQ(quiet.messages, "");
}

TEST_F(ExchangeTest, AMessageThatNobodyReceivesIsReported) {
  exchange.send(*module, {0, 1, "forward"}, 0, makeScalar(1));
  EXPECT_TRUE(failed(exchange.checkAllReceived()));
  EXPECT_THAT(quiet.messages, HasSubstr("sends a message to 1 on channel "
                                        "'forward' that nobody receives"));
}

TEST_F(ExchangeTest, SumsAreInTheOrderOfTheGroup) {
  // In fp32 (1e8 + 1) - 1e8 = 0, but (1e8 - 1e8) + 1 = 1.
  const float values[] = {1e8F, 1, -1e8F};
  const std::pair<std::vector<int64_t>, float> groups[] = {{{0, 1, 2}, 0.0F},
                                                           {{0, 2, 1}, 1.0F}};
  for (const auto &group : groups) {
    std::vector<float> sums;
    EXPECT_TRUE(succeeded(turns.run(3, [&](size_t rank) {
      for (int i = 0; i < 2; ++i) {
        Tensor value = makeScalar(values[rank]);
        if (failed(communicate(CollectiveKind::AllReduce, rank, group.first,
                               value, value)))
          return failure();
        sums.push_back(value.getElements<float>()[0]);
      }
      return success();
    })));
    EXPECT_EQ(sums, std::vector<float>(6, group.second));
  }
}

TEST_F(ExchangeTest, SumsOfBfloat16AreInFp32) {
  // 256 + 1 is 256 in bf16, so that only a sum in fp32 gets to 258.
  const uint16_t ofRank[] = {0x4380, 0x3f80, 0x3f80};
  std::vector<uint16_t> sums;
  EXPECT_TRUE(succeeded(turns.run(3, [&](size_t rank) {
    Tensor value(TensorShape{DType::BF16, {1}});
    value.getElements<uint16_t>()[0] = ofRank[rank];
    if (failed(communicate(CollectiveKind::AllReduce, rank, {0, 1, 2}, value,
                           value)))
      return failure();
    sums.push_back(value.getElements<uint16_t>()[0]);
    return success();
  })));
  EXPECT_THAT(sums, testing::Each(0x4381));
}

TEST_F(ExchangeTest, EachKindGivesEachMemberItsPart) {
  using Kind = CollectiveKind;
  // Rank r has {10 r + 1, 10 r + 2}.
  struct Case {
    Kind kind;
    Reduction reduction;
    int64_t size;
    std::vector<float> expected;
  };
  const Case cases[] = {
      {Kind::AllReduce, Reduction::Sum, 2, {12, 14, 12, 14}},
      {Kind::AllReduce, Reduction::Max, 2, {11, 12, 11, 12}},
      {Kind::AllGather, Reduction::Sum, 4, {1, 2, 11, 12, 1, 2, 11, 12}},
      {Kind::ReduceScatter, Reduction::Sum, 1, {12, 14}},
      {Kind::AllToAll, Reduction::Sum, 2, {1, 11, 2, 12}},
      {Kind::Broadcast, Reduction::Sum, 2, {1, 2, 1, 2}}};
  for (const Case &one : cases) {
    std::vector<std::vector<float>> results(2);
    EXPECT_TRUE(succeeded(turns.run(2, [&](size_t rank) {
      Tensor input(TensorShape{DType::F32, {2}});
      Tensor output(TensorShape{DType::F32, {one.size}});
      input.getElements<float>()[0] = 10.0F * static_cast<float>(rank) + 1;
      input.getElements<float>()[1] = 10.0F * static_cast<float>(rank) + 2;
      if (failed(communicate(one.kind, rank, {0, 1}, input, output,
                             one.reduction)))
        return failure();
      results[rank].assign(output.getElements<float>().begin(),
                           output.getElements<float>().end());
      return success();
    })));
    std::vector<float> all = results[0];
    all.insert(all.end(), results[1].begin(), results[1].end());
    EXPECT_EQ(all, one.expected) << getName(one.kind).str();
  }
}

TEST_F(ExchangeTest, MembersMustAgreeOnTheGroup) {
  EXPECT_TRUE(failed(turns.run(2, [&](size_t rank) -> LogicalResult {
    std::vector<int64_t> members = {0, 1};
    if (rank == 1)
      members = {1, 0};
    return communicate(CollectiveKind::AllReduce, rank, members, makeScalar(1),
                       makeScalar(0));
  })));
  EXPECT_THAT(quiet.messages,
              HasSubstr("takes part in 'all' with another kind, group or "
                        "shape than rank 0"));
}

} // namespace
