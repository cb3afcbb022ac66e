//===- DistributionTable.cpp - Numbered distributions ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "DistributionTable.h"
#include "mf/Program/Signatures/KernelChain.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

namespace mf::program {

DistributionTable::DistributionTable(const Program &program)
    : program(program), shared(program) {
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

llvm::SmallVector<uint32_t, 1>
DistributionTable::getInside(llvm::ArrayRef<std::string> cut,
                             llvm::StringRef name) const {
  const auto *found = llvm::find(cut, name);
  llvm::SmallVector<uint32_t, 1> inside;
  for (auto [number, axis] : llvm::enumerate(program.mesh.getAxes()))
    if (axis.size > 1 &&
        std::find(found + 1, cut.end(), axis.name) != cut.end())
      inside.push_back(static_cast<uint32_t>(number));
  return inside;
}

Content DistributionTable::getStatic(const StageProgram &stage,
                                     const Static &buffer) {
  Distribution distribution;
  for (const Axis &axis : program.mesh.getAxes()) {
    AxisHolding &holding = distribution.axes.emplace_back();
    if (axis.size == 1)
      continue;
    if (axis.name == stageAxis && belongsToParameter(buffer.role)) {
      holding = {Holding::Part, {stagePlace}};
      if (buffer.role != Role::Gradient && buffer.role != Role::Accumulated)
        holding.shared = shared.find(stage, buffer);
    }
    if (!buffer.slice)
      continue;
    int64_t place = 1;
    for (size_t dim = buffer.slice->axes.size(); dim-- > 0;) {
      place *= buffer.shape.dims[dim];
      if (llvm::is_contained(buffer.slice->axes[dim], axis.name)) {
        holding = {Holding::Part, {place}};
        holding.dims.push_back(dim);
        holding.inside = getInside(buffer.slice->axes[dim], axis.name);
      }
    }
  }
  distribution.setShape(buffer.shape.dims);
  if (buffer.slice && buffer.init &&
      buffer.init->kind == InitialValue::Kind::Coordinate)
    distribution.coordinateFactor = static_cast<int64_t>(buffer.init->value);
  return {{0, buffer.bytes, add(std::move(distribution))}};
}

void DistributionTable::beginSum(Content &content, uint32_t group) {
  for (ContentPiece &piece : content) {
    Distribution summand = get(piece.distribution);
    for (auto [held, axis] :
         llvm::zip_equal(summand.axes, program.mesh.getAxes()))
      if (axis.name == stageAxis && held.holding == Holding::Part &&
          !held.shared) {
        held = {Holding::Summand, {}};
        held.shared = group;
      }
    piece.distribution = add(std::move(summand));
  }
}

std::optional<int64_t> DistributionTable::count(uint32_t channel,
                                                uint32_t number, uint32_t group,
                                                int64_t stage) {
  const int64_t first =
      counted.try_emplace({channel, number, group}, stage).first->second;
  return first == stage ? std::nullopt : std::optional<int64_t>(first);
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
    merged->forgetShape();
    if (merged->firstPlace != next.firstPlace)
      merged->firstPlace.reset();
    if (merged->coordinateFactor != next.coordinateFactor)
      merged->coordinateFactor.reset();
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
  // Most buffers are written as a whole, so their memory is reused.
  if (content.empty() ||
      (begin <= content.front().begin && end >= content.back().end)) {
    content.assign(part.begin(), part.end());
    for (ContentPiece &piece : content) {
      piece.begin += offset;
      piece.end += offset;
    }
    return;
  }
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

static llvm::Expected<KernelDistribution>
getDistribution(const LaunchedKernel &kernel) {
  llvm::Expected<KernelParts> parts =
      parseParts(kernel.signature->getParts(kernel.spec), kernel.spec);
  if (!parts)
    return llvm::createStringError(kernel.spec.name + ": " +
                                   llvm::toString(parts.takeError()));
  return KernelDistribution(kernel, std::move(*parts));
}

llvm::Error DistributionTable::addMembers(const LaunchedKernel &kernel,
                                          Members &members) {
  auto add = [&](const LaunchedKernel &member,
                 std::vector<int64_t> operands) -> llvm::Error {
    llvm::Expected<KernelDistribution> distribution = getDistribution(member);
    if (!distribution)
      return distribution.takeError();
    members.push_back({std::move(*distribution), std::move(operands)});
    return llvm::Error::success();
  };
  const std::vector<KernelSpec> specs = getFusedSpecs(kernel.spec);
  if (specs.empty()) {
    std::vector<int64_t> operands(kernel.spec.inputs.size() +
                                  kernel.spec.outputs.size());
    std::iota(operands.begin(), operands.end(), 0);
    return add(kernel, std::move(operands));
  }
  const auto &given =
      std::get<std::vector<FusedKernel>>(kernel.spec.attributes.at("steps"));
  for (auto [number, spec] : llvm::enumerate(specs)) {
    LaunchedKernel member;
    member.spec = spec;
    member.signature = findKernelSignature(spec.name);
    std::vector<int64_t> operands = given[number].operands;
    // The last operand is the former contents of the result's memory, which the
    // kernel does not read.
    operands.push_back(static_cast<int64_t>(kernel.spec.inputs.size()));
    if (llvm::Error error = add(member, std::move(operands)))
      return error;
  }
  return llvm::Error::success();
}

std::optional<DistributionError>
DistributionTable::run(const Members &members,
                       std::vector<Distribution> &operands,
                       std::vector<Distribution> &outputs) {
  std::vector<Distribution> results;
  results.reserve(members.size());
  for (const Member &member : members) {
    llvm::SmallVector<Distribution *, 8> given;
    for (int64_t operand : member.operands)
      given.push_back(operand < 0 ? &results[~operand] : &operands[operand]);
    if (std::optional<DistributionError> error =
            member.distribution.apply(given, program.mesh.getAxes(), outputs)) {
      // If the operand is the result of a kernel, the error names the first
      // operand from which that was computed.
      int64_t operand = member.operands[error->operand];
      while (operand < 0)
        operand = members[~operand].operands.front();
      error->operand = operand;
      return error;
    }
    results.push_back(outputs.front());
  }
  return std::nullopt;
}

llvm::Expected<const DistributionTable::Outcome *>
DistributionTable::apply(uint32_t kernel, llvm::ArrayRef<uint32_t> operands) {
  std::vector<uint32_t> key = {kernel};
  llvm::append_range(key, operands);
  auto [known, isNew] = outcomes.try_emplace(std::move(key));
  if (!isNew)
    return &known->second;
  Members &members = kernels[kernel];
  if (members.empty())
    if (llvm::Error error = addMembers(program.kernels[kernel], members))
      return std::move(error);
  std::vector<Distribution> read, outputs;
  for (const uint32_t operand : operands)
    read.push_back(get(operand));
  Outcome &outcome = known->second;
  outcome.error = run(members, read, outputs);
  if (outcome.error)
    return &outcome;
  for (Distribution &operand : read)
    outcome.operands.push_back(add(std::move(operand)));
  for (Distribution &output : outputs)
    outcome.outputs.push_back(add(std::move(output)));
  return &outcome;
}

} // namespace mf::program
