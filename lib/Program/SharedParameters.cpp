//===- SharedParameters.cpp - Parameters of several stages ----------------===//

#include "SharedParameters.h"
#include "llvm/ADT/STLExtras.h"

namespace mf::program {

static const std::string &getOwner(const Static &parameter) {
  return parameter.tied.empty() ? parameter.name : parameter.tied;
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
      if (buffer.role == Role::Parameter)
        if (auto group = numbers.find(getOwner(buffer)); group != numbers.end())
          ofStage.try_emplace(buffer.of, group->second);
  for (auto [stage, ofStage] : llvm::zip_equal(program.stages, ofStages))
    addCopies(stage, ofStage);
}

/// Finds the groups of copies that are on the same stage as another copy. They
/// have gradients but no storage of their own, and the program does not name
/// the other copy, so a copy is known only if there is one of its size.
void SharedParameters::addCopies(const StageProgram &stage,
                                 llvm::StringMap<uint32_t> &ofStage) {
  std::set<std::string> stored;
  std::map<int64_t, std::set<uint32_t>> bySize;
  for (const Static &buffer : stage.statics)
    if (buffer.role == Role::Parameter) {
      stored.insert(buffer.of);
      if (auto group = ofStage.find(buffer.of); group != ofStage.end())
        bySize[buffer.bytes].insert(group->second);
    }
  for (const Static &buffer : stage.statics)
    if (buffer.role == Role::Gradient && !stored.count(buffer.of))
      if (const std::set<uint32_t> &sameSize = bySize[buffer.bytes];
          sameSize.size() == 1)
        ofStage.try_emplace(buffer.of, *sameSize.begin());
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
