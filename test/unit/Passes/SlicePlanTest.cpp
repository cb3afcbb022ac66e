//===- SlicePlanTest.cpp - Parts of kept inputs on ranks ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/mark/SlicePlan.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mf::ir;
using namespace mf::passes;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

MeshSizes makeMesh() {
  MeshSizes mesh;
  mesh.axes = {{"pp", 2}, {"dp", 2}, {"cp", 1}, {"mp", 4}};
  return mesh;
}

Layout cutOver(const Axes &rows, const Axes &sequence) {
  Layout layout(3);
  layout.cuts = {rows, sequence, {}};
  return layout;
}

TEST(SlicePlanTest, RanksWithTheSamePartShareItOut) {
  SliceDecision decision = planSlice(makeMesh(), cutOver({"dp"}, {}), 8);
  EXPECT_THAT(decision.axes, ElementsAre("mp"));
  EXPECT_EQ(decision.reason, "each of 4 ranks of mp keeps its part");
}

TEST(SlicePlanTest, ReplicasOfSeveralAxesAreOneGroup) {
  SliceDecision decision = planSlice(makeMesh(), cutOver({}, {}), 8);
  EXPECT_THAT(decision.axes, ElementsAre("dp", "mp"));
}

TEST(SlicePlanTest, WhatIsCutOverAllRanksStaysAsItIs) {
  SliceDecision decision = planSlice(makeMesh(), cutOver({"dp"}, {"mp"}), 8);
  EXPECT_THAT(decision.axes, IsEmpty());
  EXPECT_FALSE(decision.isWarning);
}

TEST(SlicePlanTest, WhatDoesNotDivideIsAWarning) {
  SliceDecision decision = planSlice(makeMesh(), cutOver({"dp"}, {}), 1);
  EXPECT_THAT(decision.axes, IsEmpty());
  EXPECT_TRUE(decision.isWarning);
  EXPECT_EQ(decision.reason, "its first dimension, 1, does not divide over the "
                             "4 ranks of mp that have it");
}

} // namespace
