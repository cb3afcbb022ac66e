//===- ScalePlan.cpp - Chooses scaled gradients to store ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/optimizer/ScalePlan.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

namespace mf::passes {

static ScaleDecision decide(size_t scale, llvm::ArrayRef<GradientUser> users,
                            const std::vector<bool> &isGone) {
  ScaleDecision decision{scale, std::nullopt, {}};
  llvm::StringSet<> scaled;
  for (const std::string &gradient : users[scale].gradients)
    scaled.insert(gradient);
  auto isScaled = [&](const std::string &gradient) {
    return scaled.contains(gradient);
  };
  for (size_t i = scale + 1; i < users.size(); ++i) {
    const GradientUser &user = users[i];
    if (isGone[i] || llvm::none_of(user.gradients, isScaled))
      continue;
    if (user.kind != GradientUser::Kind::Reads ||
        !llvm::all_of(user.gradients, isScaled)) {
      decision.obstacle = i;
      decision.readers.clear();
      return decision;
    }
    decision.readers.push_back(i);
  }
  return decision;
}

std::vector<ScaleDecision> planScales(llvm::ArrayRef<GradientUser> users) {
  std::vector<ScaleDecision> decisions;
  // A scale that is folded into its readers is no obstacle for earlier ones.
  // The loop goes backwards, because no scale can be moved past one that stays.
  std::vector<bool> isGone(users.size());
  for (size_t i = users.size(); i-- > 0;) {
    if (users[i].kind != GradientUser::Kind::Scales)
      continue;
    decisions.push_back(decide(i, users, isGone));
    isGone[i] = !decisions.back().obstacle;
  }
  return decisions;
}

void printScales(llvm::ArrayRef<GradientUser> users,
                 llvm::ArrayRef<ScaleDecision> decisions,
                 llvm::raw_ostream &os) {
  for (const ScaleDecision &decision : decisions) {
    os << users[decision.scale].name << " of "
       << users[decision.scale].gradients.size() << " gradients: ";
    if (decision.obstacle)
      os << "in place, for " << users[*decision.obstacle].name << '\n';
    else
      os << "in " << decision.readers.size() << " operators that read them\n";
  }
}

} // namespace mf::passes
