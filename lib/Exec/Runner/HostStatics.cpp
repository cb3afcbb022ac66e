//===- HostStatics.cpp - Host values of a step on ranks -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "HostStatics.h"
#include "mf/Exec/Ranks/SliceRuns.h"
#include "mf/Program/LocatedError.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstring>

using namespace mf::program;
using namespace mf::ranks;

namespace mf::runner {

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

/// Writes the elements of a step to the statics of a role. Statics follow each
/// other: each takes as many elements as it has, or its slice of them.
static llvm::Error writeElements(const Mesh &mesh, RankExecutor &rank,
                                 Role role, llvm::ArrayRef<int32_t> values,
                                 llvm::StringRef what) {
  size_t position = 0;
  bool isUsed = false;
  const std::vector<Static> &statics = rank.getStage().statics;
  for (uint32_t i = 0; i < statics.size(); ++i) {
    if (statics[i].role != role || statics[i].space != Space::Host)
      continue;
    isUsed = true;
    const auto count =
        static_cast<size_t>(ranks::getWholeShape(statics[i]).getNumElements());
    if (getBytes(statics[i].shape.type) != sizeof(int32_t))
      return llvm::make_error<LocatedError>(
          statics[i].location, llvm::Twine("expected ") + what + " as i32");
    if (count > values.size() - position)
      return llvm::make_error<LocatedError>(
          statics[i].location,
          llvm::formatv("expected no more than {0} {1} in a step",
                        values.size(), what));
    const llvm::ArrayRef<int32_t> whole = values.slice(position, count);
    SliceRuns(mesh, statics[i], rank.getRank())
        .take({reinterpret_cast<const uint8_t *>(whole.data()),
               count * sizeof(int32_t)},
              rank.getStatic(i), sizeof(int32_t));
    position += count;
  }
  if (isUsed && position != values.size())
    return llvm::make_error<LocatedError>(
        rank.getStage().location,
        llvm::formatv("has room for {0} of the {1} {2} of a step", position,
                      values.size(), what));
  return llvm::Error::success();
}

/// Writes a scalar, of which a static may have several copies.
static void writeScalar(llvm::MutableArrayRef<uint8_t> bytes, float value) {
  for (size_t i = 0; i + sizeof(float) <= bytes.size(); i += sizeof(float))
    std::memcpy(bytes.data() + i, &value, sizeof(float));
}

/// Writes as many rates as the static has elements.
static void writeRates(llvm::MutableArrayRef<uint8_t> bytes,
                       llvm::ArrayRef<float> rates) {
  std::memcpy(bytes.data(), rates.data(),
              std::min(bytes.size(), rates.size() * sizeof(float)));
}

/// Writes one draw for each micro-batch, in their order.
static llvm::Error writeDraws(const Static &draws,
                              llvm::MutableArrayRef<uint8_t> bytes,
                              const StepInput &input) {
  constexpr size_t drawBytes = sizeof(getDraw(input, 0));
  if (draws.shape.type != DType::I64 || bytes.size() % drawBytes != 0)
    return llvm::make_error<LocatedError>(
        draws.location, "expected draws as three i64 for each micro-batch");
  for (size_t at = 0; at < bytes.size(); at += drawBytes) {
    const auto draw = getDraw(input, static_cast<int64_t>(at / drawBytes));
    std::memcpy(bytes.data() + at, draw.data(), drawBytes);
  }
  return llvm::Error::success();
}

llvm::Error writeInput(const Program &program, RankExecutor &rank,
                       const StepInput &input) {
  if (llvm::Error error = writeElements(program.mesh, rank, Role::Tokens,
                                        input.tokens, "tokens"))
    return error;
  if (llvm::Error error = writeElements(program.mesh, rank, Role::Labels,
                                        input.labels, "labels"))
    return error;
  const std::vector<Static> &statics = rank.getStage().statics;
  for (uint32_t i = 0; i < statics.size(); ++i) {
    if (statics[i].space != Space::Host)
      continue;
    if (statics[i].role == Role::LearningRate)
      writeRates(rank.getStatic(i), input.learningRates);
    else if (statics[i].role == Role::StepNumber)
      writeScalar(rank.getStatic(i), static_cast<float>(input.stepNumber));
    else if (statics[i].role == Role::LossScale)
      writeScalar(rank.getStatic(i), input.lossScale);
    else if (statics[i].role == Role::Draw)
      if (llvm::Error error = writeDraws(statics[i], rank.getStatic(i), input))
        return error;
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

StepReports readReports(llvm::ArrayRef<std::unique_ptr<RankExecutor>> ranks) {
  StepReports reports;
  std::vector<float> values;
  for (const std::unique_ptr<RankExecutor> &rank : ranks) {
    const StageProgram &stage = rank->getStage();
    for (uint32_t i = 0; i < stage.statics.size(); ++i) {
      const Static &buffer = stage.statics[i];
      if (buffer.role != Role::Report || buffer.space != Space::Host ||
          buffer.shape.type != DType::F32)
        continue;
      llvm::MutableArrayRef<uint8_t> bytes = rank->getStatic(i);
      values.resize(bytes.size() / sizeof(float));
      std::memcpy(values.data(), bytes.data(), bytes.size());
      reports.add(stage.stage, buffer.of, values);
    }
  }
  return reports;
}

} // namespace mf::runner
