//===- StageOptions.cpp - Options of a stage ------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "StageOptions.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <limits>
#include <numeric>

namespace mf::solver {

/// The largest number of chunks, summed over all layouts, that are stored.
/// Published problems have fewer than a hundred.
static constexpr size_t mostEnds = 2'000'000;

std::vector<LayerRange> getAllRanges(const TickProblem &problem) {
  const Problem &given = problem.get();
  int64_t chunks = problem.getNumChunks(), least = given.minLayersPerChunk;
  int64_t most = given.getNumLayers() - (chunks - 1) * least;
  if (given.maxLayersPerChunk > 0)
    most = std::min(most, given.maxLayersPerChunk);
  std::vector<LayerRange> ranges(chunks, {least, most});
  for (auto [range, fixed] : llvm::zip(ranges, given.fixedLayers))
    range = {fixed, fixed};
  return ranges;
}

std::vector<LayerRange> getMeanRanges(const TickProblem &problem,
                                      int64_t width) {
  std::vector<LayerRange> ranges = getAllRanges(problem);
  if (!problem.get().fixedLayers.empty())
    return ranges;
  int64_t mean = problem.get().getNumLayers() / problem.getNumChunks();
  for (LayerRange &range : ranges)
    range = {std::max(range.least, mean - width),
             std::min(range.most, mean + 1 + width)};
  return ranges;
}

KindLayouts::KindLayouts(const TickProblem &problem,
                         std::vector<LayerRange> ranges)
    : ranges(std::move(ranges)) {
  for (auto [kind, layers] : llvm::enumerate(problem.get().kinds)) {
    counts.push_back(layers.count);
    if (layers.count > 0)
      kinds.push_back(kind);
  }
  Layout layout;
  addLayouts(layout);
}

void KindLayouts::addLayouts(Layout &layout) {
  if (kinds.empty() || isFull)
    return;
  auto numChunks = static_cast<int64_t>(ranges.size());
  // The last kind ends at the last layer.
  if (layout.size() + 1 == kinds.size()) {
    isFull = layouts.size() * kinds.size() >= mostEnds;
    if (!isFull)
      layouts.push_back(layout);
    return;
  }
  auto sum = [&](int64_t begin, int64_t end, int64_t LayerRange::*bound) {
    int64_t total = 0;
    for (int64_t chunk = begin; chunk < end; ++chunk)
      total += ranges[chunk].*bound;
    return total;
  };
  int64_t before = 0, behind = 0;
  for (auto [index, kind] : llvm::enumerate(kinds))
    (index <= layout.size() ? before : behind) += counts[kind];
  for (int64_t chunk = layout.empty() ? 0 : layout.back(); chunk < numChunks;
       ++chunk) {
    // The layers up to the end must fit into the chunks up to it and fill the
    // chunks before it. The same must hold for the layers after it.
    if (sum(0, chunk, &LayerRange::least) >= before ||
        sum(0, chunk + 1, &LayerRange::most) < before ||
        sum(chunk + 1, numChunks, &LayerRange::least) > behind ||
        sum(chunk, numChunks, &LayerRange::most) <= behind)
      continue;
    layout.push_back(chunk);
    addLayouts(layout);
    layout.pop_back();
  }
}

bool KindLayouts::allows(size_t layout, int64_t chunk,
                         llvm::ArrayRef<int64_t> layers) const {
  llvm::ArrayRef<int64_t> ends = layouts[layout];
  for (auto [index, kind] : llvm::enumerate(kinds)) {
    bool isBegun = index == 0 || ends[index - 1] <= chunk;
    bool isEnded = index < ends.size() && ends[index] < chunk;
    if (layers[kind] > 0 && (!isBegun || isEnded))
      return false;
    if (layers[kind] == 0 && index < ends.size() && ends[index] == chunk)
      return false;
  }
  return true;
}

bool KindLayouts::allows(int64_t chunk, llvm::ArrayRef<int64_t> layers) const {
  for (size_t layout = 0; layout < layouts.size(); ++layout)
    if (allows(layout, chunk, layers))
      return true;
  return false;
}

int64_t OptionComposition::getNumLayers() const {
  return std::accumulate(totals.begin(), totals.end(), int64_t(0));
}

std::vector<int32_t> getDurationNumbers(const TickProblem &problem,
                                        int64_t stage) {
  std::vector<int32_t> numbers;
  for (int32_t chunk : problem.getChunks(stage))
    for (int64_t phase = 0; phase < problem.getNumPhases(); ++phase)
      numbers.push_back(
          static_cast<int32_t>(problem.getDuration(chunk, phase)));
  numbers.push_back(static_cast<int32_t>(problem.getUpdate(stage)));
  return numbers;
}

/// The layers of the first chunks of a stage, and the possible treatments of
/// these layers.
struct OptionMaker::Partial {
  std::vector<std::vector<int64_t>> layers;
  std::vector<const std::vector<ChunkChoice> *> choices;
  /// The least value of the bound so far.
  double bound = 0;
};

namespace {

/// Returns the amount that a choice adds to a bound.
double getBoundPart(const TickProblem &problem, const OptionBound &bound,
                    size_t position, const TickCosts &costs) {
  double part = bound.counts.back() * static_cast<double>(costs.update);
  size_t numPhases = problem.getNumPhases();
  for (size_t phase = 0; phase < numPhases; ++phase)
    part += bound.counts[position * numPhases + phase] *
            static_cast<double>(costs.times[phase]);
  return part;
}

using Splits = std::vector<std::vector<int64_t>>;

/// Returns all numbers of layers by kind of a chunk, in lexicographic order.
/// Layers of a chunk are consecutive, so there is one for each first layer.
Splits findSplits(const TickProblem &problem, int64_t count) {
  const std::vector<LayerKind> &kinds = problem.get().kinds;
  Splits splits;
  for (int64_t first = 0; first + count <= problem.get().getNumLayers();
       ++first) {
    std::vector<int64_t> split;
    int64_t begin = 0;
    for (const LayerKind &kind : kinds) {
      const int64_t end = begin + kind.count;
      split.push_back(std::max<int64_t>(0, std::min(end, first + count) -
                                               std::max(begin, first)));
      begin = end;
    }
    // Layers of one kind look alike.
    if (splits.empty() || splits.back() != split)
      splits.push_back(std::move(split));
  }
  llvm::sort(splits);
  return splits;
}

/// The least memory of several choices, for each kind of memory separately.
struct LeastMemory {
  int64_t activation = std::numeric_limits<int64_t>::max();
  int64_t recomputed = activation;

