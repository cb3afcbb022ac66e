//===- CollectiveDistribution.cpp - Distributions behind collectives ------===//

#include "Distribution.h"
#include "llvm/ADT/STLExtras.h"

namespace mf::program {

/// Checks what an axis of the group holds before the collective; gives the
/// reason if that is not allowed.
static std::optional<std::string>
check(const Exchange &exchange, const AxisHolding &held, bool isStages) {
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
    // The gradients of parameters that stages share.
    if (isStages && holding == Holding::Part)
      return std::nullopt;
    [[fallthrough]];
  case CollectiveKind::ReduceScatter:
    if (held.isSummand())
      return std::nullopt;
    return "expected a summand: the sum would be of something else";
  case CollectiveKind::AllGather:
  case CollectiveKind::AllToAll:
    if (holding == Holding::Part)
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

namespace {

/// A collective whose input has the right distribution.
struct CollectiveStep {
  CollectiveKind kind;
  int64_t inputElements;
  int64_t outputElements;
  /// Where the input's shares are cut: where its first dimension stood.
  int64_t sharePlace;
  /// Where they are cut if it stood there before.
  int64_t ownPlace;
  /// A share has one element of the first dimension.
  bool hasOneElement;
  /// Where the group's axes cut the input.
  llvm::SmallVector<int64_t, 2> gathered;
  /// Whether these axes may cut outside of others that cut in the same place:
  /// one of them cuts in one of several places, or a rank has one row.
  bool isOpen = false;

  /// The output's holding along an axis of the group.
  AxisHolding getMember() const {
    if (kind != CollectiveKind::ReduceScatter &&
        kind != CollectiveKind::AllToAll)
      return {Holding::Same, {}};
    AxisHolding share = {Holding::Part, {sharePlace}};
    share.isLoose = kind == CollectiveKind::AllToAll;
    // The model may have put the dimension first, and not this collective.
    if (ownPlace != sharePlace)
      share.places.push_back(ownPlace);
    // One element of it may as well stand before what is put side by side.
    if (share.isLoose && hasOneElement)
      share.places.push_back(outputElements);
    llvm::sort(share.places);
    return share;
  }

  /// The output's holding along another axis: a dimension that is cut outside
  /// of the one that is concatenated is then cut above the first dimension, and
  /// one that was cut above the shares is cut where these are.
  AxisHolding getOther(AxisHolding holding) const {
    if (holding.holding != Holding::Part)
      return holding;
    const bool shares = kind == CollectiveKind::ReduceScatter ||
                        kind == CollectiveKind::AllToAll;
    llvm::SmallVector<int64_t, 2> places;
    for (int64_t place : holding.places) {
      const bool isGathered = llvm::is_contained(gathered, place);
      if (isGathered)
        places.push_back(outputElements);
      if (isGathered && !isOpen)
        continue;
      const bool isShared = shares && place == inputElements;
      if (isShared)
        holding.isLoose = kind == CollectiveKind::AllToAll;
      places.push_back(isShared ? sharePlace : place);
      // Nothing has to be moved where shares have one element.
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
  CollectiveStep step = {exchange.kind,
                         inputElements,
                         operands.outputElements,
                         /*sharePlace=*/0,
                         inputElements / members,
                         operands.firstElements == members,
                         /*gathered=*/{},
                         /*isOpen=*/operands.hasOneRow};
  step.sharePlace = input.firstPlace.value_or(step.ownPlace);
  auto isMember = [&](const Axis &axis) {
    return llvm::is_contained(group.axes, axis.name);
  };
  bool isUnknown = false;
  for (auto [number, axis] : llvm::enumerate(mesh.getAxes())) {
    if (!isMember(axis) || axis.size == 1)
      continue;
    const AxisHolding &holding = input.axes[number];
    if (std::optional<std::string> reason =
            check(exchange, holding, axis.name == stageAxis))
      return DistributionError{number, 0, std::move(*reason)};
    isUnknown |= holding.holding == Holding::Part && holding.places.empty();
    step.gathered.append(holding.places);
    step.isOpen |= holding.places.size() > 1;
  }
  const bool gathers = exchange.kind == CollectiveKind::AllGather ||
                       exchange.kind == CollectiveKind::AllToAll;
  output = Distribution();
  for (auto [number, axis] : llvm::enumerate(mesh.getAxes())) {
    const AxisHolding &holding = input.axes[number];
    const bool isSilent =
        axis.size == 1 || (holding.holding == Holding::Zero && !gathers);
    // A parameter that some stages share is still their own.
    const bool isOfStages =
        axis.name == stageAxis && holding.holding == Holding::Part;
    if (isMember(axis) && !isSilent && !isOfStages)
      output.axes.push_back(step.getMember());
    else if (gathers && isUnknown && holding.holding == Holding::Part)
      output.axes.push_back({Holding::Part, {}});
    else
      output.axes.push_back(step.getOther(holding));
  }
  // An all_reduce leaves its shares where they were.
  if (exchange.kind == CollectiveKind::AllReduce)
    output.firstPlace = input.firstPlace;
  return std::nullopt;
}

} // namespace mf::program
