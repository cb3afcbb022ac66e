//===- MeshTest.cpp - Ranks as coordinates of a mesh ----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Mesh.h"
#include "mf/Program/Program.h"
#include "llvm/ADT/STLExtras.h"
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
    EXPECT_EQ(mesh.getRankOfStage(rank, 1), rank % 12 + 12);
    // The first axis named is outermost, whatever the mesh's order.
    EXPECT_EQ(mesh.getPart(rank, {"mp", "ep", "dp"}),
              mesh.getCoordinate(rank, "mp") * 3 +
                  mesh.getCoordinate(rank, "dp"));
  }
  EXPECT_EQ(mesh.getNumParts({"dp", "mp", "ep"}), 6);
  EXPECT_EQ(mesh.getNumParts({}), 1);
}

TEST(MeshTest, ShiftsAroundAnAxis) {
  const Mesh mesh = makeMesh();
  for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank)
    for (const Axis &axis : mesh.getAxes())
      for (int64_t shift = -4; shift <= 4; ++shift) {
        const int64_t shifted = mesh.getShifted(rank, axis.name, shift);
        for (const Axis &other : mesh.getAxes()) {
          const int64_t distance = other.name == axis.name ? shift + 12 : 0;
          EXPECT_EQ(mesh.getCoordinate(shifted, other.name),
                    (mesh.getCoordinate(rank, other.name) + distance) %
                        other.size)
              << rank << " " << axis.name << " " << shift;
        }
      }
}

/// The group of `rank` by its definition.
std::vector<int64_t> findMembers(const Mesh &mesh, const Group &group,
                                 int64_t rank) {
  std::vector<int64_t> stages = group.stages;
  if (!llvm::is_contained(group.axes, "pp"))
    stages = {mesh.getStage(rank)};
  else if (stages.empty())
    stages = {0, 1};
  std::vector<int64_t> members;
  for (int64_t stage : stages)
    for (int64_t other = 0; other < mesh.getNumRanks(); ++other)
      if (mesh.getStage(other) == stage &&
          llvm::all_of(mesh.getAxes(), [&](const Axis &axis) {
            return axis.name == "pp" ||
                   llvm::is_contained(group.axes, axis.name) ||
                   mesh.getCoordinate(other, axis.name) ==
                       mesh.getCoordinate(rank, axis.name);
          }))
        members.push_back(other);
  return members;
}

TEST(MeshTest, MembersOfAGroupDifferOnItsAxesAlone) {
  const Mesh mesh = makeMesh();
  for (unsigned bits = 0; bits < 16; ++bits)
    for (const std::vector<int64_t> &stages :
         {std::vector<int64_t>{}, {1, 0}, {1}}) {
      Group group{{}, stages};
      for (auto [index, axis] : llvm::enumerate(mesh.getAxes()))
        if (bits >> index & 1)
          group.axes.push_back(axis.name);
      EXPECT_EQ(group.crossesStages(), (bits & 1) != 0);
      for (int64_t rank = 12; rank < mesh.getNumRanks(); ++rank) {
        const std::vector<int64_t> members = findMembers(mesh, group, rank);
        EXPECT_EQ(mesh.getMembers(group, rank), members) << bits << " " << rank;
        EXPECT_EQ(mesh.getNumMembers(group),
                  static_cast<int64_t>(members.size()));
      }
      // The order in which axes are named does not matter.
      Group reversed = group;
      std::reverse(reversed.axes.begin(), reversed.axes.end());
      EXPECT_EQ(mesh.getMembers(reversed, 21), mesh.getMembers(group, 21));
    }
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