  void add(const TickCosts &costs) {
    activation = std::min(activation, costs.activation);
    recomputed = std::min(recomputed, costs.recomputed);
  }
};

/// Enumerates the combinations of choices with given layers that fit.
class Combiner {
public:
  Combiner(const TickProblem &problem, int64_t stage, const OptionBound &bound,
           llvm::ArrayRef<const std::vector<ChunkChoice> *> choices)
      : problem(problem), stage(stage), bound(bound), choices(choices),
        leastBound(choices.size() + 1, 0) {
    for (size_t position = choices.size(); position-- > 0;) {
      double least = std::numeric_limits<double>::infinity();
      LeastMemory memory;
      for (const ChunkChoice &choice : *choices[position]) {
        least = std::min(least,
                         getBoundPart(problem, bound, position, choice.costs));
        memory.add(choice.costs);
      }
      leastBound[position] = leastBound[position + 1] + least;
      leastMemory.insert(leastMemory.begin(), memory);
    }
  }

  struct Combination {
    std::vector<double> durations;
    std::vector<const ChunkChoice *> choices;
  };
  std::vector<Combination> run() {
    if (llvm::any_of(choices, [](auto *ofChunk) { return ofChunk->empty(); }))
      return {};
    addChunk(0, bound.rest);
    // Combinations that are no worse than another in any duration go first.
    llvm::sort(combinations,
               [](const Combination &one, const Combination &other) {
                 return one.durations < other.durations;
               });
    std::vector<Combination> best;
    for (Combination &combination : combinations) {
      auto isNoWorse = [&](const Combination &other) {
        for (size_t index = 0; index < combination.durations.size(); ++index)
          if (other.durations[index] > combination.durations[index])
            return false;
        return true;
      };
      if (llvm::none_of(best, isNoWorse))
        best.push_back(std::move(combination));
    }
    return best;
  }

private:
  void addChunk(size_t position, double boundSoFar) {
    if (!fits(position) || boundSoFar + leastBound[position] >= bound.limit)
      return;
    if (position == choices.size()) {
      addCombination();
      return;
    }
    // The choices of a chunk are in the order of their times, so most choices
    // of the last chunk that fit do not improve on the first one.
    bool isLast = position + 1 == choices.size();
    std::vector<const ChunkChoice *> added;
    for (const ChunkChoice &choice : *choices[position]) {
      if (isLast && llvm::any_of(added, [&](const ChunkChoice *other) {
            return other->costs.isNoLonger(choice.costs);
          }))
        continue;
      size_t known = combinations.size();
      chosen.push_back(&choice);
      addChunk(position + 1, boundSoFar + getBoundPart(problem, bound, position,
                                                       choice.costs));
      chosen.pop_back();
      if (combinations.size() > known)
        added.push_back(&choice);
    }
  }

