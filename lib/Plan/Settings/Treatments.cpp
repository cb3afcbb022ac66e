//===- Treatments.cpp - Ways to treat layers, and their YAML --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "lib/Plan/Settings/Treatments.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

using namespace mf;
using namespace mf::planner;

/// Returns the kind of most layers.
static size_t findMainKind(llvm::ArrayRef<ModelLayer> layers, size_t numKinds) {
  std::vector<int64_t> counts(numKinds);
  for (const ModelLayer &layer : layers)
    ++counts[layer.kind];
  return static_cast<size_t>(std::max_element(counts.begin(), counts.end()) -
                             counts.begin());
}

LayerTreatment planner::makeNoTreatment(size_t numKinds) {
  LayerTreatment none;
  none.name = "none";
  none.operators.resize(numKinds);
  none.communication.resize(numKinds);
  none.copyOut.resize(numKinds);
  none.copyIn.resize(numKinds);
  return none;
}

/// Returns the bytes of a layer that backward needs, and the seconds of its
/// forward.
static std::pair<double, double> sumLayer(const LayerGraph &graph) {
  double bytes = 0, seconds = 0;
  for (const LayerGraph::Value &value : graph.values)
    if (value.isNeeded && !value.isFree)
      bytes += static_cast<double>(value.bytes);
  for (const LayerGraph::Operator &op : graph.operators)
    seconds += op.seconds;
  return {bytes, seconds};
}

/// Makes the treatment that recomputes and swaps nothing.
static LayerTreatment makeUntreated(llvm::ArrayRef<LayerGraph> graphs) {
  LayerTreatment none = makeNoTreatment(graphs.size());
  none.repeatedSeconds.resize(graphs.size());
  for (const LayerGraph &graph : graphs)
    none.keptBytes.push_back(sumLayer(graph).first);
  return none;
}

/// Makes the treatment that recomputes whole layers, of which only the inputs
/// are kept.
static LayerTreatment makeFull(llvm::ArrayRef<LayerGraph> graphs) {
  LayerTreatment full = makeNoTreatment(graphs.size());
  full.name = "full";
  full.isFull = true;
  for (const LayerGraph &graph : graphs) {
    full.repeatedSeconds.push_back(sumLayer(graph).second);
    double &bytes = full.keptBytes.emplace_back();
    for (const LayerGraph::Value &value : graph.values)
      if (value.producers.empty() && !value.isFree)
        bytes += static_cast<double>(value.bytes);
  }
  return full;
}

/// Makes the treatment that swaps layers, with a distance in which a whole
/// layer can be copied back.
static LayerTreatment makeSwap(llvm::ArrayRef<LayerGraph> graphs,
                               size_t mainKind, const CopyRates &rates,
                               LayerWords words) {
  LayerTreatment swap = makeNoTreatment(graphs.size());
  swap.name = "swap";
  swap.repeatedSeconds.resize(graphs.size());
  swap.keptBytes.resize(graphs.size());
  for (size_t kind = 0; kind < graphs.size(); ++kind) {
    const auto [bytes, seconds] = sumLayer(graphs[kind]);
    swap.copyOut[kind] = bytes / rates.out;
    swap.copyIn[kind] = bytes / rates.in;
    if (kind == mainKind && seconds > 0)
      swap.prefetch = static_cast<int64_t>(
          std::ceil(swap.copyIn[kind] / seconds *
                    static_cast<double>(graphs[kind].operators.size())));
  }
  swap.prefetch = std::max<int64_t>(swap.prefetch, 1);
  if (words == LayerWords::Modules) {
    swap.countsLayers = true;
    swap.prefetch = 1;
  }
  return swap;
}

static LayerTreatment makeSelection(llvm::StringRef name,
                                    llvm::ArrayRef<LayerGraph> graphs,
                                    double secondsPerByte) {
  LayerTreatment treatment = makeNoTreatment(graphs.size());
  treatment.name = name.str();
  for (size_t kind = 0; kind < graphs.size(); ++kind) {
    const RecomputeChoice choice =
        chooseRecompute(graphs[kind], secondsPerByte);
    treatment.repeatedSeconds.push_back(choice.seconds);
    treatment.keptBytes.push_back(static_cast<double>(choice.keptBytes));
    for (size_t index = 0; index < choice.isRepeated.size(); ++index) {
      const LayerGraph::Operator &op = graphs[kind].operators[index];
      if (!choice.isRepeated[index])
        continue;
      if (!op.module.empty())
        treatment.operators[kind].insert(op.module);
      else
        (op.isCommunication ? treatment.communication
                            : treatment.operators)[kind]
            .insert(op.name);
    }
  }
  return treatment;
}

/// Returns whether a layer's copies can overlap with its forward and its
/// backward, which takes about twice as long. Otherwise they delay all later
/// work, by an amount that depends on all layers.
static bool isLinkFast(const LayerGraph &graph, const CopyRates &rates) {
  if (rates.out <= 0 || rates.in <= 0)
    return false;
  const auto [bytes, seconds] = sumLayer(graph);
  return bytes / std::min(rates.out, rates.in) < 3 * seconds;
}

