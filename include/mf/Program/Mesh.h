//===- Mesh.h - The ranks of a training step ------------------*- C++ -*-===//
//
// Ranks are coordinates of a mesh of named axes, numbered with the last axis
// fastest; the first axis, `pp`, is the pipeline stage. Groups and peers are
// named by axes, so that one description serves all ranks.
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

struct Axis {
  std::string name;
  int64_t size = 1;
};

/// The ranks that differ in the coordinates on `axes` alone. With `pp` among
/// them, only those of `stages`, in their order; all stages if it is empty.
struct Group {
  std::vector<std::string> axes;
  std::vector<int64_t> stages;

  bool crossesStages() const;
  bool operator<(const Group &other) const {
    return std::tie(axes, stages) < std::tie(other.axes, other.stages);
  }
};

class Mesh {
public:
  /// Makes the mesh of one rank.
  Mesh() : Mesh({{stageAxis.str(), 1}}) {}
  /// The first axis is `pp`; sizes are at least 1.
  explicit Mesh(std::vector<Axis> axes);

  const std::vector<Axis> &getAxes() const { return axes; }
  int64_t getNumRanks() const { return numRanks; }
  int64_t getNumStages() const { return axes.front().size; }
  int64_t getRanksPerStage() const { return numRanks / getNumStages(); }

  int64_t getStage(int64_t rank) const { return rank / getRanksPerStage(); }
  /// The rank of `stage` with the other coordinates of `rank`.
  int64_t getRankOfStage(int64_t rank, int64_t stage) const {
    return stage * getRanksPerStage() + rank % getRanksPerStage();
  }

  bool hasAxis(llvm::StringRef name) const { return find(name).has_value(); }
  /// The axes that a key of parallel_config stands for: `dp`, or its factors
  /// `dp_0` and `dp_1`.
  std::vector<std::string> getFactors(llvm::StringRef name) const;
  /// Returns 1 if the mesh has no axis of this name.
  int64_t getSize(llvm::StringRef name) const;
  /// Returns 0 if the mesh has no axis of this name.
  int64_t getCoordinate(int64_t rank, llvm::StringRef name) const;
  /// The rank `step` further along an axis, around it.
  int64_t getShifted(int64_t rank, llvm::StringRef name, int64_t step) const;

  /// Parts into which several axes cut something, and which of them is that of
  /// `rank`; the first axis is outermost.
  int64_t getNumParts(const std::vector<std::string> &names) const;
  int64_t getPart(int64_t rank, const std::vector<std::string> &names) const;

  int64_t getNumMembers(const Group &group) const;
  /// The members of the group of that kind that `rank` is in, in the order of
  /// the group's stages and then of ranks.
  std::vector<int64_t> getMembers(const Group &group, int64_t rank) const;

private:
  std::optional<size_t> find(llvm::StringRef name) const;

  std::vector<Axis> axes;
  /// Ranks between neighbours on each axis.
  std::vector<int64_t> strides;
  int64_t numRanks = 1;
};

} // namespace mf::program

#endif // MF_PROGRAM_MESH_H
