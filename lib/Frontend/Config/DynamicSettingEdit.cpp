//===- DynamicSettingEdit.cpp - Settings in the other format --------------===//

#include "DynamicSettingEdit.h"
#include "DynamicConfig.h"
#include "SettingKeys.h"
#include "ValueEditor.h"

namespace mf {

namespace {

class DynamicSettingEditor {
public:
  DynamicSettingEditor(llvm::StringRef text, llvm::StringRef fileName,
                       const Node &root)
      : text(text), fileName(fileName), root(root),
        before(readTrainingConfig(root, diagnostics)) {}

  llvm::Expected<std::string> apply(const MemorySettings &settings);

private:
  void refuse(const MemorySettings &settings, const MemorySettings &old);
  void setSizes(const MemorySettings &settings, const MemorySettings &old);
  void setStages(const MemorySettings &settings);
  void setRecompute(const StageTable &table, const TrainingConfig &config);
  std::string edit();
  TrainingConfig readEdited();

  llvm::StringRef text;
  llvm::StringRef fileName;
  const Node &root;
  DiagnosticList diagnostics;
  TrainingConfig before;
  SettingValue keys;
};

} // namespace

/// Settings that are given and not as they were.
template <typename Value>
static bool isChanged(const std::optional<Value> &wanted,
                      const std::optional<Value> &old) {
  return wanted && (!old || *wanted != *old);
}

template <typename Value>
static bool isEmptyList(const std::optional<std::vector<Value>> &list) {
  return !list || list->empty();
}

void DynamicSettingEditor::refuse(const MemorySettings &settings,
                                  const MemorySettings &old) {
  auto reject = [&](llvm::StringRef what) {
    diagnostics.error({fileName.str(), 0, 0},
                      "the YAML of the dynamic graph has no words for " + what +
                          "; expected layers that are recomputed as a whole, "
                          "or a YAML of the static graph, which mf-translate "
                          "--convert-yaml makes");
  };
  auto refuseList = [&](const auto &wanted, const auto &current,
                        llvm::StringRef what) {
    if (isChanged(wanted, current) &&
        !(isEmptyList(wanted) && isEmptyList(current)))
      reject(what);
  };
  refuseList(settings.selectRecompute, old.selectRecompute,
             "operators to recompute");
  refuseList(settings.selectCommRecompute, old.selectCommRecompute,
             "collectives to recompute");
  refuseList(settings.swap, old.swap, "kernels before a swapped value is read");
  if (isChanged(settings.scheduler, old.scheduler) &&
      *settings.scheduler != "1f1b" && *settings.scheduler != "gpipe")
    reject("pipeline_scheduler " + *settings.scheduler);
}

void DynamicSettingEditor::setSizes(const MemorySettings &settings,
                                    const MemorySettings &old) {
  auto set = [&](const std::optional<int64_t> &wanted,
                 const std::optional<int64_t> &current, llvm::StringRef path) {
    if (isChanged(wanted, current))
      keys.set(path, SettingValue::fromInt(*wanted));
  };
  set(settings.stages, old.stages, "parallelism.pipeline_parallel");
  set(settings.modelParallel, old.modelParallel, "parallelism.tensor_parallel");
  set(settings.contextParallel, old.contextParallel,
      "parallelism.context_parallel");
  set(settings.expertParallel, old.expertParallel,
      "parallelism.expert_parallel");
  set(settings.interleave, old.interleave,
      "parallelism.pipeline_parallel_interleave_num");
  set(settings.batchSize, old.batchSize, "training.local_batch_size");
  if (isChanged(settings.scheduler, old.scheduler))
    keys.set("parallelism.pipeline_parallel_schedule",
             SettingValue::fromName(*settings.scheduler));
  if (isChanged(settings.modelParallel, old.modelParallel) &&
      *settings.modelParallel > 1)
    keys.set("parallelism.sequence_parallel", SettingValue::fromBool(true));
  const int64_t stages = settings.stages.value_or(old.stages.value_or(1));
  const auto &batches =
      stages > 1 ? settings.microBatches : settings.gradientAccumulation;
  const auto &current =
      stages > 1 ? old.microBatches : old.gradientAccumulation;
  if (isChanged(batches, current) ||
      isChanged(settings.batchSize, old.batchSize))
    keys.set("training.global_batch_size",
             SettingValue::fromInt(
                 batches.value_or(current.value_or(1)) *
                 settings.batchSize.value_or(old.batchSize.value_or(1)) *
                 settings.dataParallel.value_or(old.dataParallel.value_or(1))));
}

/// Layers of multi-token prediction are behind the last of those that ranges
/// name.
void DynamicSettingEditor::setStages(const MemorySettings &settings) {
  const DynamicDepth depth = readDynamicDepth(before.model.config);
  const StageTable &offset = *settings.offset;
  const auto chunks = static_cast<int64_t>(offset.size());
  const auto stages =
      static_cast<int64_t>(offset.empty() ? 0 : offset.front().size());
  if (stages < 2)
    return;
  const int64_t average = depth.getAll() / (stages * chunks);
  std::vector<std::string> rows(static_cast<size_t>(stages));
  int64_t next = 0;
  for (const std::vector<int64_t> &row : offset)
    for (size_t stage = 0; stage < rows.size(); ++stage) {
      const int64_t first = next;
      next = std::min(next + average + row[stage], depth.layers);
      if (next <= first) {
        diagnostics.error({fileName.str(), 0, 0},
                          "the YAML of the dynamic graph has no words for a "
                          "stage without layers");
        return;
      }
      rows[stage] += (rows[stage].empty() ? "" : ", ") + std::to_string(first);
      if (next - 1 > first)
        rows[stage] += "-" + std::to_string(next - 1);
    }
  SettingValue list = SettingValue::makeList();
  for (const std::string &row : rows)
    list.elements.push_back(SettingValue::fromPattern(row));
  keys.set("parallelism.pipeline_parallel_layers_per_stage", std::move(list));
}

void DynamicSettingEditor::setRecompute(const StageTable &table,
                                        const TrainingConfig &config) {
  std::optional<StageMap> stages = makeStageMap(config, diagnostics);
  if (!stages)
    return;
  const std::vector<int64_t> layers = getCoveredLayers(*stages, table);
  if (layers.empty()) {
    keys.set("recompute.mode", SettingValue::fromPattern("None"));
    return;
  }
  SettingValue list = SettingValue::makeList();
  for (size_t first = 0; first < layers.size();) {
    size_t last = first;
    while (last + 1 < layers.size() && layers[last + 1] == layers[last] + 1)
      ++last;
    std::string range = std::to_string(layers[first]);
    if (last > first)
      range += "-" + std::to_string(layers[last]);
    list.elements.push_back(SettingValue::fromPattern(range));
    first = last + 1;
  }
  // With mode select the list counts, too.
  if (root["recompute"]["mode"].getText() != "select")
    keys.set("recompute.mode", SettingValue::fromName("full"));
  keys.set("recompute.full_recompute_layer", std::move(list));
}

std::string DynamicSettingEditor::edit() {
  std::optional<SpanNode> span = findYamlSpans(text);
  if (!span) {
    diagnostics.error({fileName.str(), 0, 0},
                      "cannot tell where the values of this YAML end; expected "
                      "UTF-8 text in the usual layout");
    return text.str();
  }
  ValueEditor editor(text, diagnostics);
  editor.editDocument(*span, root, keys);
  return diagnostics.hasErrors() ? text.str() : editor.apply();
}

TrainingConfig DynamicSettingEditor::readEdited() {
  if (keys.entries.empty() || diagnostics.hasErrors())
    return before;
  const std::string edited = edit();
  DiagnosticList problems;
  TrainingConfig config = parseTrainingConfig(edited, fileName, problems);
  for (const Diagnostic &problem : problems.getAll())
    if (problem.severity == Severity::Error)
      diagnostics.error(problem.location,
                        "with the new settings: " + problem.message);
  return config;
}

llvm::Expected<std::string>
DynamicSettingEditor::apply(const MemorySettings &settings) {
  if (diagnostics.hasErrors())
    return makeSettingError(diagnostics);
  llvm::Expected<MemorySettings> old = readSettings(before);
  if (!old)
    return old.takeError();
  refuse(settings, *old);
  setSizes(settings, *old);
  if (isChanged(settings.offset, old->offset))
    setStages(settings);
  if (isChanged(settings.recompute, old->recompute))
    setRecompute(*settings.recompute, readEdited());
  if (keys.entries.empty() && !diagnostics.hasErrors())
    return text.str();
  readEdited();
  const std::string edited = edit();
  if (diagnostics.hasErrors())
    return makeSettingError(diagnostics);
  return edited;
}

llvm::Expected<std::string>
applyDynamicSettings(llvm::StringRef yaml, llvm::StringRef fileName,
                     const Node &root, const MemorySettings &settings) {
  return DynamicSettingEditor(yaml, fileName, root).apply(settings);
}

} // namespace mf
