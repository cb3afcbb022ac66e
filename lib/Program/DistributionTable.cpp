//===- DistributionTable.cpp - Distributions by number --------------------===//

#include "DistributionTable.h"
#include "llvm/ADT/STLExtras.h"

namespace mf::program {

DistributionTable::DistributionTable(const Program &program)
    : program(program) {
  Distribution zeros;
  zeros.axes.assign(program.mesh.getAxes().size(), {Holding::Zero, {}});
  add(std::move(zeros));
}

uint32_t DistributionTable::add(Distribution distribution) {
  auto [found, isNew] =
      numbers.try_emplace(std::move(distribution), numbered.size());
  if (isNew)
    numbered.push_back(&found->first);
  return found->second;
}

/// What belongs to a parameter is a stage's own.
static bool isOfStage(Role role) {
  switch (role) {
  case Role::Parameter:
  case Role::Gradient:
  case Role::FirstMoment:
  case Role::SecondMoment:
  case Role::Accumulated:
  case Role::Gathered:
    return true;
  default:
    return false;
  }
}

Content DistributionTable::getStatic(const Static &buffer) {
  Distribution distribution;
  for (const Axis &axis : program.mesh.getAxes()) {
    AxisHolding &holding = distribution.axes.emplace_back();
    if (axis.size == 1)
      continue;
    if (axis.name == stageAxis && isOfStage(buffer.role))
      holding = {Holding::Part, {stagePlace}};
    if (!buffer.slice)
      continue;
    int64_t place = 1;
    for (size_t dim = buffer.slice->axes.size(); dim-- > 0;) {
      place *= buffer.shape.dims[dim];
      if (llvm::is_contained(buffer.slice->axes[dim], axis.name))
        holding = {Holding::Part, {place}};
    }
  }
  return {{0, buffer.bytes, add(std::move(distribution))}};
}

//===----------------------------------------------------------------------===//
// Contents
//===----------------------------------------------------------------------===//

uint32_t DistributionTable::read(const Content &content, int64_t offset,
                                 int64_t bytes) {
  std::optional<uint32_t> found;
  std::optional<Distribution> merged;
  for (const ContentPiece &piece : content) {
    if (piece.end <= offset || piece.begin >= offset + bytes ||
        found == piece.distribution)
      continue;
    if (!found) {
      found = piece.distribution;
      continue;
    }
    const Distribution &next = get(piece.distribution);
    if (!merged)
      merged = get(*found);
    for (auto [axis, other] : llvm::zip_equal(merged->axes, next.axes))
      axis = merge(axis, other);
    if (merged->firstPlace != next.firstPlace)
      merged->firstPlace.reset();
    found = add(*merged);
  }
  return found.value_or(zero);
}

void DistributionTable::write(Content &content, int64_t offset, int64_t bytes,
                              uint32_t distribution) {
  insert(content, offset, {{0, bytes, distribution}});
}

Content DistributionTable::extract(const Content &content, int64_t offset,
                                   int64_t bytes) const {
  Content part;
  for (const ContentPiece &piece : content) {
    const int64_t begin = std::max(piece.begin, offset);
    const int64_t end = std::min(piece.end, offset + bytes);
    if (begin < end)
      part.push_back({begin - offset, end - offset, piece.distribution});
  }
  return part;
}

void DistributionTable::insert(Content &content, int64_t offset,
                               const Content &part) {
  if (part.empty())
    return;
  const int64_t begin = offset + part.front().begin;
  const int64_t end = offset + part.back().end;
  Content result;
  for (const ContentPiece &piece : content)
    if (piece.begin < begin)
      result.push_back(
          {piece.begin, std::min(piece.end, begin), piece.distribution});
  for (const ContentPiece &piece : part)
    result.push_back(
        {offset + piece.begin, offset + piece.end, piece.distribution});
  for (const ContentPiece &piece : content)
    if (piece.end > end)
      result.push_back(
          {std::max(piece.begin, end), piece.end, piece.distribution});
  content = std::move(result);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

llvm::Expected<const DistributionTable::Outcome *>
DistributionTable::apply(uint32_t kernel, llvm::ArrayRef<uint32_t> operands) {
  std::vector<uint32_t> key = {kernel};
  llvm::append_range(key, operands);
  auto [known, isNew] = outcomes.try_emplace(std::move(key));
  if (!isNew)
    return &known->second;
  const LaunchedKernel &launched = program.kernels[kernel];
  auto found = kernels.find(kernel);
  if (found == kernels.end()) {
    llvm::Expected<KernelParts> parts =
        parseParts(launched.signature->getParts(launched.spec), launched.spec);
    if (!parts)
      return llvm::createStringError(launched.spec.name + ": " +
                                     llvm::toString(parts.takeError()));
    found = kernels
                .try_emplace(kernel,
                             KernelDistribution(launched, std::move(*parts)))
                .first;
  }
  llvm::SmallVector<const Distribution *, 8> given;
  for (uint32_t operand : operands)
    given.push_back(&get(operand));
  std::vector<Distribution> outputs;
  known->second.error =
      found->second.apply(given, program.mesh.getAxes(), outputs);
  if (!known->second.error)
    for (Distribution &output : outputs)
      known->second.outputs.push_back(add(std::move(output)));
  return &known->second;
}

} // namespace mf::program
