//===- Mesh.h - The ranks of a training step ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Ranks are coordinates of a mesh of named axes. They are numbered such that
// the last axis varies fastest. The first axis, `pp`, is the pipeline stage.
// Groups and peers are named by axes, so that one description serves all ranks.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PROGRAM_MESH_H
#define MF_PROGRAM_MESH_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace mf::program {

/// The axis of the pipeline stages.
inline constexpr llvm::StringLiteral stageAxis = "pp";

/// One axis of a mesh.
struct Axis {
  std::string name;
  int64_t size = 1;
};

/// A group of ranks that differ only in the coordinates on `axes`. If `axes`
/// has `pp`, the group is restricted to `stages`, in their order, or has all
/// stages if `stages` is empty.
struct Group {
  std::vector<std::string> axes;
  std::vector<int64_t> stages;

  /// Returns whether the group may have ranks of several stages.
  bool crossesStages() const;
  bool operator<(const Group &other) const {
    return std::tie(axes, stages) < std::tie(other.axes, other.stages);
  }
};

/// The mesh of all ranks of a step.
class Mesh {
public:
  /// Makes the mesh of one rank.
  Mesh() : Mesh({{stageAxis.str(), 1}}) {}
  /// Makes a mesh. The first axis must be `pp`, and sizes must be at least 1.
  explicit Mesh(std::vector<Axis> axes);

  const std::vector<Axis> &getAxes() const { return axes; }
  int64_t getNumRanks() const { return numRanks; }
  int64_t getNumStages() const { return axes.front().size; }
  int64_t getRanksPerStage() const { return numRanks / getNumStages(); }

  int64_t getStage(int64_t rank) const { return rank / getRanksPerStage(); }
  /// Returns the rank of `stage` that has the other coordinates of `rank`.
  int64_t getRankOfStage(int64_t rank, int64_t stage) const {
    return stage * getRanksPerStage() + rank % getRanksPerStage();
  }

  bool hasAxis(llvm::StringRef name) const { return find(name).has_value(); }
  /// Returns the axes that represent a key of parallel_config: `dp` itself, or
  /// its factors `dp_0` and `dp_1`.
  std::vector<std::string> getFactors(llvm::StringRef name) const;
  /// Returns the number of ranks along an axis, or 1 if the mesh has no axis of
  /// this name.
  int64_t getSize(llvm::StringRef name) const;
  /// Returns the coordinate of `rank` on an axis, from 0, or 0 if the mesh has
  /// no axis of this name.
  int64_t getCoordinate(int64_t rank, llvm::StringRef name) const;
  /// Returns the rank that is `shift` further along an axis, with wrap-around.
  int64_t getShifted(int64_t rank, llvm::StringRef name, int64_t shift) const;

  /// Return the number of parts into which several axes cut a dimension, and
  /// the index of the part of `rank`. The first axis is outermost.
  int64_t getNumParts(const std::vector<std::string> &names) const;
  int64_t getPart(int64_t rank, const std::vector<std::string> &names) const;

  int64_t getNumMembers(const Group &group) const;
  /// Returns the members of the group that `rank` belongs to, in the order of
  /// the group's stages and then of ranks.
  std::vector<int64_t> getMembers(const Group &group, int64_t rank) const;

private:
  std::optional<size_t> find(llvm::StringRef name) const;

  std::vector<Axis> axes;
  /// The distance in ranks between neighbours on each axis.
  std::vector<int64_t> strides;
  int64_t numRanks = 1;
};

} // namespace mf::program

#endif // MF_PROGRAM_MESH_H