namespace {
/// A choice of operators that run again in each kind of layer, in the words of
/// a YAML, and the price of memory for which it is the best.
struct PricedSelection {
  llvm::ArrayRef<LayerGraph> graphs;
  RecomputeChoice choice;
};
} // namespace

/// Returns the first names of a path, without that of the operator; empty if
/// there are fewer. `transformer_layer`, the layer within a layer that predicts
/// later tokens, does not count as a name.
static std::string getModule(llvm::StringRef path, size_t depth) {
  llvm::StringRef rest = path;
  rest.consume_front("transformer_layer.");
  for (size_t names = 0; names < depth; ++names) {
    const size_t dot = rest.find('.');
    if (dot == llvm::StringRef::npos)
      return {};
    rest = rest.drop_front(dot + 1);
  }
  return path.drop_back(rest.size() + 1).str();
}

/// Returns the layers in the units of the YAML: operators, or modules of one
/// and of two names, such as `mlp` and `mlp.experts`. Operators in no such
/// module, and operators without a name, are never recomputed.
static std::vector<std::vector<LayerGraph>>
getWordings(llvm::ArrayRef<LayerGraph> graphs, LayerWords words) {
  if (words == LayerWords::Operators)
    return {graphs.vec()};
  std::vector<std::vector<LayerGraph>> wordings;
  for (const size_t depth : {1, 2}) {
    std::vector<LayerGraph> &grouped = wordings.emplace_back();
    grouped = graphs.vec();
    for (LayerGraph &graph : grouped)
      for (LayerGraph::Operator &op : graph.operators) {
        if (op.mayRepeat)
          op.module = getModule(op.name, depth);
        op.mayRepeat = !op.module.empty();
      }
  }
  return wordings;
}

/// Returns at most `count` selections of the main kind for each form of the
/// YAML, in ascending order of kept memory.
static std::vector<PricedSelection>
findSelections(llvm::ArrayRef<std::vector<LayerGraph>> wordings,
               size_t mainKind, size_t count) {
  std::vector<PricedSelection> selections;
  for (const std::vector<LayerGraph> &graphs : wordings)
    for (RecomputeChoice &choice : findChoices(graphs[mainKind], count))
      selections.push_back({graphs, std::move(choice)});
  std::sort(selections.begin(), selections.end(),
            [](const PricedSelection &a, const PricedSelection &b) {
              return std::tie(a.choice.keptBytes, a.choice.seconds) <
                     std::tie(b.choice.keptBytes, b.choice.seconds);
            });
  // A selection is of no use if another one keeps no more memory and takes no
  // more time.
  std::vector<PricedSelection> useful;
  for (PricedSelection &next : selections)
    if (useful.empty() || next.choice.seconds < useful.back().choice.seconds)
      useful.push_back(std::move(next));
  return useful;
}

/// Adds the levels of experts, for which there are names of patterns in
/// addition to the operator that multiplies their rows, to the operators that
/// `base` recomputes. `base` may be null.
static void addExpertLevels(llvm::ArrayRef<LayerGraph> graphs,
                            const PricedSelection *base,
                            std::vector<LayerTreatment> &treatments) {
  for (const char *level : {"level 1", "level 0"}) {
    LayerTreatment treatment =
        base ? makeSelection(level, base->graphs, base->choice.secondsPerByte)
             : makeUntreated(graphs);
    treatment.name = level;
    for (size_t kind = 0; kind < graphs.size(); ++kind) {
      if (!graphs[kind].experts)
        continue;
      const llvm::StringRef name =
          graphs[kind].operators[*graphs[kind].experts].name;
      treatment.operators[kind].insert(
          (name.rsplit('.').first + ".level" + llvm::Twine(level[6])).str());
    }
    treatments.push_back(std::move(treatment));
  }
}

std::vector<LayerTreatment>
planner::makeTreatments(llvm::ArrayRef<LayerGraph> graphs,
                        llvm::ArrayRef<ModelLayer> layers, size_t count,
                        const CopyRates &rates, LayerWords words,
                        bool withExpertLevels) {
  const size_t mainKind = findMainKind(layers, graphs.size());
  const std::vector<std::vector<LayerGraph>> wordings =
      getWordings(graphs, words);
  const std::vector<PricedSelection> selections = findSelections(
      wordings, mainKind, (count + wordings.size() - 1) / wordings.size());
  std::vector<LayerTreatment> treatments;
  if (isLinkFast(graphs[mainKind], rates))
    treatments.push_back(makeSwap(graphs, mainKind, rates, words));
  treatments.push_back(makeFull(graphs));
  bool hasLevels = !withExpertLevels || !graphs[mainKind].experts;
  for (const auto &[index, selection] : llvm::enumerate(selections)) {
    if (!hasLevels && !selection.choice.isRepeated[*graphs[mainKind].experts]) {
      addExpertLevels(graphs, &selection, treatments);
      hasLevels = true;
    }
    treatments.push_back(
        makeSelection("select " + std::to_string(selections.size() - index),
                      selection.graphs, selection.choice.secondsPerByte));
  }
  if (!hasLevels)
    addExpertLevels(graphs, nullptr, treatments);
  treatments.push_back(makeUntreated(graphs));
  return treatments;
}

