//===- RowDistribution.cpp - Distributions of row exchanges ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Distribution.h"
#include "llvm/ADT/STLExtras.h"

namespace mf::program {

namespace {

/// The holdings of an all_to_all_v's inputs along one axis.
struct RowOperands {
  const AxisHolding &input;
  const AxisHolding &send;
  const AxisHolding &receive;
};

} // namespace

static DistributionError makeError(size_t operand, const char *reason) {
  return {0, operand, reason};
}

/// Ranks may have different counts, but not incomplete sums.
static std::optional<DistributionError>
checkCounts(const RowOperands &operands) {
  for (auto [operand, counts] :
       {std::pair(1, &operands.send), std::pair(2, &operands.receive)})
    if (counts->holding != Holding::Zero && counts->holding != Holding::Same &&
        counts->holding != Holding::Part)
      return makeError(operand,
                       "expected numbers of rows: other rows would be sent");
  return std::nullopt;
}

static bool haveOwnCounts(const RowOperands &operands) {
  return operands.send.holding == Holding::Part ||
         operands.receive.holding == Holding::Part;
}

namespace {

/// An all_to_all_v. Each rank has different rows before and after it. If the
/// input is cut above all of its rows, so is the output.
class RowCollective {
public:
  RowCollective(const Exchange &exchange, const CollectiveOperands &operands)
      : fills(exchange.rows.fill != 0),
        rowElements(exchange.rows.rowBytes / getBytes(exchange.type)),
        inputElements(operands.inputElements),
        outputElements(operands.outputElements) {}

  /// Compute the output's holding along an axis of the group, and along another
  /// axis.
  std::optional<DistributionError> applyMember(const RowOperands &operands,
                                               AxisHolding &output) const {
    const AxisHolding &input = operands.input;
    if (std::optional<DistributionError> error = checkCounts(operands))
      return error;
    if (input.holding != Holding::Zero && !input.mayBe(Holding::Part))
      return makeError(0, "expected a part of a whole: what is put side by "
                          "side would be something else");
    if (!input.places.empty() &&
        !llvm::is_contained(input.places, inputElements))
      return makeError(0, "expected a part that is cut above all of its rows: "
                          "rows would be put side by side that are none");
    output = {Holding::Part, {outputElements}, input.isLoose};
    return std::nullopt;
  }

  std::optional<DistributionError> applyOther(const RowOperands &operands,
                                              AxisHolding &output) const {
    if (std::optional<DistributionError> error = checkCounts(operands))
      return error;
    const AxisHolding &input = operands.input;
    output = input;
    if (input.holding == Holding::Part)
      return applyPart(operands, output);
    if (input.holding == Holding::Zero && !fills)
      return std::nullopt;
    if (input.holding == Holding::Zero || input.holding == Holding::Same) {
      output = {Holding::Same, {}};
      if (!haveOwnCounts(operands))
        return std::nullopt;
      const AxisHolding &counts = operands.send.holding == Holding::Part
                                      ? operands.send
                                      : operands.receive;
      const bool isStages = llvm::is_contained(counts.places, stagePlace);
      output = {Holding::Part, {isStages ? stagePlace : outputElements}};
      return std::nullopt;
    }
    if (haveOwnCounts(operands))
      return makeError(
          0,
          "expected the same or a part: counts are not the same on all ranks");
    if (fills)
      return makeError(
          0, "expected the same or a part: all would fill the output up");
    return std::nullopt;
  }

private:
  /// Handles a part that is cut above its rows, or whose rows are all cut.
  std::optional<DistributionError> applyPart(const RowOperands &operands,
                                             AxisHolding &output) const {
    const bool haveOwn = haveOwnCounts(operands);
    output = operands.input;
    output.places.clear();
    output.others = 0;
    for (const int64_t place : operands.input.places) {
      if (place == stagePlace || (!haveOwn && place <= rowElements))
        output.places.push_back(place);
      if (place == inputElements)
        output.places.push_back(outputElements);
    }
    if (output.places.empty() && !operands.input.places.empty())
      return makeError(
          0, haveOwn ? "expected a part that is cut above all of its rows: "
                       "each has counts of its own"
                     : "expected a part that is cut above all of its rows or "
                       "inside of each: counts are of other rows");
    return std::nullopt;
  }

  bool fills;
  int64_t rowElements;
  int64_t inputElements;
  int64_t outputElements;
};

} // namespace

std::optional<DistributionError>
applyRowExchange(const Exchange &exchange, const Group &group, const Mesh &mesh,
                 const CollectiveOperands &operands, Distribution &output) {
  const RowCollective collective(exchange, operands);
  output = Distribution();
  for (auto [number, axis] : llvm::enumerate(mesh.getAxes())) {
    const RowOperands held = {operands.inputs[0]->axes[number],
                              operands.inputs[1]->axes[number],
                              operands.inputs[2]->axes[number]};
    AxisHolding &made = output.axes.emplace_back();
    // A single rank has the whole.
    if (axis.size == 1)
      continue;
    const bool isMember = llvm::is_contained(group.axes, axis.name);
    std::optional<DistributionError> error =
        isMember ? collective.applyMember(held, made)
                 : collective.applyOther(held, made);
    if (error) {
      error->axis = number;
      return error;
    }
  }
  output.forgetShape();
  return std::nullopt;
}

} // namespace mf::program
