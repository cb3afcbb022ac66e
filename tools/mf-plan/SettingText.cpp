//===- SettingText.cpp - Memory settings as text --------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "SettingText.h"
#include "llvm/ADT/STLExtras.h"

using llvm::json::Array;
using llvm::json::Object;

namespace mf::tools {

using NamedValues = std::vector<std::pair<llvm::StringRef, llvm::json::Value>>;

static llvm::json::Value toJson(const StageTable &table) {
  if (table.size() == 1)
    return Array(table.front());
  Array rows;
  for (const std::vector<int64_t> &row : table)
    rows.push_back(Array(row));
  return rows;
}

static llvm::json::Value toJson(const std::vector<OperatorCounts> &operators) {
  Object patterns;
  for (const OperatorCounts &counts : operators)
    patterns[counts.pattern] = toJson(counts.layers);
  return patterns;
}

static llvm::json::Value toJson(const std::vector<SwapItem> &items) {
  Array array;
  for (const SwapItem &item : items) {
    Object object{{"backward_prefetch", item.backwardPrefetch},
                  {"layers", Array(item.layers)}};
    if (!item.operatorName.empty())
      object["op_name"] = item.operatorName;
    array.push_back(std::move(object));
  }
  return array;
}

/// Lists the settings in the order of the keys in YAMLs.
static NamedValues listSettings(const MemorySettings &settings) {
  NamedValues values;
  auto add = [&](llvm::StringRef name, const auto &value) {
    if (value)
      values.emplace_back(name, *value);
  };
  auto addTable = [&](llvm::StringRef name, const auto &value) {
    if (value)
      values.emplace_back(name, toJson(*value));
  };
  add("data_parallel", settings.dataParallel);
  add("model_parallel", settings.modelParallel);
  add("context_parallel", settings.contextParallel);
  add("expert_parallel", settings.expertParallel);
  add("pipeline_stage", settings.stages);
  add("micro_batch_num", settings.microBatches);
  add("batch_size", settings.batchSize);
  add("gradient_accumulation_steps", settings.gradientAccumulation);
  add("use_seq_parallel", settings.sequenceParallel);
  add("enable_parallel_optimizer", settings.optimizerSharding);
  add("pipeline_scheduler", settings.scheduler);
  add("pp_interleave_num", settings.interleave);
  add("less_memory_interleave", settings.lessMemoryInterleave);
  addTable("offset", settings.offset);
  addTable("recompute", settings.recompute);
  addTable("select_recompute", settings.selectRecompute);
  addTable("select_comm_recompute", settings.selectCommRecompute);
  addTable("swap", settings.swap);
  return values;
}

Object writeSettings(const MemorySettings &settings) {
  Object object;
  for (auto &[name, value] : listSettings(settings))
    object[name] = std::move(value);
  return object;
}

} // namespace mf::tools
