//===- ExpertRoutingTest.cpp - Places of tokens in experts, and balance ---===//
// SPDX-License-Identifier: Apache-2.0

#include "KernelTesting.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cmath>

using namespace mf;
using namespace mf::testing;

namespace {

struct RouterCase {
  int64_t rows, tokens, choices, experts, capacity;
};

/// The integers of one row.
struct EmulatedRoute {
  Values dispatch, combine;
};

/// Repeats TopkRouterV2 of MindSpore Transformers step by step, with masks as
/// it has them: `expert` of each slot, which stands for a choice of a token.
EmulatedRoute emulate(const Ints &chosen, const RouterCase &c, bool kMajor) {
  const int64_t slots = c.tokens * c.choices;
  // 1. Slots in their order: all first choices before the second ones, or token
  // after token.
  Ints expert(slots);
  for (int64_t token = 0; token < c.tokens; ++token)
    for (int64_t choice = 0; choice < c.choices; ++choice)
      expert[kMajor ? choice * c.tokens + token : token * c.choices + choice] =
          chosen[token * c.choices + choice];
  // 2. A mask over experts. 3. Running sums make positions from 1.
  // 4. Beyond the capacity they are 0. 5. Summed over experts.
  std::vector<Ints> mask(slots, Ints(c.experts));
  Ints running(c.experts), position(slots);
  for (int64_t slot = 0; slot < slots; ++slot)
    for (int64_t e = 0; e < c.experts; ++e) {
      mask[slot][e] = expert[slot] == e ? 1 : 0;
      running[e] += mask[slot][e];
      const int64_t place = running[e] * mask[slot][e];
      position[slot] += place < c.capacity + 1 ? place : 0;
    }
  // 6. Combine indices, back in the order of tokens.
  EmulatedRoute route;
  route.combine.resize(slots);
  for (int64_t slot = 0; slot < slots; ++slot) {
    const int64_t token = kMajor ? slot % c.tokens : slot / c.choices;
    const int64_t choice = kMajor ? slot / c.tokens : slot % c.choices;
    route.combine[token * c.choices + choice] =
        static_cast<double>(expert[slot] * (c.capacity + 1) + position[slot]);
  }
  // 8. For each expert the numbers of its slots in ascending order, others are
  // beyond all of them; the first ones of these, as tokens from 1.
  for (int64_t e = 0; e < c.experts; ++e) {
    Ints range;
    for (int64_t slot = 0; slot < slots; ++slot)
      range.push_back(mask[slot][e] ? slot : slot + 2 * slots);
    std::sort(range.begin(), range.end());
    range.resize(c.capacity, 2 * slots);
    for (int64_t slot : range) {
      const int64_t token = kMajor ? slot % c.tokens : slot / c.choices;
      route.dispatch.push_back(slot < slots ? static_cast<double>(token + 1)
                                            : 0);
    }
  }
  return route;
}

void checkRouter(const KernelTensor &chosen, const RouterCase &c) {
  for (bool kMajor : {false, true}) {
    Tensors outputs =
        runKernel("mfTopKRouter", {chosen},
                  {KernelTensor(DType::I32, {c.rows, c.experts, c.capacity}),
                   KernelTensor(DType::I32, {c.rows, c.tokens, c.choices})},
                  {{"k_major", kMajor}});
    Values dispatch, combine;
    const int64_t slots = c.tokens * c.choices;
    for (int64_t row = 0; row < c.rows; ++row) {
      Ints ids;
      for (int64_t i = 0; i < slots; ++i)
        ids.push_back(static_cast<int64_t>(chosen.get(row * slots + i)));
      EmulatedRoute route = emulate(ids, c, kMajor);
      dispatch.insert(dispatch.end(), route.dispatch.begin(),
                      route.dispatch.end());
      combine.insert(combine.end(), route.combine.begin(), route.combine.end());
    }
    EXPECT_EQ(outputs[0].toVector(), dispatch);
    EXPECT_EQ(outputs[1].toVector(), combine);
  }
}

/// Different experts for each token.
KernelTensor randomChoices(const RouterCase &c, unsigned seed) {
  KernelTensor chosen(DType::I32, {c.rows, c.tokens, c.choices});
  std::mt19937 random(seed);
  Ints experts(c.experts);
  for (int64_t e = 0; e < c.experts; ++e)
    experts[e] = e;
  for (int64_t token = 0; token < c.rows * c.tokens; ++token) {
    std::shuffle(experts.begin(), experts.end(), random);
    for (int64_t choice = 0; choice < c.choices; ++choice)
      chosen.set(token * c.choices + choice,
                 static_cast<double>(experts[choice]));
  }
  return chosen;
}

TEST(TopKRouterTest, DoesWhatTheStepsDo) {
  const RouterCase cases[] = {
      {1, 1, 1, 1, 1},    {1, 1, 1, 4, 1},    {2, 8, 2, 4, 3},
      {2, 8, 2, 4, 4},    {3, 50, 4, 6, 1},   {1, 64, 8, 256, 2},
      {5, 33, 3, 7, 100}, {2, 200, 2, 8, 63},
  };
  for (const RouterCase &c : cases)
    for (unsigned seed : {1, 2})
      checkRouter(randomChoices(c, seed), c);
}

/// One expert may get all tokens, up to its capacity. One that does not exist
/// takes no slot, as a mask has no place for it.
TEST(TopKRouterTest, TakesAnyChoices) {
  for (int64_t capacity : {1, 19, 20, 39, 40, 41}) {
    KernelTensor chosen(DType::I32, {2, 20, 2});
    chosen.fill(2);
    checkRouter(chosen, {2, 20, 2, 3, capacity});
  }
  checkRouter(randomIndices({1, 30, 2}, 1, -2, 6), {1, 30, 2, 4, 9});
}

TEST(UpdateExpertBiasTest, MovesByTheSign) {
  const Values loads = {0.5, 0.125, 0.25, 0, 1, INFINITY, NAN};
  const KernelTensor load = makeRow(DType::F32, loads);
  const KernelTensor bias = makeRow(DType::F32, {-1, -0.5, 0, 0.5, 1, 1.5, 2});
  KernelTensor result = runOne("mfUpdateExpertBias", {load}, bias,
                               {{"rate", 0.001}, {"target", 0.25}});
  Values expected;
  for (int i = 0; i < 7; ++i) {
    const double difference = 0.25 - loads[i];
    const double sign = difference > 0 ? 1 : difference < 0 ? -1 : difference;
    expected.push_back(bias.get(i) + 0.001 * sign);
  }
  expectNear(result, expected);
  // The load that is meant changes no bit.
  EXPECT_EQ(result.get(2), bias.get(2));
}

TEST(UpdateExpertBiasTest, TakesManyExperts) {
  KernelTensor load = randomTensor(DType::F32, {70000}, 1, 0, 1);
  KernelTensor bias = randomTensor(DType::F32, {70000}, 2);
  Values expected;
  for (int64_t i = 0; i < load.size(); ++i)
    expected.push_back(bias.get(i) + (load.get(i) < 0.5 ? 0.125 : -0.125));
  expectNear(runOne("mfUpdateExpertBias", {load}, bias,
                    {{"rate", 0.125}, {"target", 0.5}}),
             expected);
}

} // namespace
