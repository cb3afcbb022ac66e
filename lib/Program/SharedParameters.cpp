//===- SharedParameters.cpp - Parameters of several stages ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "SharedParameters.h"
#include "llvm/ADT/STLExtras.h"

namespace mf::program {

static const std::string &getOwner(const Static &buffer) {
  return buffer.tied.empty() ? buffer.name : buffer.tied;
}

SharedParameters::SharedParameters(const Program &program)
    : numStages(program.mesh.getNumStages()), ofStages(program.stages.size()) {
  // Parameters of several stages may have the same name without being copies.
  std::map<std::string, std::set<int64_t>> stagesOf;
  for (const StageProgram &stage : program.stages)
    for (const Static &buffer : stage.statics)
      if (buffer.role == Role::Parameter && !buffer.tied.empty())
        stagesOf[buffer.tied].insert(stage.stage);
  for (const StageProgram &stage : program.stages)
    for (const Static &buffer : stage.statics)
      if (auto found = stagesOf.find(buffer.name);
          buffer.role == Role::Parameter && found != stagesOf.end())
        found->second.insert(stage.stage);
  std::map<std::string, uint32_t> numbers;
  for (const auto &[name, stages] : stagesOf)
    if (stages.size() > 1) {
      numbers.emplace(name, groups.size());
      groups.push_back({name, stages});
    }
  for (auto [stage, ofStage] : llvm::zip_equal(program.stages, ofStages))
    for (const Static &buffer : stage.statics)
      if (buffer.role == Role::Parameter || !buffer.tied.empty())
        if (auto group = numbers.find(getOwner(buffer)); group != numbers.end())
          ofStage.try_emplace(buffer.of, group->second);
}

bool belongsToParameter(Role role) {
  switch (role) {
  case Role::Parameter:
  case Role::Gradient:
  case Role::FirstMoment:
  case Role::SecondMoment:
  case Role::Average:
  case Role::Factor:
  case Role::Accumulated:
  case Role::Gathered:
  case Role::Rounded:
    return true;
  default:
    return false;
  }
}

std::optional<uint32_t> SharedParameters::find(const StageProgram &stage,
                                               const Static &buffer) const {
  if (!belongsToParameter(buffer.role))
    return std::nullopt;
  const llvm::StringMap<uint32_t> &ofStage = ofStages[stage.stage];
  auto found = ofStage.find(buffer.of);
  return found == ofStage.end() ? std::nullopt
                                : std::optional<uint32_t>(found->second);
}

bool SharedParameters::isOver(uint32_t group,
                              llvm::ArrayRef<int64_t> stages) const {
  const std::set<int64_t> &wanted = groups[group].stages;
  if (stages.empty())
    return static_cast<int64_t>(wanted.size()) == numStages;
  return wanted == std::set<int64_t>(stages.begin(), stages.end());
}

} // namespace mf::program
