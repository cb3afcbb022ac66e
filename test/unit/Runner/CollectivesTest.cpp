//===- CollectivesTest.cpp - Results of collectives between threads -------===//
// SPDX-License-Identifier: Apache-2.0

#include "CommunicatorTesting.h"
#include "mf/Exec/Data/ElementConversion.h"
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

using namespace mf;
using namespace mf::program;
using namespace mf::runner;
using ::testing::Each;

namespace {

/// Calls `body` with a value of the type that elements are stored in.
template <typename Body> auto withStored(DType type, Body &&body) {
  switch (type) {
  case DType::F32:
    return body(float());
  case DType::I32:
    return body(int32_t());
  case DType::I64:
    return body(int64_t());
  case DType::BF16:
  case DType::F16:
  case DType::I1:
    break;
  }
  return body(uint16_t());
}

/// Element `i` as what reductions compute with.
double load(DType type, const Bytes &bytes, int64_t i) {
  return withStored(type, [&](auto stored) {
    std::memcpy(&stored, &bytes[i * sizeof(stored)], sizeof(stored));
    if (type == DType::BF16 || type == DType::F16)
      return double(type == DType::F16 ? halfToFloat(stored)
                                       : bfloat16ToFloat(stored));
    return static_cast<double>(stored);
  });
}

void store(DType type, double value, Bytes &bytes, int64_t i) {
  withStored(type, [&](auto stored) {
    const auto number = static_cast<float>(value);
    if (type == DType::BF16 || type == DType::F16)
      stored =
          type == DType::F16 ? floatToHalf(number) : floatToBfloat16(number);
    else
      stored = static_cast<decltype(stored)>(value);
    std::memcpy(&bytes[i * sizeof(stored)], &stored, sizeof(stored));
  });
}

/// All inputs combined, an element at a time.
Bytes reduce(DType type, Reduction reduction, const std::vector<Bytes> &parts) {
  Bytes result(parts.front().size());
  for (int64_t i = 0; i * getBytes(type) < static_cast<int64_t>(result.size());
       ++i) {
    double value = load(type, parts.front(), i);
    for (size_t part = 1; part < parts.size(); ++part) {
      const double next = load(type, parts[part], i);
      if (reduction == Reduction::Max)
        value = std::max(value, next);
      else if (isFloatType(type))
        value = static_cast<float>(value) + static_cast<float>(next);
      else
        value += next;
    }
    store(type, value, result, i);
  }
  return result;
}

Bytes slice(const Bytes &bytes, size_t part, size_t parts) {
  const size_t size = bytes.size() / parts;
  return {bytes.begin() + static_cast<int64_t>(part * size),
          bytes.begin() + static_cast<int64_t>((part + 1) * size)};
}

void append(Bytes &to, const Bytes &from) {
  to.insert(to.end(), from.begin(), from.end());
}

/// The bytes that member `place` gets by the dialect's definition.
Bytes getExpected(const Exchange &exchange, const std::vector<Bytes> &inputs,
                  size_t place) {
  Bytes result;
  switch (exchange.kind) {
  case CollectiveKind::AllReduce:
    return reduce(exchange.type, exchange.reduction, inputs);
  case CollectiveKind::ReduceScatter:
    return slice(reduce(exchange.type, exchange.reduction, inputs), place,
                 inputs.size());
  case CollectiveKind::AllGather:
    for (const Bytes &input : inputs)
      append(result, input);
    return result;
  case CollectiveKind::AllToAll:
    for (const Bytes &input : inputs)
      append(result, slice(input, place, inputs.size()));
    return result;
  case CollectiveKind::Broadcast:
    return inputs.front();
  case CollectiveKind::AllToAllV:
    // RowExchangeTest.cpp
    break;
  }
  return result;
}

struct CommunicatorCase {
  CollectiveKind kind;
  Reduction reduction;
  DType type;
};

std::vector<CommunicatorCase> getCases() {
  std::vector<CommunicatorCase> cases;
  for (CollectiveKind kind :
       {CollectiveKind::AllReduce, CollectiveKind::AllGather,
        CollectiveKind::ReduceScatter, CollectiveKind::AllToAll,
        CollectiveKind::Broadcast})
    for (Reduction reduction : {Reduction::Sum, Reduction::Max})
      for (DType type :
           {DType::F32, DType::BF16, DType::F16, DType::I32, DType::I64})
        cases.push_back({kind, reduction, type});
  return cases;
}

/// Runs one collective on members that come at random times.
void check(const CommunicatorCase &given, size_t members, bool inPlace,
           std::mt19937 &random) {
  const Exchange exchange =
      makeExchange(given.kind, given.type, given.reduction);
  // More than is combined at a time, in uneven shares.
  const auto elements = static_cast<int64_t>(members * 361);
  std::vector<Bytes> inputs(members, Bytes(elements * getBytes(given.type)));
  std::uniform_real_distribution<double> values(-1000, 1000);
  for (Bytes &input : inputs)
    for (int64_t i = 0; i < elements; ++i)
      store(given.type, values(random), input, i);
  std::vector<Bytes> data = inputs, outputs(members);
  std::vector<int> delays(members);
  for (size_t i = 0; i < members; ++i) {
    outputs[i].resize(getExpected(exchange, inputs, i).size());
    delays[i] = static_cast<int>(random() % 300);
  }
  auto communicator = makeLocalCommunicator(
      Mesh({{"pp", 1}, {"mp", static_cast<int64_t>(members)}}),
      {makeGroup({"mp"})});
  runThreads(static_cast<int64_t>(members), [&](int64_t rank) {
    std::this_thread::sleep_for(std::chrono::microseconds(delays[rank]));
    EXPECT_EQ(run(*communicator, rank, exchange, data[rank],
                  inPlace ? data[rank] : outputs[rank]),
              "");
  });
  for (size_t i = 0; i < members; ++i)
    EXPECT_EQ(inPlace ? data[i] : outputs[i], getExpected(exchange, inputs, i))
        << mf::getName(given.kind).str() << " of "
        << mf::getName(given.type).str() << " by " << members << ", member "
        << i;
}

TEST(CollectivesTest, ComputesEveryCollectiveAsDefined) {
  std::mt19937 random(7);
  for (const CommunicatorCase &given : getCases())
    for (size_t members : {1, 2, 3, 8}) {
      check(given, members, /*inPlace=*/false, random);
      if (given.kind == CollectiveKind::AllReduce ||
          given.kind == CollectiveKind::Broadcast)
        check(given, members, /*inPlace=*/true, random);
    }
}

/// One fp32 element of each rank, summed over `stages` in that order.
std::vector<float> sum(std::vector<int64_t> stages, std::vector<float> data) {
  auto communicator =
      makeLocalCommunicator(Mesh({{"pp", static_cast<int64_t>(data.size())}}),
                            {makeGroup({"pp"}, std::move(stages))});
  const Exchange exchange = makeExchange(CollectiveKind::AllReduce, DType::F32);
  runThreads(static_cast<int64_t>(data.size()), [&](int64_t rank) {
    auto *bytes = reinterpret_cast<std::byte *>(&data[rank]);
    EXPECT_EQ(llvm::toString(communicator->collective(0, rank, exchange,
                                                      {bytes, bytes, 4, 4})),
              "");
  });
  return data;
}

TEST(CollectivesTest, SumsInTheOrderOfTheGroup) {
  for (int repetition = 0; repetition < 20; ++repetition) {
    // 1e8 + 1 is 1e8 in fp32.
    EXPECT_THAT(sum({0, 1, 2}, {1e8F, 1, -1e8F}), Each(0.0F));
    EXPECT_THAT(sum({0, 2, 1}, {1e8F, 1, -1e8F}), Each(1.0F));
  }
}

TEST(CollectivesTest, KeepsSignsAndNaNsAndWraps) {
  auto reduceAll = [](DType type, Reduction reduction,
                      std::vector<Bytes> data) {
    auto communicator = makeLocalCommunicator(
        Mesh({{"pp", 1}, {"mp", static_cast<int64_t>(data.size())}}),
        {makeGroup({"mp"})});
    const Exchange exchange =
        makeExchange(CollectiveKind::AllReduce, type, reduction);
    runThreads(static_cast<int64_t>(data.size()), [&](int64_t rank) {
      EXPECT_EQ(run(*communicator, rank, exchange, data[rank], data[rank]), "");
    });
    return data;
  };
  const Bytes negativeZero = toBytes<float>({-0.0F});
  EXPECT_THAT(
      reduceAll(DType::F32, Reduction::Sum, {negativeZero, negativeZero}),
      Each(negativeZero));
  const Bytes nan = toBytes<float>({std::nanf("")});
  for (const auto &[first, second] :
       {std::pair(nan, negativeZero), std::pair(negativeZero, nan)})
    EXPECT_THAT(reduceAll(DType::F32, Reduction::Max, {first, second}),
                Each(nan));
  EXPECT_THAT(reduceAll(DType::I32, Reduction::Sum,
                        {toBytes<int32_t>({INT32_MAX}), toBytes<int32_t>({1})}),
              Each(toBytes<int32_t>({INT32_MIN})));
}

} // namespace