  /// Returns whether the stage fits, with the least memory of the chunks that
  /// are not chosen yet.
  bool fits(size_t position) const {
    int64_t base = problem.getConstant(stage), transient = 0, most = 0;
    for (auto [index, ofChunk] : llvm::enumerate(choices)) {
      base += ofChunk->front().costs.parameters;
      if (index < position)
        transient = std::max(transient, chosen[index]->costs.transient);
    }
    for (llvm::ArrayRef<HeldMemory> held : problem.getInFlight(stage)) {
      int64_t activations = 0;
      for (size_t index = 0; index < held.size(); ++index)
        activations += index < position
                           ? held[index].get(chosen[index]->costs)
                           : held[index].get(leastMemory[index].activation,
                                             leastMemory[index].recomputed);
      most = std::max(most, activations);
    }
    return base + most + transient <= problem.getLimit(stage);
  }

  void addCombination() {
    if (isForbidden())
      return;
    Combination &combination = combinations.emplace_back();
    combination.choices = chosen;
    int64_t update = 0;
    for (const ChunkChoice *choice : chosen) {
      for (int64_t phase = 0; phase < problem.getNumPhases(); ++phase)
        combination.durations.push_back(
            static_cast<double>(choice->costs.times[phase]));
      update += choice->costs.update;
    }
    combination.durations.push_back(static_cast<double>(update));
  }

  bool isForbidden() const {
    return llvm::any_of(
        problem.get().forbidden, [&](const ForbiddenStage &forbidden) {
          if (forbidden.stage != stage)
            return false;
          for (auto [choice, plan] : llvm::zip_equal(chosen, forbidden.chunks))
            if (!(choice->plan == plan))
              return false;
          return true;
        });
  }

