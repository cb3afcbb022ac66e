//===- Recipes.cpp - Ways to save memory ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Recipes.h"
#include "mf/Frontend/Config/SettingEdit.h"
#include "mf/Support/DiagnosticError.h"
#include <numeric>

using llvm::Expected;
using llvm::StringRef;

namespace mf::tools {

namespace {

/// Writes the recipes for one YAML.
class RecipeWriter {
public:
  RecipeWriter(StringRef yaml, StringRef fileName, StageTable layers,
               int64_t numLayers, bool isDynamic)
      : yaml(yaml), fileName(fileName), layers(std::move(layers)),
        numLayers(numLayers), isDynamic(isDynamic) {}

  std::vector<Recipe> write() const;

private:
  /// Returns the number of layers of each mini stage that `count` gives for its
  /// column and its layers.
  StageTable
  makeTable(llvm::function_ref<int64_t(int64_t, int64_t)> count) const;
  StageTable makeNone() const {
    return makeTable([](int64_t, int64_t) { return 0; });
  }
  MemorySettings keepAll() const;
  MemorySettings recompute(StageTable table) const;
  /// Returns the YAML that keeps everything but has these keys True.
  Expected<std::string> select(llvm::ArrayRef<StringRef> keys) const;
  void add(StringRef name, const MemorySettings &settings,
           std::vector<Recipe> &recipes) const {
    recipes.push_back({name.str(), applySettings(yaml, fileName, settings)});
  }
  void addSelections(std::vector<Recipe> &recipes) const;

  StringRef yaml, fileName;
  /// The layers of each mini stage.
  const StageTable layers;
  const int64_t numLayers;
  const bool isDynamic;
};

} // namespace

StageTable RecipeWriter::makeTable(
    llvm::function_ref<int64_t(int64_t, int64_t)> count) const {
  StageTable table = layers;
  for (std::vector<int64_t> &row : table)
    for (size_t stage = 0; stage < row.size(); ++stage)
      row[stage] = count(static_cast<int64_t>(stage), row[stage]);
  return table;
}

MemorySettings RecipeWriter::keepAll() const {
  MemorySettings settings;
  settings.recompute = makeNone();
  settings.selectRecompute.emplace();
  settings.selectCommRecompute.emplace();
  settings.swap.emplace();
  return settings;
}

MemorySettings RecipeWriter::recompute(StageTable table) const {
  MemorySettings settings = keepAll();
  settings.recompute = std::move(table);
  return settings;
}

Expected<std::string>
RecipeWriter::select(llvm::ArrayRef<StringRef> keys) const {
  Expected<std::string> kept = applySettings(yaml, fileName, keepAll());
  if (!kept)
    return kept;
  std::vector<KeyChange> changes;
  for (const StringRef key : keys)
    changes.push_back({"recompute_config." + key.str(), true});
  return applyKeyChanges(*kept, fileName, changes);
}

/// The static graph has presets of operators. The dynamic graph recomputes
/// whole modules.
void RecipeWriter::addSelections(std::vector<Recipe> &recipes) const {
  if (isDynamic) {
    MemorySettings settings = keepAll();
    settings.selectRecompute->push_back({"mlp", layers});
    add("recompute the feed-forward", settings, recipes);
    return;
  }
  const StringRef activations = "select_recompute",
                  communication = "select_comm_recompute";
  recipes.push_back(
      {"recompute activations of the feed-forward", select({activations})});
  recipes.push_back(
      {"recompute norms and gathers of the sequence", select({communication})});
  recipes.push_back({"both", select({activations, communication})});
}

std::vector<Recipe> RecipeWriter::write() const {
  std::vector<Recipe> recipes;
  add("keep everything", keepAll(), recipes);
  addSelections(recipes);
  const auto stages = static_cast<int64_t>(layers.front().size());
  // Schedules such as 1F1B keep more micro-batches on earlier stages.
  if (stages > 1)
    add("recompute all layers of stage 0, fewer of each next",
        recompute(makeTable([&](int64_t stage, int64_t count) {
          return count * (stages - stage - 1) / (stages - 1);
        })),
        recipes);
  add("recompute half of the layers",
      recompute(
          makeTable([](int64_t stage, int64_t count) { return count / 2; })),
      recipes);
  add("recompute all layers", recompute(layers), recipes);
  MemorySettings swap = keepAll();
  std::vector<int64_t> all(static_cast<size_t>(numLayers));
  std::iota(all.begin(), all.end(), 0);
  // The last layer of the dynamic graph has none behind it to be hidden by.
  if (isDynamic && !all.empty())
    all.pop_back();
  swap.swap->push_back(
      {isDynamic ? "" : R"(.*(attention|feed_forward|mlp)\..*)", 1, all});
  add(isDynamic ? "swap all layers but the last"
                : "swap what attention and feed-forward keep",
      swap, recipes);
  return recipes;
}

Expected<std::vector<Recipe>> makeRecipes(const planner::CompilerInput &input,
                                          StringRef yaml) {
  DiagnosticList diagnostics;
  const TrainingConfig config =
      parseTrainingConfig(yaml, input.fileName, diagnostics);
  if (diagnostics.hasErrors())
    return toError(std::move(diagnostics));
  Expected<MemorySettings> given = readSettings(config);
  if (!given)
    return given.takeError();
  StageTable layers = *given->offset;
  int64_t numMiniStages = 0;
  for (const std::vector<int64_t> &row : layers)
    numMiniStages += static_cast<int64_t>(row.size());
  Expected<std::vector<planner::ModelLayer>> found =
      planner::readLayers(input, yaml);
  if (!found)
    return found.takeError();
  const auto numLayers = static_cast<int64_t>(found->size());
  for (std::vector<int64_t> &row : layers)
    for (int64_t &count : row)
      count += numLayers / numMiniStages;
  return RecipeWriter(yaml, input.fileName, std::move(layers), numLayers,
                      config.isOfDynamicGraph())
      .write();
}

} // namespace mf::tools
