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

TEST(StoragePlanTest, SharesOutOverRanksWithTheSamePart) {
  const MeshSizes mesh = makeMesh(2, 2, 4);
  EXPECT_EQ(
      getAxes(decide(mesh, makeParameter({128, 256}, {"mp"}, {"dp", "cp"}))),
      "dp cp");
  // Stages have other parameters.
  EXPECT_EQ(getAxes(decide(mesh, makeParameter({128, 256}, {}, {"dp", "cp"}))),
            "dp cp mp");
  EXPECT_EQ(
      decide(makeMesh(1, 1, 4), makeParameter({128, 256}, {"mp"}, {})).reason,
      "no other rank has the same part");
}

TEST(StoragePlanTest, SharesOutExpertsOverWhatIsLeft) {
  // DeepSeek-V3's: 8 neighbours share 256 experts out, 8 times.
  MeshSizes mesh;
  mesh.axes = {{"pp", 16}, {"dp_0", 8}, {"dp_1", 2}, {"mp", 4}};
  EXPECT_EQ(getAxes(decide(mesh, makeParameter({256, 7168, 4096},
                                               {"dp_1", "mp"}, {"dp_0"}))),
            "dp_0");
  // Its router is the same on all ranks.
  EXPECT_EQ(getAxes(decide(
                mesh, makeParameter({256, 7168}, {}, {"dp_0", "dp_1", "mp"}))),
            "dp_0 dp_1 mp");
  EXPECT_EQ(
      decide(mesh, makeParameter({32, 7168, 4096}, {"dp_1", "mp"}, {"dp_0"}))
          .reason,
      "its first dimension, 32, does not divide by 64");
}

TEST(StoragePlanTest, AsksForTheThresholdOfTheWhole) {
  const MeshSizes mesh = makeMesh(2, 1, 1);
  // 64 KB are enough.
  EXPECT_EQ(getAxes(decide(mesh, makeParameter({64, 256}, {}, {"dp"}))), "dp");
  EXPECT_EQ(decide(mesh, makeParameter({64, 255}, {}, {"dp"})).reason,
            "has 65280 bytes, less than the threshold of 64 KB");
}

TEST(StoragePlanTest, CutsTheFirstDimensionAlone) {
  const MeshSizes mesh = makeMesh(4, 1, 2);
  EXPECT_EQ(decide(mesh, makeParameter({4, 65536}, {"mp"}, {"dp"})).reason,
            "its first dimension, 4, does not divide by 8");
  EXPECT_EQ(getAxes(decide(mesh, makeParameter({8, 65536}, {"mp"}, {"dp"}))),
            "dp");
}

TEST(StoragePlanTest, TakesNeighboursForAShardSize) {
  const UsedParameter parameter =
      makeParameter({128, 256}, {}, {"dp", "cp", "mp"});
  const MeshSizes mesh = makeMesh(2, 2, 4);
  EXPECT_EQ(getAxes(decide(mesh, parameter, 64, 4)), "mp");
  EXPECT_EQ(getAxes(decide(mesh, parameter, 64, 8)), "cp mp");
  const StorageDecision odd = decide(mesh, parameter, 64, 3);
  EXPECT_TRUE(odd.isWarning);
  EXPECT_EQ(odd.reason, "16 ranks have the same part, which does not divide by "
                        "optimizer_weight_shard_size 3");
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

TEST(StoragePlanTest, LeavesWhatTheModelKeeps) {
  UsedParameter parameter = makeParameter({128, 256}, {}, {"dp"});
  parameter.isOptedIn = false;
  EXPECT_EQ(decide(makeMesh(2, 1, 1), parameter).reason,
            "the model keeps it on each rank");
}

/// A parameter's own wish asks neither for its size nor for the model's
/// consent.
TEST(StoragePlanTest, SharesOutAsTheParameterAsks) {
  const MeshSizes mesh = makeMesh(4, 2, 2);
  UsedParameter norm = makeParameter({16}, {}, {"dp", "cp", "mp"});
  norm.isOptedIn = false;
  norm.sharing = Axes({"dp", "cp"});
  EXPECT_EQ(getAxes(decide(mesh, norm)), "dp cp");
  norm.sharing = Axes({"cp"});
  EXPECT_EQ(getAxes(decide(mesh, norm)), "cp");
  norm.sharing = Axes();
  EXPECT_EQ(decide(mesh, norm).reason, "no other rank shares it");
  EXPECT_FALSE(decide(mesh, norm).isWarning);

  UsedParameter uneven = makeParameter({24, 8}, {"mp"}, {"dp", "cp"});
  uneven.sharing = Axes({"dp", "cp"});
  EXPECT_EQ(decide(mesh, uneven).reason,
            "its first dimension, 24, does not divide by 16");
  EXPECT_TRUE(decide(mesh, uneven).isWarning);
  EXPECT_FALSE(decide(mesh, uneven).isError);
  uneven.mustDivide = true;
  EXPECT_TRUE(decide(mesh, uneven).isError);
  EXPECT_FALSE(decide(mesh, uneven).isWarning);
}

} // namespace
