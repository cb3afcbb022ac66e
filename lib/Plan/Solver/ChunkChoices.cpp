//===- ChunkChoices.cpp - Choices for the layers of a chunk ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ChunkChoices.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <map>

namespace mf::solver {

/// With more parts than this, comparing all pairs takes too long.
static constexpr size_t mostCompared = 3000;

ChunkChoices::ChunkChoices(const TickProblem &problem, Aim aim,
                           std::function<bool()> isOver)
    : problem(problem), aim(aim), isOver(std::move(isOver)),
      isOrderKept(problem.get().treatmentsInOrder && problem.getNumKinds() > 1),
      isPossible(problem.get().getNumTreatments(), true),
      excludedBy(problem.get().getNumTreatments(), 0),
      forbiddenGroups(problem.getNumChunks(), -1) {
  for (const LayerKind &kind : problem.get().kinds)
    for (const Treatment &treatment : kind.treatments)
      hasCopies |= treatment.copyOut > 0 || treatment.copyIn > 0;
  for (auto [treatment, fixed] : llvm::enumerate(problem.get().fixedTreatments))
    isPossible[treatment] =
        fixed.empty() ||
        llvm::any_of(fixed, [](int64_t count) { return count > 0; });
  for (auto [one, other] : problem.get().exclusive) {
    excludedBy[one] |= uint64_t(1) << other;
    excludedBy[other] |= uint64_t(1) << one;
  }
  for (const ForbiddenStage &forbidden : problem.get().forbidden) {
    llvm::ArrayRef<int32_t> chunks = problem.getChunks(forbidden.stage);
    for (auto [chunk, plan] : llvm::zip_equal(chunks, forbidden.chunks)) {
      int64_t &group = forbiddenGroups[chunk];
      if (group < 0) {
        group = static_cast<int64_t>(forbiddenPlans.size());
        forbiddenPlans.emplace_back();
      }
      forbiddenPlans[group].push_back(plan);
    }
  }
}

/// Returns whether each number of one plan is at most the other's.
static bool isCovered(const ChunkPlan &one, const ChunkPlan &other) {
  for (size_t kind = 0; kind < one.counts.size(); ++kind)
    for (size_t treatment = 0; treatment < one.counts[kind].size(); ++treatment)
      if (one.counts[kind][treatment] > other.counts[kind][treatment])
        return false;
  return true;
}

bool ChunkChoices::mayBecomeForbidden(int64_t forbiddenGroup,
                                      const ChunkPlan &plan) const {
  return forbiddenGroup >= 0 &&
         llvm::any_of(forbiddenPlans[forbiddenGroup],
                      [&](const ChunkPlan &forbidden) {
                        return isCovered(plan, forbidden);
                      });
}

bool ChunkChoices::isNoWorse(const TickCosts &one,
                             const TickCosts &other) const {
  if (one.activation > other.activation || one.recomputed > other.recomputed ||
      one.transient > other.transient)
    return false;
  return aim == Aim::Memory || one.isNoLonger(other);
}

/// Returns whether `one` may replace `other`, whatever layers follow.
bool ChunkChoices::isBetter(const Part &one, const Part &other) const {
  if (!isNoWorse(one.costs, other.costs) ||
      (one.exclusive & ~other.exclusive) != 0)
    return false;
  if (isOrderKept && one.lastTreatment > other.lastTreatment)
    return false;
  for (auto [treatment, fixed] : llvm::enumerate(problem.get().fixedTreatments))
    if (!fixed.empty() &&
        one.plan.getTreated(treatment) != other.plan.getTreated(treatment))
      return false;
  if (!hasCopies)
    return true;
  // A longer task can hide more of its copies.
  auto getOut = [](const TickCosts &costs) {
    return costs.copyOut - costs.times[0];
  };
  auto getIn = [](const TickCosts &costs) {
    return costs.copyIn - costs.getBackward();
  };
  return getOut(one.costs) <= getOut(other.costs) &&
         getIn(one.costs) <= getIn(other.costs);
}

/// Orders choices by their costs and, if these are equal, puts the one with
/// more layers of early treatments first.
template <typename Choice>
static bool isOrdered(const Choice &one, const Choice &other) {
  if (one.costs.times != other.costs.times)
    return one.costs.times < other.costs.times;
  if (one.costs.activation != other.costs.activation)
    return one.costs.activation < other.costs.activation;
  if (one.costs.recomputed != other.costs.recomputed)
    return one.costs.recomputed < other.costs.recomputed;
  if (one.costs.transient != other.costs.transient)
    return one.costs.transient < other.costs.transient;
  return one.plan.counts > other.plan.counts;
}

/// Removes choices that another choice may replace. A better choice must not
/// have larger activations and, unless the aim is memory, not be longer.
template <typename Choice, typename Better>
static void keepBest(ChunkChoices::Aim aim, std::vector<Choice> &choices,
                     Better isBetter) {
  llvm::sort(choices, isOrdered<Choice>);
  // The indices of the best choices so far. Longer choices mostly have smaller
  // activations, so few of the others can be better.
  std::multimap<int64_t, size_t> best;
  for (size_t index = 0; index < choices.size(); ++index) {
    const Choice &choice = choices[index];
    const int64_t activation = choice.costs.activation;
    const auto end = best.upper_bound(activation);
    if (std::any_of(best.begin(), end, [&](const auto &other) {
          return isBetter(choices[other.second], choice);
        }))
      continue;
    // Choices are in the order of their times and then of their activations: a
    // later one that is no longer takes as long, and has as large activations.
    auto other = best.lower_bound(activation);
    const auto last = aim == ChunkChoices::Aim::Memory ? best.end() : end;
    while (other != last)
      other = isBetter(choice, choices[other->second]) ? best.erase(other)
                                                       : std::next(other);
    best.emplace(activation, index);
  }
  std::vector<size_t> kept;
  for (const auto &[activation, index] : best)
    kept.push_back(index);
  llvm::sort(kept);
  std::vector<Choice> made;
  for (const size_t index : kept)
    made.push_back(std::move(choices[index]));
  choices = std::move(made);
}

/// Removes parts that another part dominates, among those that differ only in
/// activations and in the task that recomputes. This takes no longer than
/// sorting.
void ChunkChoices::dropWorse(int64_t forbiddenGroup,
                             std::vector<Part> &made) const {
  using Key = llvm::SmallVector<int64_t, 12>;
  const size_t varying =
      problem.hasRecomputeTasks() ? problem.getNumPhases() - 1 : 1;
  auto getKey = [&](const Part &part) {
    Key key(part.costs.times.begin(), part.costs.times.end());
    key[varying] = 0;
    key.append({part.costs.recomputed, part.costs.transient, part.costs.copyOut,
                part.costs.copyIn, static_cast<int64_t>(part.exclusive),
                isOrderKept ? static_cast<int64_t>(part.lastTreatment) : 0});
    for (auto [treatment, fixed] :
         llvm::enumerate(problem.get().fixedTreatments))
      if (!fixed.empty())
        key.push_back(part.plan.getTreated(treatment));
    return key;
  };
  // The parts are in the order of their times.
  std::map<Key, int64_t> leastActivations;
  llvm::erase_if(made, [&](const Part &part) {
    auto [least, isFirst] =
        leastActivations.try_emplace(getKey(part), part.costs.activation);
    if (!isFirst && least->second <= part.costs.activation)
      return true;
    if (mayBecomeForbidden(forbiddenGroup, part.plan)) {
      // A part that may be forbidden does not exclude others.
      if (isFirst)
        leastActivations.erase(least);
      return false;
    }
    least->second = part.costs.activation;
    return false;
  });
}

const std::vector<ChunkChoices::Part> &
ChunkChoices::getParts(int64_t forbiddenGroup, const Layers &layers) {
  auto known = parts.find({forbiddenGroup, layers});
  if (known != parts.end())
    return known->second;
  std::vector<Part> made = makeParts(forbiddenGroup, layers);
  return parts[{forbiddenGroup, layers}] = std::move(made);
}

/// Adds a layer to each of the parts without it.
std::vector<ChunkChoices::Part> ChunkChoices::makeParts(int64_t forbiddenGroup,
                                                        const Layers &layers) {
  size_t numTreatments = problem.get().getNumTreatments();
  Part empty;
  empty.plan.counts.assign(layers.size(),
                           std::vector<int64_t>(numTreatments, 0));
  auto last = std::find_if(layers.rbegin(), layers.rend(),
                           [](int64_t count) { return count > 0; });
  if (last == layers.rend())
    return {empty};
  size_t kind = layers.rend() - last - 1;
  const std::optional<size_t> only = kind + 1 >= problem.get().getNumLeaders()
                                         ? problem.get().followed
                                         : std::nullopt;
  Layers before = layers;
  --before[kind];
  std::vector<Part> made;
  const std::vector<Part> &shorter = getParts(forbiddenGroup, before);
  cutShort |= isOver && isOver();
  if (cutShort)
    return {};
  for (const Part &part : shorter)
    for (size_t treatment = 0; treatment < numTreatments; ++treatment) {
      if (!isPossible[treatment] ||
          (isOrderKept && treatment < part.lastTreatment) ||
          (only && treatment != *only))
        continue;
      if ((part.exclusive & excludedBy[treatment]) != 0)
        continue;
      Part &next = made.emplace_back(part);
      ++next.plan.counts[kind][treatment];
      next.costs.add(problem.getLayer(kind, treatment));
      next.lastTreatment = std::max(part.lastTreatment, treatment);
      if (excludedBy[treatment] != 0)
        next.exclusive |= uint64_t(1) << treatment;
    }
  // Layers may be added in any order. Parts with the same numbers are equal.
  llvm::sort(made, isOrdered<Part>);
  made.erase(llvm::unique(made,
                          [](const Part &one, const Part &other) {
                            return one.plan == other.plan;
                          }),
             made.end());
  dropWorse(forbiddenGroup, made);
  if (made.size() > mostCompared)
    return made;
  keepBest(aim, made, [&](const Part &one, const Part &other) {
    return isBetter(one, other) &&
           !mayBecomeForbidden(forbiddenGroup, one.plan);
  });
  return made;
}

bool ChunkChoices::isAllowed(int64_t chunk, const Part &part) const {
  const ChunkPlan counted = part.plan.takeFront(problem.get().getNumLeaders());
  for (auto [treatment, fixed] : llvm::enumerate(problem.get().fixedTreatments))
    if (!fixed.empty() && counted.getTreated(treatment) !=
                              std::min(fixed[chunk], counted.getNumLayers()))
      return false;
  TickCosts costs = problem.getExtra(chunk);
  costs.add(part.costs);
  return costs.copyOut <= costs.times[0] && costs.copyIn <= costs.getBackward();
}

const std::vector<ChunkChoice> &
ChunkChoices::get(int64_t chunk, llvm::ArrayRef<int64_t> layers) {
  auto known = choices.find({chunk, layers.vec()});
  if (known != choices.end())
    return known->second;
  std::vector<ChunkChoice> allowed;
  int64_t group = forbiddenGroups[chunk];
  for (const Part &part : getParts(group, layers.vec())) {
    if (!isAllowed(chunk, part))
      continue;
    ChunkChoice &choice = allowed.emplace_back();
    choice.plan = part.plan;
    choice.costs = problem.getExtra(chunk);
    choice.costs.add(part.costs);
  }
  if (allowed.size() > mostCompared)
    cutShort |= isOver && isOver();
  keepBest(aim, allowed, [&](const ChunkChoice &one, const ChunkChoice &other) {
    return isNoWorse(one.costs, other.costs) &&
           (group < 0 || !llvm::is_contained(forbiddenPlans[group], one.plan));
  });
  return choices[{chunk, layers.vec()}] = std::move(allowed);
}

} // namespace mf::solver