//===----------------------------------------------------------------------===//
// Settings
//===----------------------------------------------------------------------===//

StageTable planner::toTable(llvm::ArrayRef<int64_t> byChunk,
                            const schedule::Pipeline &pipeline) {
  const auto stages = static_cast<size_t>(pipeline.stages);
  StageTable table(byChunk.size() / stages, std::vector<int64_t>(stages));
  for (size_t chunk = 0; chunk < byChunk.size(); ++chunk)
    table[chunk / stages][static_cast<size_t>(pipeline.stageOfChunk[chunk])] =
        byChunk[chunk];
  return table;
}

std::vector<int64_t> planner::fromTable(const StageTable &table,
                                        const schedule::Pipeline &pipeline) {
  const auto stages = static_cast<size_t>(pipeline.stages);
  std::vector<int64_t> byChunk;
  for (size_t chunk = 0; chunk < pipeline.stageOfChunk.size(); ++chunk)
    byChunk.push_back(table[chunk / stages]
                           [static_cast<size_t>(pipeline.stageOfChunk[chunk])]);
  return byChunk;
}

/// For each chunk, returns the number of its first layers up to the last one
/// for which `isCovered` is true. A layer that others follow is covered if one
/// of them is.
static std::vector<int64_t>
countCovered(const Assignment &assignment, size_t numFollowers,
             llvm::function_ref<bool(size_t)> isCovered) {
  const size_t leaders = assignment.treatments.size() - numFollowers;
  auto isSet = [&](size_t layer) {
    bool isAnyCovered = isCovered(layer);
    for (size_t follower = leaders;
         layer + 1 == leaders && follower < assignment.treatments.size();
         ++follower)
      isAnyCovered |= isCovered(follower);
    return isAnyCovered;
  };
  std::vector<int64_t> counts;
  size_t layer = 0;
  for (const int64_t layers : assignment.layersOfChunk) {
    counts.push_back(0);
    for (int64_t index = 0; index < layers; ++index, ++layer)
      if (layer < leaders && isSet(layer))
        counts.back() = index + 1;
  }
  return counts;
}

/// Followers are in the last chunk, whatever its offset is.
static StageTable makeOffset(const Assignment &assignment,
                             const schedule::Pipeline &pipeline,
                             size_t numFollowers) {
  const size_t leaders = assignment.treatments.size() - numFollowers;
  const auto base =
      static_cast<int64_t>(leaders / assignment.layersOfChunk.size());
  std::vector<int64_t> offsets;
  for (const int64_t layers : assignment.layersOfChunk)
    offsets.push_back(layers - base);
  offsets.back() -= static_cast<int64_t>(numFollowers);
  return toTable(offsets, pipeline);
}

/// Returns a pattern for one or several operators of the same Cell:
/// `a\.b\.(c|d)`.
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

/// Returns patterns with their tables. Operators of one Cell with the same
/// table share a pattern.
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
planner::makeSettings(const Assignment &assignment,
                      const schedule::Pipeline &pipeline,
                      llvm::ArrayRef<ModelLayer> layers, size_t numFollowers,
                      llvm::ArrayRef<LayerTreatment> treatments) {
  using Sets = std::vector<std::set<std::string>> LayerTreatment::*;
  auto makeTable = [&](llvm::function_ref<bool(size_t)> isCovered) {
    return toTable(countCovered(assignment, numFollowers, isCovered), pipeline);
  };
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
      byName[name] = makeTable([&](size_t layer) {
        return (getTreatment(layer).*sets)[layers[layer].kind].count(name) > 0;
      });
    return makeCounts(byName);
  };
  auto hasLayersBehind = [&](const LayerTreatment &treatment, size_t layer) {
    return !treatment.countsLayers ||
           layer + static_cast<size_t>(treatment.prefetch) < layers.size();
  };
  MemorySettings settings;
  settings.offset = makeOffset(assignment, pipeline, numFollowers);
  settings.recompute =
      makeTable([&](size_t layer) { return getTreatment(layer).isFull; });
  settings.selectRecompute = makeAll(&LayerTreatment::operators);
  settings.selectCommRecompute = makeAll(&LayerTreatment::communication);
  settings.leavesOutSwapped = true;
  settings.swap.emplace();
  for (size_t layer = 0; layer < layers.size() - numFollowers; ++layer)
    if (const LayerTreatment &treatment = getTreatment(layer);
        treatment.prefetch > 0 && hasLayersBehind(treatment, layer))
      settings.swap->push_back(
          {"", treatment.prefetch, {static_cast<int64_t>(layer)}});
  return settings;
}
