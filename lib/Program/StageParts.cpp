//===- StageParts.cpp - What kernels make of stages' own values -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "Distribution.h"
#include "llvm/ADT/STLExtras.h"

namespace mf::program {

llvm::SmallVector<uint32_t, 1> uniteNumbers(llvm::ArrayRef<uint32_t> a,
                                            llvm::ArrayRef<uint32_t> b) {
  llvm::SmallVector<uint32_t, 1> both;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(),
                 std::back_inserter(both));
  return both;
}

/// The square of a norm is the sum of the squares of the parts' norms.
std::optional<DistributionError>
KernelDistribution::squareNorms(llvm::ArrayRef<const AxisHolding *> holdings,
                                size_t operand,
                                std::vector<AxisHolding> &outputs) const {
  AxisHolding square = {Holding::Summand, {}};
  size_t numRead = 0;
  bool isSquare = numInputs == 2;
  for (auto [number, read] : llvm::enumerate(operands)) {
    if (!read.isRead)
      continue;
    ++numRead;
    const AxisHolding &held = *holdings[number];
    isSquare &=
        read.part.linearity == Linearity::Alone &&
        (held.holding == Holding::PartNorm || held.holding == Holding::Zero);
    square.counted = uniteNumbers(square.counted, held.counted);
  }
  if (!isSquare || numRead != 2)
    return DistributionError{0, operand,
                             "expected its square, whose sum over ranks is "
                             "that of the norm of the whole"};
  for (AxisHolding &output : outputs)
    output = square;
  return std::nullopt;
}

/// Returns the group whose stages all compute the same results with a kernel,
/// because they share its inputs. Returns none if an input is a stage's own.
static std::optional<uint32_t>
findShared(llvm::ArrayRef<const AxisHolding *> read) {
  std::optional<uint32_t> shared;
  for (const AxisHolding *held : read) {
    if (held->holding == Holding::Zero || held->holding == Holding::Same)
      continue;
    if (!held->shared || (shared && shared != held->shared))
      return std::nullopt;
    shared = held->shared;
  }
  return shared;
}

/// A value of one stage stays a value of that stage. A scalar that is computed
/// from all of its elements belongs to this stage only.
void KernelDistribution::applyStageParts(
    llvm::ArrayRef<const AxisHolding *> holdings,
    std::vector<AxisHolding> &outputs) const {
  llvm::SmallVector<const AxisHolding *, 8> read;
  for (auto [operand, held] : llvm::zip_equal(operands, holdings))
    if (operand.isRead)
      read.push_back(held);
  const std::optional<uint32_t> shared = findShared(read);
  for (auto [result, output] :
       llvm::zip_equal(outputs, llvm::drop_begin(operands, numInputs))) {
    result = {Holding::Part, {stagePlace}};
    result.shared = shared;
    if (!output.part.dims.empty() ||
        output.part.reduction == PartReduction::Sum)
      continue;
    result = {output.part.reduction == PartReduction::Norm ? Holding::PartNorm
                                                           : Holding::Candidate,
              {}};
    if (shared && result.holding == Holding::PartNorm)
      result.counted.push_back(*shared);
  }
}

} // namespace mf::program
