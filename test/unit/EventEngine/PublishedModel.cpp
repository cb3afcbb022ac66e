//===- PublishedModel.cpp - Inputs of the published pipeline model --------===//

#include "PublishedModel.h"
#include "mf/Pipeline/Policy.h"

using namespace mf;

namespace {

/// Numbers of all chunks, row by row: from one for all, one per stage, or a row
/// of stages per interleave.
std::vector<double> readNumbers(const Json &value, size_t rows, size_t stages) {
  if (value.is_number())
    return std::vector<double>(rows * stages, value.get<double>());
  std::vector<double> numbers;
  for (size_t row = 0; row < rows; ++row) {
    const Json &list = value.at(0).is_array() ? value.at(row) : value;
    for (const Json &number : list)
      numbers.push_back(number.get<double>());
  }
  return numbers;
}

std::string getScheduleName(const Json &arguments, size_t rows) {
  if (rows == 1)
    return "1f1b";
  return arguments.value("method", "vpp") == "vpp2" ? "interleaved-low-memory"
                                                    : "interleaved";
}

} // namespace

llvm::Expected<PublishedModel> readPublishedModel(const Json &arguments) {
  const Json &times = arguments.at("block_time");
  size_t rows = times.at(0).is_array() ? times.size() : 1;
  size_t stages = times.at(0).is_array() ? times.at(0).size() : times.size();
  auto read = [&](const Json &value) {
    return readNumbers(value, rows, stages);
  };

  PublishedModel model;
  sim::PipelineCosts &costs = model.costs;
  costs.forward = read(times);
  costs.backwardRatio = arguments.value("backward_ratio", 2.0);
  costs.transferTime = arguments.value("comm_time", 0.1);
  costs.constantMemory = arguments.value("constant_mem", 0.0);
  costs.activationMemory = read(arguments.value("block_mem", times));
  if (arguments.contains("block_mem_par")) {
    costs.parameterMemory = read(arguments["block_mem_par"]);
    costs.parameterMemory.resize(stages);
  }
  Json recompute = arguments.value("layer_recompute", Json(false));
  if (!recompute.is_boolean())
    costs.recompute = read(recompute);
  else if (recompute.get<bool>())
    costs.recompute = costs.forward;

  llvm::Expected<const schedule::Policy *> policy =
      schedule::findPolicy(getScheduleName(arguments, rows));
  if (!policy)
    return policy.takeError();
  llvm::Expected<schedule::Schedule> built = schedule::buildSchedule(
      **policy,
      (*policy)->place(stages, rows, arguments.at("micro_num").get<int64_t>()));
  if (!built)
    return built.takeError();
  model.schedule = std::move(*built);
  return model;
}
