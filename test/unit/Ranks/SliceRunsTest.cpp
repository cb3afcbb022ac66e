//===- SliceRunsTest.cpp - Where a rank's slice lies in the whole ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Ranks/SliceRuns.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace mf;
using namespace mf::program;
using namespace mf::ranks;
using ::testing::ElementsAre;

namespace {

const Mesh mesh({{"pp", 2}, {"dp", 2}, {"mp", 3}});

/// A slice of a tensor of shape `whole`, cut evenly.
Static makeSlice(llvm::ArrayRef<int64_t> whole,
                 std::vector<std::vector<std::string>> axes) {
  Static buffer;
  Slice slice;
  for (size_t i = 0; i < whole.size(); ++i) {
    slice.dims.push_back(whole[i]);
    buffer.shape.dims.push_back(whole[i] / mesh.getNumParts(axes[i]));
  }
  slice.axes = std::move(axes);
  buffer.slice = slice;
  return buffer;
}

/// The elements of the whole that a rank holds, in its order.
std::vector<int64_t> getElements(const Static &buffer, int64_t rank) {
  std::vector<int64_t> elements;
  SliceRuns(mesh, buffer, rank)
      .forEach([&](int64_t whole, int64_t local, int64_t count) {
        EXPECT_EQ(local, static_cast<int64_t>(elements.size()));
        for (int64_t i = 0; i < count; ++i)
          elements.push_back(whole + i);
      });
  return elements;
}

TEST(SliceRunsTest, IsOneRunWithoutASlice) {
  Static buffer;
  buffer.shape.dims = {2, 3};
  const SliceRuns runs(mesh, buffer, 4);
  EXPECT_EQ(runs.getNumRuns(), 1);
  EXPECT_EQ(runs.getRunElements(), 6);
  EXPECT_EQ(runs.getFirstElement(), 0);
  EXPECT_EQ(getElements(Static(), 3), std::vector<int64_t>{0});
}

TEST(SliceRunsTest, CutsRowsIntoOneRun) {
  const Static rows = makeSlice({6, 4}, {{"mp"}, {}});
  EXPECT_EQ(getWholeShape(rows).getNumElements(), 24);
  // Ranks 7 and 10 are (pp, dp, mp) = (1, 0, 1) and (1, 1, 1).
  EXPECT_THAT(getElements(rows, 7), ElementsAre(8, 9, 10, 11, 12, 13, 14, 15));
  EXPECT_EQ(getElements(rows, 7), getElements(rows, 10));
  EXPECT_EQ(SliceRuns(mesh, rows, 7).getNumRuns(), 1);
}

TEST(SliceRunsTest, CutsColumnsIntoARunPerRow) {
  const Static columns = makeSlice({2, 6}, {{}, {"mp"}});
  EXPECT_THAT(getElements(columns, 2), ElementsAre(4, 5, 10, 11));
  EXPECT_EQ(SliceRuns(mesh, columns, 2).getNumRuns(), 2);
}

TEST(SliceRunsTest, CutsSeveralDimensionsAndOneBySeveralAxes) {
  const Static both = makeSlice({2, 3, 2}, {{"dp"}, {"mp"}, {}});
  // dp = 1, mp = 2.
  EXPECT_THAT(getElements(both, 5), ElementsAre(10, 11));
  const Static nested = makeSlice({12}, {{"dp", "mp"}});
  EXPECT_THAT(getElements(nested, 5), ElementsAre(10, 11));
  // The first axis is outermost.
  const Static other = makeSlice({12}, {{"mp", "dp"}});
  EXPECT_THAT(getElements(other, 3), ElementsAre(2, 3));
}

TEST(SliceRunsTest, CoversTheWholeOnce) {
  const Static both = makeSlice({4, 5, 6}, {{"dp"}, {}, {"mp"}});
  std::vector<int> seen(120);
  for (int64_t rank = 0; rank < 6; ++rank)
    for (int64_t element : getElements(both, rank))
      ++seen[element];
  EXPECT_THAT(seen, ::testing::Each(1));
}

TEST(SliceRunsTest, VisitsPartsOfRuns) {
  const SliceRuns runs(mesh, makeSlice({3, 9}, {{}, {"mp"}}), 1);
  std::vector<std::vector<int64_t>> visited;
  runs.forEach(2, 7, [&](int64_t whole, int64_t local, int64_t count) {
    visited.push_back({whole, local, count});
  });
  EXPECT_THAT(visited, ElementsAre(std::vector<int64_t>{5, 2, 1},
                                   std::vector<int64_t>{12, 3, 3},
                                   std::vector<int64_t>{21, 6, 1}));
}

} // namespace
