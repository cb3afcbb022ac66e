//===- StoragePlanTest.cpp - Parameters that ranks share out --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/optimizer/StoragePlan.h"
#include "llvm/ADT/StringExtras.h"
#include <gtest/gtest.h>

using namespace mf::passes;
using mf::ir::Axes;
using mf::ir::MeshSizes;

namespace {

MeshSizes makeMesh(int64_t dp, int64_t cp, int64_t mp) {
  MeshSizes mesh;
  mesh.axes = {{"pp", 2}, {"dp", dp}, {"cp", cp}, {"mp", mp}};
  return mesh;
}

UsedParameter makeParameter(const llvm::SmallVector<int64_t> &shape,
                            const Axes &rows, const Axes &reduced) {
  UsedParameter parameter;
  parameter.name = "w";
  parameter.layout = mf::ir::Layout(shape.size());
  parameter.layout.cuts.front() = rows;
  parameter.layout.reduced = reduced;
  parameter.shape = shape;
  return parameter;
}

StorageDecision decide(const MeshSizes &mesh, const UsedParameter &parameter,
                       int64_t threshold = 64, int64_t shardSize = -1) {
  return planStorage(mesh, threshold, shardSize, parameter).front();
}

std::string getAxes(const StorageDecision &decision) {
  return llvm::join(decision.axes, " ");
}

TEST(StoragePlanTest, AsksForTheThresholdOfTheWhole) {
  const MeshSizes mesh = makeMesh(2, 1, 1);
  // 64 KB are enough.
  EXPECT_EQ(getAxes(decide(mesh, makeParameter({64, 256}, {}, {"dp"}))), "dp");
  EXPECT_EQ(decide(mesh, makeParameter({64, 255}, {}, {"dp"})).reason,
            "has 65280 bytes, less than the threshold of 64 KB");
}

TEST(StoragePlanTest, TakesNeighboursForAShardSize) {
  const UsedParameter parameter =
      makeParameter({128, 256}, {}, {"dp", "cp", "mp"});
  const MeshSizes mesh = makeMesh(2, 2, 4);
  EXPECT_EQ(getAxes(decide(mesh, parameter, 64, 8)), "cp mp");
  const StorageDecision half = decide(mesh, parameter, 64, 2);
  EXPECT_TRUE(half.isWarning);
  EXPECT_EQ(half.reason, "optimizer_weight_shard_size 2 is not the product of "
                         "the inner axes of its 16 ranks: [dp, cp, mp]");
}

TEST(StoragePlanTest, SharesOutSumsBeforeCopies) {
  EXPECT_EQ(
      getAxes(decide(makeMesh(2, 1, 2), makeParameter({128, 256}, {}, {"dp"}))),
      "dp mp");
  EXPECT_EQ(
      decide(makeMesh(2, 1, 2), makeParameter({128, 256}, {}, {"mp"})).reason,
      "its gradient is the same on ranks of an outer axis and summed over "
      "those of an inner one");
}

TEST(StoragePlanTest, StaysWholeWhereTheParameterAsksForNoRanks) {
  UsedParameter norm = makeParameter({16}, {}, {"dp", "cp", "mp"});
  norm.sharing = Axes();
  const StorageDecision whole = decide(makeMesh(4, 2, 2), norm);
  EXPECT_EQ(whole.reason, "no other rank shares it");
  EXPECT_FALSE(whole.isWarning);
}

} // namespace
