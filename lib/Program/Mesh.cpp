//===- Mesh.cpp - The ranks of a training step ----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Mesh.h"
#include "llvm/ADT/STLExtras.h"

namespace mf::program {

bool Group::crossesStages() const {
  return llvm::is_contained(axes, stageAxis);
}

Mesh::Mesh(std::vector<Axis> given)
    : axes(std::move(given)), strides(axes.size()) {
  for (size_t i = axes.size(); i-- > 0;) {
    strides[i] = numRanks;
    numRanks *= axes[i].size;
  }
}

std::optional<size_t> Mesh::find(llvm::StringRef name) const {
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i].name == name)
      return i;
  return std::nullopt;
}

std::vector<std::string> Mesh::getFactors(llvm::StringRef name) const {
  std::vector<std::string> factors;
  for (const Axis &axis : axes) {
    llvm::StringRef rest = axis.name;
    if (rest.consume_front(name) && (rest.empty() || rest.starts_with("_")))
      factors.push_back(axis.name);
  }
  return factors;
}

int64_t Mesh::getSize(llvm::StringRef name) const {
  std::optional<size_t> axis = find(name);
  return axis ? axes[*axis].size : 1;
}

int64_t Mesh::getCoordinate(int64_t rank, llvm::StringRef name) const {
  std::optional<size_t> axis = find(name);
  return axis ? rank / strides[*axis] % axes[*axis].size : 0;
}

int64_t Mesh::getShifted(int64_t rank, llvm::StringRef name,
                         int64_t shift) const {
  std::optional<size_t> axis = find(name);
  if (!axis)
    return rank;
  const int64_t size = axes[*axis].size;
  const int64_t from = getCoordinate(rank, name);
  const int64_t to = ((from + shift) % size + size) % size;
  return rank + (to - from) * strides[*axis];
}

int64_t Mesh::getNumParts(const std::vector<std::string> &names) const {
  int64_t parts = 1;
  for (const std::string &name : names)
    parts *= getSize(name);
  return parts;
}

int64_t Mesh::getPart(int64_t rank,
                      const std::vector<std::string> &names) const {
  int64_t part = 0;
  for (const std::string &name : names)
    part = part * getSize(name) + getCoordinate(rank, name);
  return part;
}

int64_t Mesh::getNumMembers(const Group &group) const {
  int64_t members = 1;
  for (const std::string &axis : group.axes)
    members *= axis == stageAxis && !group.stages.empty()
                   ? static_cast<int64_t>(group.stages.size())
                   : getSize(axis);
  return members;
}

std::vector<int64_t> Mesh::getMembers(const Group &group, int64_t rank) const {
  std::vector<int64_t> members = {rank};
  // With the axes in the mesh's order, in which later ones vary faster, ranks
  // are ascending.
  for (const Axis &axis : axes) {
    if (!llvm::is_contained(group.axes, axis.name))
      continue;
    std::vector<int64_t> coordinates;
    if (axis.name == stageAxis && !group.stages.empty())
      coordinates = group.stages;
    else
      for (int64_t i = 0; i < axis.size; ++i)
        coordinates.push_back(i);
    std::vector<int64_t> wider;
    for (int64_t member : members)
      for (int64_t coordinate : coordinates)
        wider.push_back(getShifted(
            member, axis.name, coordinate - getCoordinate(member, axis.name)));
    members = std::move(wider);
  }
  return members;
}

} // namespace mf::program