  const TickProblem &problem;
  int64_t stage;
  const OptionBound &bound;
  llvm::ArrayRef<const std::vector<ChunkChoice> *> choices;
  /// For each position, the least value that chunks from there on add.
  std::vector<double> leastBound;
  std::vector<LeastMemory> leastMemory;
  std::vector<const ChunkChoice *> chosen;
  std::vector<Combination> combinations;
};

} // namespace

void OptionMaker::addOptions(StageOptions &options, const OptionBound &bound,
                             const Partial &partial) {
  std::vector<Combiner::Combination> combinations =
      Combiner(problem, options.stage, bound, partial.choices).run();
  if (combinations.empty())
    return;
  OptionComposition composition;
  composition.layers = partial.layers;
  composition.totals.assign(problem.getNumKinds(), 0);
  for (llvm::ArrayRef<int64_t> layers : partial.layers)
    for (auto [kind, count] : llvm::enumerate(layers))
      composition.totals[kind] += count;
  composition.begin = options.size();
  for (const Combiner::Combination &combination : combinations) {
    llvm::append_range(options.durations, combination.durations);
    llvm::append_range(options.choices, combination.choices);
    options.compositionOf.push_back(
        static_cast<int32_t>(options.compositions.size()));
  }
  composition.end = options.size();
  options.compositions.push_back(std::move(composition));
}

/// Returns whether the first chunks of a stage fit with their least
/// memory, and adds their least values to the bound.
static bool canFit(const TickProblem &problem, int64_t stage,
                   llvm::ArrayRef<const std::vector<ChunkChoice> *> choices) {
  int64_t base = problem.getConstant(stage), most = 0;
  std::vector<LeastMemory> least;
  for (const std::vector<ChunkChoice> *ofChunk : choices) {
    base += ofChunk->front().costs.parameters;
    LeastMemory &memory = least.emplace_back();
    for (const ChunkChoice &choice : *ofChunk)
      memory.add(choice.costs);
  }
  for (llvm::ArrayRef<HeldMemory> held : problem.getInFlight(stage)) {
    int64_t activations = 0;
    for (size_t index = 0; index < least.size(); ++index)
      activations +=
          held[index].get(least[index].activation, least[index].recomputed);
    most = std::max(most, activations);
  }
  return base + most <= problem.getLimit(stage);
}

/// Adds a chunk with these layers and then the chunks that follow. Returns
/// false if these layers already are too many.
bool OptionMaker::addChunk(StageOptions &options, const OptionBound &bound,
                           const std::vector<int64_t> &layers,
                           Partial &partial) {
  size_t position = partial.layers.size();
  int64_t chunk = problem.getChunks(options.stage)[position];
  const std::vector<ChunkChoice> &ofChunk = choices.get(chunk, layers);
  // Such a chunk has no choice, but with more layers its copies may be hidden.
  if (ofChunk.empty())
    return true;
  double least = std::numeric_limits<double>::infinity();
  for (const ChunkChoice &choice : ofChunk)
    least =
        std::min(least, getBoundPart(problem, bound, position, choice.costs));
  partial.choices.push_back(&ofChunk);
  bool canBe = partial.bound + least < bound.limit &&
               canFit(problem, options.stage, partial.choices);
  if (canBe) {
    partial.layers.push_back(layers);
    partial.bound += least;
    addCompositions(options, bound, partial);
    partial.bound -= least;
    partial.layers.pop_back();
  }
  partial.choices.pop_back();
  return canBe;
}

void OptionMaker::addCompositions(StageOptions &options,
                                  const OptionBound &bound, Partial &partial) {
  llvm::ArrayRef<int32_t> chunks = problem.getChunks(options.stage);
  size_t position = partial.layers.size();
  if (position == chunks.size()) {
    addOptions(options, bound, partial);
    return;
  }
  int64_t chunk = chunks[position];
  auto numKinds = static_cast<int64_t>(problem.getNumKinds());
  const LayerRange &range = layouts.getRange(chunk);
  for (int64_t count = range.least;
       count <= range.most && !choices.isCutShort(); ++count) {
    bool isPossible = false, isTooMuch = true;
    auto [known, isNew] = splits.try_emplace(count);
    if (isNew)
      known->second = findSplits(problem, count);
    for (const std::vector<int64_t> &layers : known->second) {
      if (!layouts.allows(chunk, layers))
        continue;
      isPossible = true;
      if (addChunk(options, bound, layers, partial))
        isTooMuch = false;
    }
    // More layers take more time and memory: if one layer fewer, of a kind with
    // several, was too much, these layers are too.
    if (isPossible && isTooMuch && count >= numKinds)
      break;
  }
}

StageOptions OptionMaker::make(int64_t stage, const OptionBound &bound) {
  StageOptions options;
  options.stage = stage;
  options.durationNumbers = getDurationNumbers(problem, stage);
  options.numDurations = options.durationNumbers.size();
  Partial partial;
  partial.bound = bound.rest;
  addCompositions(options, bound, partial);
  return options;
}

/// Returns the least durations of all tasks and updates.
static std::vector<int64_t> getLeastDurations(const TickProblem &problem,
                                              const KindLayouts &layouts) {
  TickCosts least;
  least.times.fill(std::numeric_limits<int64_t>::max());
  for (size_t kind = 0; kind < problem.getNumKinds(); ++kind)
    for (size_t treatment = 0; treatment < problem.get().getNumTreatments();
         ++treatment)
      for (size_t phase = 0; phase < least.times.size(); ++phase)
        least.times[phase] = std::min(
            least.times[phase], problem.getLayer(kind, treatment).times[phase]);
  std::vector<TickCosts> chunks;
  for (int64_t chunk = 0; chunk < problem.getNumChunks(); ++chunk) {
    chunks.push_back(problem.getExtra(chunk));
    for (size_t phase = 0; phase < least.times.size(); ++phase)
      chunks.back().times[phase] +=
          layouts.getRange(chunk).least * least.times[phase];
  }
  return problem.getDurations(chunks);
}

std::vector<OptionBound> getStageBounds(const TickProblem &problem,
                                        StepGraph &graph,
                                        const KindLayouts &layouts,
                                        double limit) {
  std::vector<int64_t> least = getLeastDurations(problem, layouts);
  // The number is as large as all others together, so that the longest path
  // stays there.
  int64_t large = graph.getMakespan(least) + 1;
  std::vector<OptionBound> bounds;
  for (int64_t stage = 0; stage < problem.getNumStages(); ++stage) {
    std::vector<int32_t> numbers = getDurationNumbers(problem, stage);
    std::vector<int64_t> durations = least;
    for (int32_t number : numbers)
      durations[number] += large;
    PathCut cut = graph.getCriticalCut(durations);
    OptionBound &bound = bounds.emplace_back();
    bound.limit = limit;
    bound.rest = cut.transfers;
    for (int32_t number : numbers) {
      bound.counts.push_back(cut.counts[number]);
      least[number] = -least[number] - 1;
    }
    for (auto [number, duration] : llvm::enumerate(least))
      if (duration >= 0)
        bound.rest += cut.counts[number] * static_cast<double>(duration);
    for (int32_t number : numbers)
      least[number] = -least[number] - 1;
  }
  return bounds;
}

} // namespace mf::solver
