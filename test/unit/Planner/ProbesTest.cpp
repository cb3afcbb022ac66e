//===- ProbesTest.cpp - Steps that are compiled to learn costs ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "lib/Plan/Settings/Probes.h"
#include "PlannerTesting.h"
#include <gtest/gtest.h>
#include <numeric>

using namespace mf;
using namespace mf::planner;

namespace {

/// The kinds and treatments that occur together in any of the probes, each of
/// which must deal out all layers.
std::set<std::pair<size_t, size_t>>
findPairs(const PlanContext &context, const std::vector<Assignment> &probes) {
  std::set<std::pair<size_t, size_t>> pairs;
  for (const Assignment &probe : probes) {
    EXPECT_EQ(std::accumulate(probe.layersOfChunk.begin(),
                              probe.layersOfChunk.end(), int64_t(0)),
              static_cast<int64_t>(context.layers.size()));
    EXPECT_EQ(probe.treatments.size(), context.layers.size());
    for (size_t layer = 0; layer < context.layers.size(); ++layer)
      pairs.insert({context.layers[layer].kind, probe.treatments[layer]});
  }
  return pairs;
}

} // namespace

TEST(ProbesTest, LayersOfMostStagesGetEveryTreatment) {
  const struct {
    std::vector<size_t> kinds;
    size_t mainKind;
    int64_t stages, chunksPerStage;
    std::vector<int64_t> layersOfChunk;
    size_t probes;
  } cases[] = {
      {{0, 0, 0, 0, 0, 0}, 0, 2, 1, {3, 3}, 4},
      {{0, 1, 1, 1}, 1, 4, 1, {1, 1, 1, 1}, 2},
      {{0, 0, 1, 1, 1, 1, 1, 1}, 1, 2, 2, {2, 2, 2, 2}, 4},
      // Both kinds within one chunk.
      {{0, 0, 1, 1}, 1, 1, 1, {4}, 4},
      {{0, 0, 0, 0, 0, 1}, 0, 2, 1, {3, 3}, 4},
  };
  for (const auto &each : cases) {
    PlanContext context =
        makeContext(each.kinds, each.stages, each.chunksPerStage);
    context.treatments = makeFourTreatments(context.getNumKinds());
    for (const bool keepsLayers : {false, true}) {
      const std::vector<Assignment> probes =
          makeProbes(context, each.layersOfChunk, keepsLayers);
      EXPECT_EQ(probes.size(), each.probes);
      const std::set<std::pair<size_t, size_t>> pairs =
          findPairs(context, probes);
      for (size_t index = 0; index < context.treatments.size(); ++index)
        EXPECT_EQ(pairs.count({each.mainKind, index}), 1u)
            << each.kinds.size() << " layers on " << each.stages << " stages";
    }
  }
}

TEST(ProbesTest, FewStagesTakeTurns) {
  for (const int64_t stages : {2, 3, 5, 7, 9}) {
    PlanContext context = makeContext(
        std::vector<size_t>(static_cast<size_t>(stages), 0), stages);
    context.treatments = makeFourTreatments(1);
    const LayerTreatment none = context.treatments.back();
    context.treatments.insert(context.treatments.end(), 4, none);
    const std::vector<int64_t> layers(static_cast<size_t>(stages), 1);
    EXPECT_EQ(findPairs(context, makeProbes(context, layers, true)).size(), 8U);
  }
}

TEST(ProbesTest, ChunksHaveDifferentNumbersOfLayers) {
  PlanContext context = makeContext(std::vector<size_t>(9, 0), 3);
  context.treatments = makeFourTreatments(1);
  std::set<int64_t> numbers;
  for (const Assignment &probe : makeProbes(context, {3, 3, 3}, false)) {
    EXPECT_GE(*std::min_element(probe.layersOfChunk.begin(),
                                probe.layersOfChunk.end()),
              1);
    numbers.insert(probe.layersOfChunk.begin(), probe.layersOfChunk.end());
  }
  EXPECT_EQ(numbers, (std::set<int64_t>{2, 3, 4}));
  for (const Assignment &probe : makeProbes(context, {4, 3, 2}, true))
    EXPECT_EQ(probe.layersOfChunk, (std::vector<int64_t>{4, 3, 2}));
}

TEST(ProbesTest, SwapIsNotHeldUpByItself) {
  PlanContext context = makeContext(std::vector<size_t>(8, 0), 2);
  context.treatments = makeFourTreatments(1);
  for (const Assignment &probe : makeProbes(context, {4, 4}, true))
    for (const int64_t chunk : {0, 1})
      EXPECT_LE(std::count(probe.treatments.begin() + 4 * chunk,
                           probe.treatments.begin() + 4 * chunk + 4, 0),
                1);
}
