//===- CollectiveDistribution.cpp - Distributions of collectives ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "Distribution.h"
#include "llvm/ADT/STLExtras.h"

namespace mf::program {

/// Checks the input's holding along an axis of the group. Returns the reason if
/// it is not allowed.
static std::optional<std::string> check(const Exchange &exchange,
                                        const AxisHolding &held) {
  const Holding holding = held.holding;
  if (holding == Holding::Zero)
    return std::nullopt;
  switch (exchange.kind) {
  case CollectiveKind::AllReduce:
    if (exchange.reduction == Reduction::Max) {
      if (holding == Holding::Candidate || holding == Holding::Same)
        return std::nullopt;
      return "expected the largest of a part";
    }
    [[fallthrough]];
  case CollectiveKind::ReduceScatter:
    if (held.mayBe(Holding::Summand))
      return std::nullopt;
    return "expected a summand: the sum would be of something else";
  case CollectiveKind::AllGather:
  case CollectiveKind::AllToAll:
    if (held.mayBe(Holding::Part))
      return std::nullopt;
    return "expected a part of a whole: what is put side by side would be "
           "something else";
  case CollectiveKind::Broadcast:
    if (holding == Holding::Same)
      return std::nullopt;
    return "expected the same on all ranks: what others than the first hold "
           "would be lost";
  case CollectiveKind::AllToAllV:
    break;
  }
  return std::nullopt;
}

/// Checks the input's holding along the stages, like `check` along an axis.
/// Gradients are summed over the stages that share the parameter, other values
/// over all stages.
static std::optional<std::string> checkStages(const Group &group,
                                              const AxisHolding &held,
                                              const Mesh &mesh,
                                              const SharedParameters &shared) {
  const auto numStages = static_cast<int64_t>(group.stages.size());
  if (held.holding == Holding::Summand && held.shared) {
    if (shared.isOver(*held.shared, group.stages))
      return std::nullopt;
    return "expected a sum over the stages that share '" +
           shared.getName(*held.shared) + "'";
  }
  if (group.stages.empty() || numStages == mesh.getNumStages() ||
      (held.holding != Holding::Summand && held.holding != Holding::Candidate))
    return std::nullopt;
  return "expected all stages: others have more of it";
}

namespace {

/// A collective whose input has a valid distribution.
struct CheckedCollective {
  CollectiveKind kind;
  int64_t inputElements;
  int64_t outputElements;
  /// The place of the cut of the input's shares: the original place of its
  /// first dimension.
  int64_t sharePlace;
  /// The place at which the shares were cut if the dimension was the first one
  /// before, too.
  int64_t ownPlace;
  /// True if a share has one element of the first dimension.
  bool hasOneElement;
  /// The places at which the group's axes cut the input.
  llvm::SmallVector<int64_t, 2> gathered;
  /// True if these axes may be outside of others that cut at the same place,
  /// because one of them cuts at one of several places or a rank has one row.
  bool isOpen = false;
  /// The axes of the group, in the mesh's order, in which their parts are put
  /// side by side.
  llvm::SmallVector<uint32_t, 2> members = {};

  bool makesShares() const {
    return kind == CollectiveKind::ReduceScatter ||
           kind == CollectiveKind::AllToAll;
  }
  bool isMember(uint32_t axis) const {
    return llvm::is_contained(members, axis);
  }

  /// Returns whether parts along the axis lie between those of the group's
  /// axes, so that these are not neighbours.
  bool isBetween(uint32_t axis, const Distribution &input) const {
    return llvm::any_of(input.axes[axis].inside,
                        [&](uint32_t inner) { return isMember(inner); }) &&
           llvm::any_of(members, [&](uint32_t member) {
             return llvm::is_contained(input.axes[member].inside, axis);
           });
  }

  /// Returns whether a part along the axis is known to be a neighbour of the
  /// parts of the same members, or a part of an inner dimension.
  bool isInside(uint32_t axis, const Distribution &input) const {
    llvm::ArrayRef<size_t> inner = input.axes[axis].dims;
    return llvm::all_of(members, [&](uint32_t member) {
      llvm::ArrayRef<size_t> outer = input.axes[member].dims;
      return llvm::is_contained(input.axes[member].inside, axis) ||
             (!inner.empty() && !outer.empty() && outer.back() < inner.front());
    });
  }

  /// Returns the output's holding along an axis of the group.
  AxisHolding getMember(uint32_t axis) const {
    if (!makesShares())
      return {Holding::Same, {}};
    AxisHolding share = {Holding::Part, {sharePlace}};
    share.inside.assign(llvm::upper_bound(members, axis), members.end());
    share.isLoose = kind == CollectiveKind::AllToAll;
    // The model may have moved the dimension to the front, instead of this
    // collective.
    if (ownPlace != sharePlace)
      share.places.push_back(ownPlace);
    // A dimension with one element may also precede the concatenated parts.
    if (share.isLoose && hasOneElement)
      share.places.push_back(outputElements);
    llvm::sort(share.places);
    return share;
  }

