//===- PublishedModel.cpp - Inputs of the published pipeline model --------===//
// SPDX-License-Identifier: Apache-2.0

#include "PublishedModel.h"
#include "mf/Pipeline/Policy.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"

using namespace mf;

namespace {

/// Numbers of all chunks, row by row: from one for all, one per stage, or a row
/// of stages per interleave.
std::vector<double> readNumbers(const llvm::json::Value &value, size_t rows,
                                size_t stages) {
  if (std::optional<double> number = value.getAsNumber())
    return std::vector<double>(rows * stages, *number);
  const llvm::json::Array &list = *value.getAsArray();
  std::vector<double> numbers;
  for (size_t row = 0; row < rows; ++row)
    for (const llvm::json::Value &number :
         list[0].getAsArray() ? *list[row].getAsArray() : list)
      numbers.push_back(*number.getAsNumber());
  return numbers;
}

std::string getScheduleName(const llvm::json::Object &arguments, size_t rows) {
  if (rows == 1)
    return "1f1b";
  return arguments.getString("method") == llvm::StringRef("vpp2")
             ? "interleaved-low-memory"
             : "interleaved";
}

} // namespace

llvm::json::Object readJson(llvm::StringRef path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file) {
    ADD_FAILURE() << path.str() << ": " << file.getError().message();
    return {};
  }
  llvm::json::Value value =
      llvm::cantFail(llvm::json::parse((*file)->getBuffer()));
  return std::move(*value.getAsObject());
}

llvm::Expected<PublishedModel>
readPublishedModel(const llvm::json::Object &arguments) {
  const llvm::json::Array &times = *arguments.getArray("block_time");
  const llvm::json::Array *firstRow = times[0].getAsArray();
  size_t rows = firstRow ? times.size() : 1;
  size_t stages = firstRow ? firstRow->size() : times.size();
  auto read = [&](const llvm::json::Value &value) {
    return readNumbers(value, rows, stages);
  };

  PublishedModel model;
  events::PipelineCosts &costs = model.costs;
  costs.forward = read(*arguments.get("block_time"));
  costs.backwardRatio = arguments.getNumber("backward_ratio").value_or(2.0);
  costs.transferTime = arguments.getNumber("comm_time").value_or(0.1);
  costs.constantMemory = arguments.getNumber("constant_mem").value_or(0.0);
  const llvm::json::Value *memory = arguments.get("block_mem");
  costs.activationMemory = memory ? read(*memory) : costs.forward;
  if (const llvm::json::Value *parameters = arguments.get("block_mem_par")) {
    costs.parameterMemory = read(*parameters);
    costs.parameterMemory.resize(stages);
  }
  const llvm::json::Value *recompute = arguments.get("layer_recompute");
  if (arguments.getBoolean("layer_recompute").value_or(false))
    costs.recompute = costs.forward;
  else if (recompute && !recompute->getAsBoolean())
    costs.recompute = read(*recompute);

  llvm::Expected<const schedule::Policy *> policy =
      schedule::findPolicy(getScheduleName(arguments, rows));
  if (!policy)
    return policy.takeError();
  llvm::Expected<schedule::Schedule> built = schedule::buildSchedule(
      **policy,
      (*policy)->place(stages, rows, *arguments.getInteger("micro_num")));
  if (!built)
    return built.takeError();
  model.schedule = std::move(*built);
  return model;
}
