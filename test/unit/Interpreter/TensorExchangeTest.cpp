//===- TensorExchangeTest.cpp - Ranks that wait for each other ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "lib/Exec/Interpreter/TensorExchange.h"
#include "LoweredSteps.h"
#include "test/unit/Elements.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mf::interpreter;
using mf::CollectiveKind;
using mf::DType;
using mf::TensorShape;
using testing::HasSubstr;

namespace {

/// Ranks of a module that stands for all operations.
struct TensorExchangeTest : testing::Test {
  mf::tools::QuietContext quiet;
  OwningOpRef<ModuleOp> module =
      ModuleOp::create(UnknownLoc::get(&quiet.context));
  RankScheduler scheduler;
  TensorExchange exchange{scheduler};
  const TensorShape scalar{DType::F32, {}};

  LogicalResult communicate(CollectiveKind kind, size_t rank,
                            llvm::ArrayRef<int64_t> members,
                            const Tensor &input, const Tensor &output) {
    mf::ir::EmittedCollective collective;
    collective.kind = kind;
    collective.reduction = mf::Reduction::Sum;
    collective.channel = "all";
    return exchange.communicate(*module, static_cast<int64_t>(rank), members,
                                collective, {input, output, {}, {}});
  }

  /// One member of three, with two experts each, in an all_to_all_v of rows of
  /// two elements, in memory for 4 rows to 5.
  LogicalResult exchangeRows(size_t rank, llvm::ArrayRef<float> send,
                             llvm::ArrayRef<float> receive, DType type,
                             std::vector<float> &output) {
    mf::ir::EmittedCollective collective;
    collective.kind = CollectiveKind::AllToAllV;
    collective.channel = "ep";
    collective.fill = -1;
    auto make = [](llvm::ArrayRef<float> values, DType kind,
                   std::vector<int64_t> dims) {
      Tensor tensor(TensorShape{kind, {dims.begin(), dims.end()}});
      mf::writeElements(values, kind, tensor.getBytes());
      return tensor;
    };
    std::vector<float> rows;
    for (int i = 0; i < 8; ++i)
      rows.push_back(static_cast<float>(10 * rank + i));
    const Tensor result(TensorShape{type, {1, 5, 2}});
    if (failed(exchange.communicate(*module, static_cast<int64_t>(rank),
                                    {0, 1, 2}, collective,
                                    {make(rows, type, {1, 4, 2}), result,
                                     make(send, DType::F32, {3, 2}),
                                     make(receive, DType::F32, {3, 2})})))
      return failure();
    output = mf::readElements<uint8_t>(type, result.getBytes());
    return success();
  }
};

TEST_F(TensorExchangeTest, OnlyOneRankRunsAtATime) {
  std::vector<int> order;
  bool isOpen = false;
  EXPECT_TRUE(succeeded(scheduler.run(3, [&](size_t rank) {
    order.push_back(static_cast<int>(rank));
    if (rank == 0 &&
        failed(scheduler.waitUntil(*module, "a door", [&] { return isOpen; })))
      return failure();
    isOpen |= rank == 1;
    order.push_back(static_cast<int>(rank) + 10);
    return success();
  })));
  EXPECT_THAT(order, testing::ElementsAre(0, 1, 11, 2, 12, 10));
}

TEST_F(TensorExchangeTest, MessagesOfARouteArriveInOrder) {
  std::vector<float> got;
  EXPECT_TRUE(succeeded(scheduler.run(2, [&](size_t rank) {
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

TEST_F(TensorExchangeTest, AMessageDoesNotChangeWithWhatWasSent) {
  const Route route{0, 0, "loop"};
  Tensor value = makeScalar(1);
  exchange.send(*module, route, 0, value);
  value.getElements<float>()[0] = 2;
  FailureOr<Tensor> got = exchange.receive(*module, route, 0, scalar);
  ASSERT_TRUE(succeeded(got));
  EXPECT_EQ(got->getElements<float>()[0], 1);
}

TEST_F(TensorExchangeTest, WaitingInACircleIsReportedForEachRank) {
  EXPECT_TRUE(failed(scheduler.run(3, [&](size_t rank) {
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

TEST_F(TensorExchangeTest, ARankThatFailsEndsThoseThatWaitForIt) {
  EXPECT_TRUE(failed(scheduler.run(2, [&](size_t rank) -> LogicalResult {
    if (rank == 1)
      return failure();
    return exchange.receive(*module, {1, 0, "forward"}, 0, scalar);
  })));
  EXPECT_EQ(quiet.messages, "");
}

TEST_F(TensorExchangeTest, AMessageThatNobodyReceivesIsReported) {
  exchange.send(*module, {0, 1, "forward"}, 0, makeScalar(1));
  EXPECT_TRUE(failed(exchange.checkAllReceived()));
  EXPECT_THAT(quiet.messages, HasSubstr("sends a message to 1 on channel "
                                        "'forward' that nobody receives"));
}

TEST_F(TensorExchangeTest, SumsAreInTheOrderOfTheGroup) {
  // In fp32 (1e8 + 1) - 1e8 = 0, but (1e8 - 1e8) + 1 = 1.
  const float values[] = {1e8F, 1, -1e8F};
  const std::pair<std::vector<int64_t>, float> groups[] = {{{0, 1, 2}, 0.0F},
                                                           {{0, 2, 1}, 1.0F}};
  for (const auto &group : groups) {
    std::vector<float> sums;
    EXPECT_TRUE(succeeded(scheduler.run(3, [&](size_t rank) {
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

TEST_F(TensorExchangeTest, RowsGoWhereCountsSay) {
  const std::vector<float> send[] = {
      {1, 0, 0, 2, 1, 0}, {0, 1, 1, 1, 0, 0}, {0, 0, 0, 0, 3, 1}};
  const std::vector<float> receive[] = {
      {1, 0, 0, 1, 0, 0}, {0, 2, 1, 1, 0, 0}, {1, 0, 0, 0, 3, 1}};
  const std::vector<float> expected[] = {
      {0, 1, 10, 11, -1, -1, -1, -1, -1, -1},
      {2, 3, 4, 5, 12, 13, 14, 15, -1, -1},
      {6, 7, 20, 21, 22, 23, 24, 25, 26, 27}};
  for (DType type : {DType::F32, DType::BF16, DType::F16})
    EXPECT_TRUE(succeeded(scheduler.run(3, [&](size_t rank) {
      for (int repetition = 0; repetition < 2; ++repetition) {
        std::vector<float> output;
        if (failed(exchangeRows(rank, send[rank], receive[rank], type, output)))
          return failure();
        EXPECT_EQ(output, expected[rank]);
      }
      return success();
    })));
  EXPECT_EQ(quiet.messages, "");
}

TEST_F(TensorExchangeTest, RowsThatCannotBeExchangedAreErrorsOfTheirRank) {
  EXPECT_TRUE(failed(scheduler.run(3, [&](size_t rank) {
    const float count = rank == 2 ? -2.0F : 0.0F;
    std::vector<float> output;
    return exchangeRows(rank, {0, 0, 0, 0, count, 0}, std::vector<float>(6, 0),
                        DType::F32, output);
  })));
  EXPECT_THAT(quiet.messages,
              HasSubstr("rank 2: all_to_all_v on channel 'ep': expected a "
                        "number of rows, but got -2 to send for expert 4"));
}

TEST_F(TensorExchangeTest, MembersMustAgreeOnTheGroup) {
  EXPECT_TRUE(failed(scheduler.run(2, [&](size_t rank) -> LogicalResult {
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