  /// Returns the output's holding along another axis. A dimension that is cut
  /// outside of the concatenated one is then cut above the first dimension. One
  /// that was cut above the shares is cut at their place, which is that of the
  /// member's share.
  AxisHolding getOther(uint32_t axis, const Distribution &input) const {
    AxisHolding holding = input.axes[axis];
    if (!holding.mayBe(Holding::Part))
      return holding;
    llvm::erase_if(holding.inside,
                   [&](uint32_t inner) { return isMember(inner); });
    const bool shares = makesShares();
    if (shares && holding.places.size() == 1 &&
        holding.places.front() == inputElements)
      holding.inside = uniteNumbers(holding.inside, members);
    const bool staysInside = isInside(axis, input);
    llvm::SmallVector<int64_t, 2> places;
    for (int64_t place : holding.places) {
      const bool isGathered =
          llvm::is_contained(gathered, place) && !staysInside;
      if (isGathered)
        places.push_back(outputElements);
      if (isGathered && !isOpen)
        continue;
      const bool isShared = shares && place == inputElements;
      if (isShared)
        holding.isLoose = kind == CollectiveKind::AllToAll;
      places.push_back(isShared ? sharePlace : place);
      if (isShared && ownPlace != sharePlace)
        places.push_back(ownPlace);
      // Shares with one element need not be moved.
      if (isShared && holding.isLoose && hasOneElement)
        places.push_back(outputElements);
    }
    holding.places = std::move(places);
    llvm::sort(holding.places);
    holding.places.erase(llvm::unique(holding.places), holding.places.end());
    return holding;
  }
};

} // namespace

std::optional<DistributionError>
applyCollective(const Exchange &exchange, const Group &group, const Mesh &mesh,
                const CollectiveOperands &operands, Distribution &output) {
  if (exchange.kind == CollectiveKind::AllToAllV)
    return applyRowExchange(exchange, group, mesh, operands, output);
  const Distribution &input = *operands.inputs.front();
  const int64_t inputElements = operands.inputElements;
  const int64_t members = mesh.getNumMembers(group);
  CheckedCollective collective = {exchange.kind,
                                  inputElements,
                                  operands.outputElements,
                                  /*sharePlace=*/0,
                                  inputElements / members,
                                  operands.firstElements == members,
                                  /*gathered=*/{},
                                  /*isOpen=*/operands.hasOneRow};
  collective.sharePlace = input.firstPlace.value_or(collective.ownPlace);
  auto isMember = [&](const Axis &axis) {
    return llvm::is_contained(group.axes, axis.name);
  };
  bool isUnknown = false;
  for (auto [number, axis] : llvm::enumerate(mesh.getAxes())) {
    if (!isMember(axis) || axis.size == 1)
      continue;
    const AxisHolding &holding = input.axes[number];
    if (std::optional<std::string> reason = check(exchange, holding))
      return DistributionError{number, 0, std::move(*reason)};
    if (axis.name == stageAxis)
      if (std::optional<std::string> reason =
              checkStages(group, holding, mesh, *operands.shared))
        return DistributionError{number, 0, std::move(*reason)};
    isUnknown |= holding.mayBe(Holding::Part) && holding.places.empty();
    for (uint32_t member : collective.members)
      if (llvm::is_contained(holding.inside, member))
        return DistributionError{number, 0,
                                 "expected parts in the order of the mesh's "
                                 "axes, in which they are put side by side"};
    collective.members.push_back(static_cast<uint32_t>(number));
    collective.gathered.append(holding.places);
    collective.isOpen |= holding.places.size() > 1;
  }
  const bool gathers = exchange.kind == CollectiveKind::AllGather ||
                       exchange.kind == CollectiveKind::AllToAll;
  output = Distribution();
  for (auto [number, axis] : llvm::enumerate(mesh.getAxes())) {
    const AxisHolding &holding = input.axes[number];
    if (gathers && !isMember(axis) && collective.isBetween(number, input))
      return DistributionError{number, 0,
                               "expected parts that are neighbours: those of "
                               "other ranks lie between the parts that are "
                               "put side by side"};
    const bool isSilent =
        axis.size == 1 || (holding.holding == Holding::Zero && !gathers);
    // A value that some stages share still belongs to them.
    if (isMember(axis) && holding.shared)
      output.axes.push_back(
          {Holding::Part, {stagePlace}, false, {}, 0, holding.shared});
    else if (isMember(axis) && !isSilent)
      output.axes.push_back(collective.getMember(number));
    else if (gathers && isUnknown && holding.holding == Holding::Part)
      output.axes.push_back({Holding::Part, {}});
    else if (gathers && isUnknown && holding.mayBe(Holding::Part))
      output.axes.push_back(holding.as(holding.holding));
    else
      output.axes.push_back(collective.getOther(number, input));
  }
  output.forgetShape();
  // An all_reduce keeps its shares in place.
  if (exchange.kind == CollectiveKind::AllReduce)
    output.firstPlace = input.firstPlace;
  return std::nullopt;
}

void narrowInput(const Exchange &exchange, const Group &group, const Mesh &mesh,
                 Distribution &input) {
  Holding wanted = Holding::Part;
  if (exchange.kind == CollectiveKind::Broadcast ||
      (exchange.kind == CollectiveKind::AllReduce &&
       exchange.reduction == Reduction::Max))
    return;
  if (exchange.kind == CollectiveKind::AllReduce ||
      exchange.kind == CollectiveKind::ReduceScatter)
    wanted = Holding::Summand;
  for (auto [axis, holding] : llvm::zip_equal(mesh.getAxes(), input.axes))
    if (axis.size > 1 && llvm::is_contained(group.axes, axis.name) &&
        holding.holding != Holding::Zero && holding.mayBe(wanted))
      holding = holding.as(wanted);
}

} // namespace mf::program
