//===- KernelCuts.cpp - Cuts of kernel results ----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Distribution.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

namespace mf::program {

int64_t KernelDistribution::getExtent(char letter) const {
  for (const Operand &operand : operands)
    if (const Dim *found = find(operand, {letter, false}))
      return found->extent;
  return 0;
}

std::optional<DistributionError>
KernelDistribution::checkCoordinates(llvm::ArrayRef<const Distribution *> given,
                                     llvm::ArrayRef<Axis> axes) const {
  for (auto [number, operand] : llvm::enumerate(operands)) {
    const PartOperand &part = operand.part;
    if (part.firstIndexOf.empty() && part.ownPartAbove == 0)
      continue;
    int64_t numParts = 1;
    std::optional<size_t> cut;
    for (auto [axis, holding] : llvm::enumerate(given[number]->axes))
      if (holding.holding == Holding::Part) {
        numParts *= axes[axis].size;
        cut = axis;
      }
    if (!cut)
      continue;
    int64_t expected = 1;
    for (char letter : part.firstIndexOf)
      expected *= getExtent(letter);
    const std::optional<int64_t> factor = given[number]->coordinateFactor;
    if (factor != expected)
      return DistributionError{
          *cut, number,
          "expected the rank's coordinate times " + std::to_string(expected) +
              (factor ? ", but it is that times " + std::to_string(*factor)
                      : "")};
    if (part.wholeOf != 0 && numParts * expected != getExtent(part.wholeOf))
      return DistributionError{*cut, number,
                               "expected parts of " +
                                   std::to_string(getExtent(part.wholeOf)) +
                                   " in all, but they are parts of " +
                                   std::to_string(numParts * expected)};
  }
  return std::nullopt;
}

std::optional<DistributionError>
KernelDistribution::orderAxes(llvm::ArrayRef<const Distribution *> given,
                              std::vector<Distribution> &outputs) const {
  const size_t numAxes = outputs.front().axes.size();
  std::vector<llvm::SmallVector<uint32_t, 1>> inside(numAxes);
  for (auto [number, value] : llvm::enumerate(given)) {
    if (!operands[number].isRead)
      continue;
    for (auto [axis, holding] : llvm::enumerate(value->axes)) {
      if (holding.holding != Holding::Part)
        continue;
      for (uint32_t inner : holding.inside)
        if (llvm::is_contained(inside[inner], axis))
          return DistributionError{
              axis, number,
              "expected parts in the order of another operand, which is cut "
              "over the same axes the other way round"};
      inside[axis] = uniteNumbers(inside[axis], holding.inside);
    }
  }
  for (Distribution &output : outputs)
    for (auto [axis, holding] : llvm::enumerate(output.axes))
      if (holding.holding == Holding::Part)
        for (uint32_t inner : inside[axis])
          if (output.axes[inner].holding == Holding::Part)
            holding.inside.push_back(inner);
  orderOwnParts(given, outputs);
  return std::nullopt;
}

void KernelDistribution::orderOwnParts(
    llvm::ArrayRef<const Distribution *> given,
    std::vector<Distribution> &outputs) const {
  const auto table = llvm::find_if(operands, [](const Operand &operand) {
    return operand.part.ownPartAbove != 0;
  });
  if (table == operands.end())
    return;
  llvm::SmallVector<uint32_t, 1> taken;
  for (auto [axis, holding] :
       llvm::enumerate(given[table - operands.begin()]->axes))
    if (holding.holding == Holding::Part)
      taken.push_back(static_cast<uint32_t>(axis));
  const PartDim above = {table->part.ownPartAbove, false};
  const int64_t place = find(operands.back(), above)->place;
  const std::vector<Dim> &whole = operands.front().dims;
  const int64_t elements = whole.back().place;
  // Above all parts, of which the rank takes one.
  const int64_t parts = std::next(find(operands.front(), above))->place;
  for (auto [axis, holding] : llvm::enumerate(given.front()->axes)) {
    if (holding.holding != Holding::Part || holding.places.size() != 1)
      continue;
    for (Distribution &output : outputs) {
      if (holding.places.front() == elements || holding.places.front() == parts)
        output.axes[axis].inside =
            uniteNumbers(output.axes[axis].inside, taken);
      else if (holding.places.front() == place)
        for (uint32_t outer : taken)
          output.axes[outer].inside = uniteNumbers(
              output.axes[outer].inside, {static_cast<uint32_t>(axis)});
    }
  }
}

std::optional<KernelDistribution::Cut>
KernelDistribution::getCut(const Dim &dim, int64_t place, bool isLoose) const {
  if (place == dim.place)
    return Cut{dim.dim, 0, false};
  const int64_t lowest = isLoose && isPermutation ? dim.below : dim.below + 1;
  if (dim.below > 0 && place >= lowest && place < dim.place &&
      place % dim.below == 0 && dim.place % place == 0)
    return Cut{dim.dim, place / dim.below, false};
  return std::nullopt;
}

llvm::SmallVector<KernelDistribution::Cut, 2>
KernelDistribution::findCuts(llvm::ArrayRef<const AxisHolding *> holdings,
                             const PartDim &dim) const {
  // The cuts on which all operands so far agree. Empty if there was none yet.
  std::optional<llvm::SmallVector<Cut, 2>> cuts;
  for (auto [number, operand] : llvm::enumerate(operands)) {
    const AxisHolding &holding = *holdings[number];
    if (!operand.isRead || holding.holding == Holding::Zero)
      continue;
    const bool isPart = holding.holding == Holding::Part;
    const Dim *found = find(operand, dim);
    if (!operand.part.firstIndexOf.empty()) {
      const bool isOf =
          !dim.isLeading &&
          llvm::is_contained(operand.part.firstIndexOf, dim.letter);
      if (isPart != isOf)
        return {};
      continue;
    }
    // Each rank has one element of the dimension, and this operand has one for
    // all ranks.
    if (!isPart && found && found->mayRepeat())
      continue;
    if (isPart != (found != nullptr))
      return {};
    if (!isPart)
      continue;
    if (!holding.dims.empty() &&
        !llvm::is_contained(holding.dims, found->number))
      return {};
    if (holding.places.empty())
      continue;
    llvm::SmallVector<Cut, 2> both;
    for (int64_t place : holding.places)
      if (std::optional<Cut> cut = getCut(*found, place, holding.isLoose);
          cut && (!cuts || found->isOwn || llvm::is_contained(*cuts, *cut)))
        both.push_back(*cut);
    if (both.empty())
      return {};
    // A rank's one element is for its part, wherever that is cut.
    if (!found->isOwn)
      cuts = std::move(both);
  }
  return cuts ? std::move(*cuts) : llvm::SmallVector<Cut, 2>{{dim, 0, true}};
}

AxisHolding KernelDistribution::getOutput(const Operand &output,
                                          const Cut &cut) const {
  if (const Dim *found = find(output, cut.dim)) {
    if (cut.isUnknown)
      return {Holding::Part, {}};
    AxisHolding part = {Holding::Part,
                        {cut.elements == 0 || found->isOwn
                             ? found->place
                             : cut.elements * found->below}};
    part.dims.push_back(found->number);
    return part;
  }
  // The kernel has a dimension from which each rank takes its own part.
  for (const Operand &operand : operands)
    if (operand.part.ownPartAbove != 0)
      return {Holding::Part,
              {find(output, {operand.part.ownPartAbove, false})->place}};
  switch (output.part.reduction) {
  case PartReduction::Sum:
    return {Holding::Summand, {}};
  case PartReduction::Largest:
    return {Holding::Candidate, {}};
  case PartReduction::Norm:
    return {Holding::PartNorm, {}};
  }
  llvm_unreachable("covered switch");
}

/// Merges the results of a cut in one of two dimensions. Returns false if they
/// cannot be tracked together.
static bool addCut(AxisHolding &known, const AxisHolding &next) {
  if (known.holding != next.holding) {
    if (!known.mayBe(Holding::Summand) && !next.mayBe(Holding::Summand))
      return false;
    if (known.holding != Holding::Part && next.holding != Holding::Part)
      return false;
  }
  known.addReadings(next);
  return true;
}

std::optional<DistributionError>
KernelDistribution::applyParts(llvm::ArrayRef<const AxisHolding *> holdings,
                               std::vector<AxisHolding> &outputs) const {
  bool isFirst = true;
  for (const PartDim &dim : dims) {
    for (const Cut &cut : findCuts(holdings, dim)) {
      for (auto [result, output] :
           llvm::zip_equal(outputs, llvm::drop_begin(operands, numInputs))) {
        AxisHolding next = getOutput(output, cut);
        if (isFirst)
          result = std::move(next);
        else if (!addCut(result, next))
          return DistributionError{0, 0, "where it is cut cannot be told"};
      }
      isFirst = false;
    }
  }
  if (!isFirst) {
    for (auto [number, result] : llvm::enumerate(outputs)) {
      const Operand &output = operands[numInputs + number];
      if (result.holding == Holding::Summand && output.isRead &&
          output.part.linearity == Linearity::Together &&
          holdings[numInputs + number]->holding == Holding::Same)
        return DistributionError{0, numInputs + number,
                                 "expected a summand like what is added to it"};
    }
    return std::nullopt;
  }
  size_t part = 0;
  while (!operands[part].isRead || holdings[part]->holding != Holding::Part)
    ++part;
  return DistributionError{0, part,
                           "expected the whole, or operands that are cut alike "
                           "in a dimension that may be"};
}

} // namespace mf::program
