//===- Treatments.cpp - Ways to treat layers, and their YAML --------------===//

#include "planner/Treatments.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <map>

using namespace mf;
using namespace mf::planner;

/// The kind that most layers are of.
static size_t findMainKind(llvm::ArrayRef<ModelLayer> layers, size_t numKinds) {
  std::vector<int64_t> counts(numKinds);
  for (const ModelLayer &layer : layers)
    ++counts[layer.kind];
  return static_cast<size_t>(std::max_element(counts.begin(), counts.end()) -
                             counts.begin());
}

static LayerTreatment
makeTreatment(llvm::StringRef name, llvm::ArrayRef<LayerGraph> graphs,
              llvm::function_ref<RecomputeChoice(const LayerGraph &)> choose) {
  LayerTreatment treatment;
  treatment.name = name.str();
  for (const LayerGraph &graph : graphs) {
    const RecomputeChoice choice = choose(graph);
    std::set<std::string> operators, communication;
    for (size_t index = 0; index < graph.operators.size(); ++index)
      if (choice.isRepeated[index])
        (graph.operators[index].isCommunication ? communication : operators)
            .insert(graph.operators[index].name);
    treatment.operators.push_back(std::move(operators));
    treatment.communication.push_back(std::move(communication));
  }
  return treatment;
}

std::vector<LayerTreatment>
planner::makeTreatments(llvm::ArrayRef<LayerGraph> graphs,
                        llvm::ArrayRef<ModelLayer> layers, size_t count) {
  const std::vector<RecomputeChoice> choices =
      findChoices(graphs[findMainKind(layers, graphs.size())], count);
  std::vector<LayerTreatment> treatments;
  auto chooseNothing = [](const LayerGraph &graph) {
    RecomputeChoice choice;
    choice.isRepeated.resize(graph.operators.size());
    return choice;
  };
  treatments.push_back(makeTreatment("full", graphs, chooseNothing));
  treatments.back().isFull = true;
  for (size_t index = choices.size(); index-- > 0;)
    treatments.push_back(makeTreatment(
        "select " + std::to_string(index + 1), graphs,
        [&](const LayerGraph &graph) {
          return chooseRecompute(graph, choices[index].secondsPerByte);
        }));
  treatments.push_back(makeTreatment("none", graphs, chooseNothing));
  return treatments;
}

//===----------------------------------------------------------------------===//
// Settings
//===----------------------------------------------------------------------===//

namespace {

/// Makes tables by chunk row and position out of questions about layers.
class TableMaker {
public:
  TableMaker(const Assignment &assignment, int64_t stages)
      : assignment(assignment), stages(static_cast<size_t>(stages)) {}

  /// For each chunk the number of its first layers up to the last one that
  /// `isCovered`.
  StageTable make(llvm::function_ref<bool(size_t)> isCovered) const {
    StageTable table;
    size_t layer = 0;
    for (size_t chunk = 0; chunk < assignment.layersOfChunk.size(); ++chunk) {
      if (chunk % stages == 0)
        table.emplace_back();
      int64_t covered = 0;
      for (int64_t index = 0; index < assignment.layersOfChunk[chunk];
           ++index, ++layer)
        if (isCovered(layer))
          covered = index + 1;
      table.back().push_back(covered);
    }
    return table;
  }

private:
  const Assignment &assignment;
  size_t stages;
};

} // namespace

static StageTable makeOffset(const Assignment &assignment, int64_t stages,
                             size_t numLayers) {
  const auto base =
      static_cast<int64_t>(numLayers / assignment.layersOfChunk.size());
  StageTable table;
  for (size_t chunk = 0; chunk < assignment.layersOfChunk.size(); ++chunk) {
    if (chunk % static_cast<size_t>(stages) == 0)
      table.emplace_back();
    table.back().push_back(assignment.layersOfChunk[chunk] - base);
  }
  return table;
}

/// A pattern for one or several operators of the same Cell: `a\.b\.(c|d)`.
static std::string makePattern(llvm::StringRef cell,
                               llvm::ArrayRef<llvm::StringRef> names) {
  std::string pattern;
  for (llvm::StringRef part : llvm::split(cell, '.'))
    if (!part.empty())
      pattern += part.str() + "\\.";
  if (names.size() == 1)
    return pattern + names.front().str();
  return pattern + "(" + llvm::join(names, "|") + ")";
}

/// Patterns with their tables; operators of one Cell with the same table share
/// one.
static std::vector<OperatorCounts>
makeCounts(const std::map<std::string, StageTable> &tables) {
  std::map<std::pair<llvm::StringRef, StageTable>, std::vector<llvm::StringRef>>
      groups;
  for (const auto &[name, table] : tables) {
    const auto [cell, leaf] = llvm::StringRef(name).rsplit('.');
    const bool hasCell = !leaf.empty();
    groups[{hasCell ? cell : llvm::StringRef(), table}].push_back(
        hasCell ? leaf : cell);
  }
  std::vector<OperatorCounts> counts;
  for (const auto &[key, names] : groups)
    counts.push_back({makePattern(key.first, names), key.second});
  return counts;
}

MemorySettings
planner::makeSettings(const Assignment &assignment, int64_t stages,
                      llvm::ArrayRef<ModelLayer> layers,
                      llvm::ArrayRef<LayerTreatment> treatments) {
  using Sets = std::vector<std::set<std::string>> LayerTreatment::*;
  const TableMaker tables(assignment, stages);
  auto getTreatment = [&](size_t layer) -> const LayerTreatment & {
    return treatments[assignment.treatments[layer]];
  };
  auto makeAll = [&](Sets sets) {
    std::set<std::string> names;
    for (size_t layer = 0; layer < layers.size(); ++layer) {
      const std::set<std::string> &own =
          (getTreatment(layer).*sets)[layers[layer].kind];
      names.insert(own.begin(), own.end());
    }
    std::map<std::string, StageTable> byName;
    for (const std::string &name : names)
      byName[name] = tables.make([&](size_t layer) {
        return (getTreatment(layer).*sets)[layers[layer].kind].count(name) > 0;
      });
    return makeCounts(byName);
  };
  MemorySettings settings;
  settings.offset = makeOffset(assignment, stages, layers.size());
  settings.recompute =
      tables.make([&](size_t layer) { return getTreatment(layer).isFull; });
  settings.selectRecompute = makeAll(&LayerTreatment::operators);
  settings.selectCommRecompute = makeAll(&LayerTreatment::communication);
  return settings;
}
