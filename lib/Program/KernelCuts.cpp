//===- KernelCuts.cpp - Cuts of kernel results ----------------------------===//

#include "Distribution.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

namespace mf::program {

/// Adds alternatives to a list. An empty list allows any.
template <typename T>
static void addChoices(llvm::SmallVectorImpl<T> &choices,
                       const llvm::SmallVectorImpl<T> &more) {
  if (choices.empty() || more.empty()) {
    choices.clear();
    return;
  }
  llvm::append_range(choices, more);
  llvm::sort(choices);
  choices.erase(llvm::unique(choices), choices.end());
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
    if (operand.part.firstIndexOf != 0) {
      if (isPart != (operand.part.firstIndexOf == dim.letter && !dim.isLeading))
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
    if (!known.isSummand() && !next.isSummand())
      return false;
    if (known.holding != Holding::Part && next.holding != Holding::Part)
      return false;
    if (next.holding == Holding::Part)
      known = next;
    known.maySum = true;
    return true;
  }
  addChoices(known.places, next.places);
  addChoices(known.dims, next.dims);
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
  return DistributionError{
      0, part,
      "expected the whole, or operands that are cut alike in a dimension that "
      "may be"};
}

} // namespace mf::program
