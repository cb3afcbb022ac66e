//===- MeshTest.cpp - Ranks as coordinates of a mesh ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Mesh.h"
#include "mf/Program/Program.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace mf::program;
using ::testing::ElementsAre;

namespace {

/// Rank = stage * 12 + dp * 4 + cp * 2 + mp.
Mesh makeMesh() { return Mesh({{"pp", 2}, {"dp", 3}, {"cp", 2}, {"mp", 2}}); }

TEST(MeshTest, OneRankWithoutAxes) {
  const Mesh mesh;
  EXPECT_EQ(mesh.getNumRanks(), 1);
  EXPECT_EQ(mesh.getNumStages(), 1);
  EXPECT_EQ(mesh.getStage(0), 0);
  EXPECT_EQ(mesh.getSize("mp"), 1);
  EXPECT_FALSE(mesh.hasAxis("mp"));
  EXPECT_EQ(mesh.getCoordinate(0, "mp"), 0);
  EXPECT_EQ(mesh.getShifted(0, "mp", 1), 0);
  EXPECT_THAT(mesh.getMembers({{"pp"}, {}}, 0), ElementsAre(0));
}

TEST(MeshTest, NumbersRanksWithTheLastAxisFastest) {
  const Mesh mesh = makeMesh();
  EXPECT_EQ(mesh.getNumRanks(), 24);
  EXPECT_EQ(mesh.getRanksPerStage(), 12);
  for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank) {
    EXPECT_EQ(mesh.getStage(rank), mesh.getCoordinate(rank, "pp"));
    EXPECT_EQ(rank, mesh.getCoordinate(rank, "pp") * 12 +
                        mesh.getCoordinate(rank, "dp") * 4 +
                        mesh.getCoordinate(rank, "cp") * 2 +
                        mesh.getCoordinate(rank, "mp"));
  }
  EXPECT_EQ(mesh.getCoordinate(21, "pp"), 1);
  EXPECT_EQ(mesh.getCoordinate(21, "dp"), 2);
  EXPECT_EQ(mesh.getCoordinate(21, "cp"), 0);
  EXPECT_EQ(mesh.getCoordinate(21, "mp"), 1);
}

TEST(MeshTest, FindsTheSameRankOfAnotherStage) {
  const Mesh mesh = makeMesh();
  EXPECT_EQ(mesh.getRankOfStage(5, 1), 17);
  EXPECT_EQ(mesh.getRankOfStage(17, 0), 5);
  EXPECT_EQ(mesh.getRankOfStage(17, 1), 17);
}

TEST(MeshTest, ShiftsAroundAnAxis) {
  const Mesh mesh = makeMesh();
  // (0, 2, 1, 1) and around dp.
  EXPECT_EQ(mesh.getShifted(11, "dp", 1), 3);
  EXPECT_EQ(mesh.getShifted(11, "dp", -1), 7);
  EXPECT_EQ(mesh.getShifted(11, "dp", -4), 7);
  EXPECT_EQ(mesh.getShifted(11, "dp", 3), 11);
  EXPECT_EQ(mesh.getShifted(11, "mp", 1), 10);
  EXPECT_EQ(mesh.getShifted(11, "pp", 1), 23);
}

TEST(MeshTest, CutsByProductsOfAxes) {
  const Mesh mesh = makeMesh();
  EXPECT_EQ(mesh.getNumParts({}), 1);
  EXPECT_EQ(mesh.getPart(21, {}), 0);
  EXPECT_EQ(mesh.getNumParts({"dp", "mp"}), 6);
  // The first axis named is outermost, whatever the mesh's order.
  EXPECT_EQ(mesh.getPart(21, {"dp", "mp"}), 2 * 2 + 1);
  EXPECT_EQ(mesh.getPart(21, {"mp", "dp"}), 1 * 3 + 2);
  EXPECT_EQ(mesh.getNumParts({"ep"}), 1);
}

TEST(MeshTest, GroupsByOneAxis) {
  const Mesh mesh = makeMesh();
  EXPECT_THAT(mesh.getMembers({{"mp"}, {}}, 21), ElementsAre(20, 21));
  EXPECT_THAT(mesh.getMembers({{"dp"}, {}}, 21), ElementsAre(13, 17, 21));
  EXPECT_THAT(mesh.getMembers({{"pp"}, {}}, 21), ElementsAre(9, 21));
  EXPECT_THAT(mesh.getMembers({{}, {}}, 21), ElementsAre(21));
  EXPECT_EQ(mesh.getNumMembers({{}, {}}), 1);
  EXPECT_EQ(mesh.getNumMembers({{"dp"}, {}}), 3);
}

TEST(MeshTest, GroupsByProductsInTheOrderOfRanks) {
  const Mesh mesh = makeMesh();
  EXPECT_THAT(mesh.getMembers({{"dp", "mp"}, {}}, 3),
              ElementsAre(2, 3, 6, 7, 10, 11));
  // The order in which axes are named does not matter.
  EXPECT_EQ(mesh.getMembers({{"mp", "dp"}, {}}, 3),
            mesh.getMembers({{"dp", "mp"}, {}}, 3));
  EXPECT_EQ(mesh.getNumMembers({{"dp", "mp"}, {}}), 6);
  // Every member finds the same group in the same order.
  const Group group{{"pp", "cp"}, {}};
  const std::vector<int64_t> members = mesh.getMembers(group, 4);
  EXPECT_THAT(members, ElementsAre(4, 6, 16, 18));
  for (int64_t member : members)
    EXPECT_EQ(mesh.getMembers(group, member), members);
}

TEST(MeshTest, GroupsTheListedStagesInTheirOrder) {
  const Mesh mesh({{"pp", 4}, {"mp", 2}});
  const Group group{{"pp"}, {3, 1}};
  EXPECT_TRUE(group.crossesStages());
  EXPECT_EQ(mesh.getNumMembers(group), 2);
  EXPECT_THAT(mesh.getMembers(group, 2), ElementsAre(6, 2));
  EXPECT_THAT(mesh.getMembers(group, 7), ElementsAre(7, 3));
  const Group product{{"mp", "pp"}, {3, 1}};
  EXPECT_EQ(mesh.getNumMembers(product), 4);
  EXPECT_THAT(mesh.getMembers(product, 7), ElementsAre(6, 7, 2, 3));
  EXPECT_FALSE((Group{{"mp"}, {}}.crossesStages()));
}

TEST(MeshTest, ChannelsFindTheirRanks) {
  const Mesh mesh = makeMesh();
  Channel between;
  between.isTransfer = true;
  between.axis = "pp";
  between.fromStage = 0;
  between.toStage = 1;
  EXPECT_THAT(between.getMembers(mesh, 5, /*isSend=*/true), ElementsAre(5, 17));
  EXPECT_THAT(between.getMembers(mesh, 17, /*isSend=*/false),
              ElementsAre(5, 17));
  Channel ring;
  ring.isTransfer = true;
  ring.axis = "dp";
  ring.shift = 1;
  EXPECT_THAT(ring.getMembers(mesh, 9, /*isSend=*/true), ElementsAre(9, 1));
  EXPECT_THAT(ring.getMembers(mesh, 9, /*isSend=*/false), ElementsAre(5, 9));
  Channel collective;
  collective.group = {{"mp"}, {}};
  EXPECT_THAT(collective.getMembers(mesh, 9), ElementsAre(8, 9));
}

} // namespace
