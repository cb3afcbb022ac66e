//===- ChainPlan.cpp - Chooses kernels to fuse ----------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/fuse-elementwise/ChainPlan.h"
#include "mf/Program/Signatures/KernelChain.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <map>
#include <set>

namespace mf::passes {

namespace {

/// The launches that use each buffer.
using BufferUses = std::vector<std::set<int64_t>>;

/// A launch and the buffers that it uses.
struct Moment {
  int64_t launch;
  llvm::SmallVector<int64_t, 4> reads, writes;
};

/// The launches from a chain's first launch to its last.
using Window = std::vector<Moment>;

/// Flags of the uses of a buffer before and after the window.
struct Outside {
  bool before = false, behind = false;
};

class WindowBytes {
public:
  WindowBytes(const ChainGraph &graph, const BufferUses &uses,
              const PlannedChain &chain)
      : graph(graph), uses(uses), chain(chain), first(chain.launches.front()),
        last(chain.launches.back()) {}

  bool needsMore() {
    const Window window = getWindow();
    findOutside(window);
    const std::map<int64_t, int64_t> before = getBytes(window);
    int64_t most = 0;
    for (int64_t launch : chain.launches)
      most = std::max(most, before.at(launch));
    for (const auto &[launch, bytes] : getBytes(getWindowWithChain()))
      if (bytes > (launch == chain.position ? most : before.at(launch)))
        return true;
    return false;
  }

private:
  Moment getMoment(int64_t launch, llvm::ArrayRef<int64_t> inputs,
                   llvm::ArrayRef<int64_t> outputs) const {
    Moment moment{launch, {}, {}};
    auto add = [&](llvm::ArrayRef<int64_t> values, auto &buffers) {
      for (int64_t value : values) {
        const int64_t buffer = graph.values[value];
        if (graph.buffers[buffer].isFreed &&
            !llvm::is_contained(buffers, buffer))
          buffers.push_back(buffer);
      }
    };
    add(inputs, moment.reads);
    add(outputs, moment.writes);
    return moment;
  }

  Window getWindow() const {
    Window window;
    for (int64_t launch = first; launch <= last; ++launch)
      window.push_back(getMoment(launch, graph.launches[launch].inputs,
                                 graph.launches[launch].outputs));
    return window;
  }

  Window getWindowWithChain() const {
    Window window;
    for (int64_t launch = first; launch <= last; ++launch)
      if (launch == chain.position)
        window.push_back(
            getMoment(launch, chain.inputs, graph.launches[last].outputs));
      else if (!llvm::is_contained(chain.launches, launch))
        window.push_back(getMoment(launch, graph.launches[launch].inputs,
                                   graph.launches[launch].outputs));
    return window;
  }

  void findOutside(const Window &window) {
    for (const Moment &moment : window)
      for (const auto &buffers : {moment.reads, moment.writes})
        for (int64_t buffer : buffers)
          outside.try_emplace(buffer);
    for (auto &[buffer, sides] : outside) {
      sides.before = *uses[buffer].begin() < first;
      sides.behind =
          graph.buffers[buffer].isKept || *uses[buffer].rbegin() > last;
    }
  }

  /// Returns the live bytes at each launch, of buffers that the window uses.
  std::map<int64_t, int64_t> getBytes(const Window &window) const {
    struct Range {
      size_t begin, end;
    };
    llvm::DenseMap<int64_t, Range> ranges;
    for (auto [place, moment] : llvm::enumerate(window)) {
      auto use = [&, place = place](int64_t buffer, bool isWrite) {
        auto [range, isNew] = ranges.try_emplace(buffer, Range{place, place});
        if (isNew && (outside.at(buffer).before || !isWrite))
          range->second.begin = 0;
        range->second.end = place;
      };
      for (int64_t buffer : moment.reads)
        use(buffer, false);
      for (int64_t buffer : moment.writes)
        use(buffer, true);
    }
    // By how much the bytes of all live buffers change at each place.
    std::vector<int64_t> changes(window.size() + 1, 0);
    for (const auto &[buffer, range] : ranges) {
      const int64_t size = graph.buffers[buffer].bytes;
      changes[range.begin] += size;
      if (!outside.at(buffer).behind)
        changes[range.end + 1] -= size;
    }
    std::map<int64_t, int64_t> bytes;
    int64_t live = 0;
    for (auto [place, moment] : llvm::enumerate(window)) {
      int64_t &sum = bytes[moment.launch];
      sum = live += changes[place];
      // The result replaces a buffer that is read for the last time.
      for (int64_t written : moment.writes) {
        const Range &range = ranges.at(written);
        const int64_t size = graph.buffers[written].bytes;
        const bool isBorn = range.begin == place && !outside.at(written).before;
        if (isBorn &&
            llvm::any_of(moment.reads, [&, place = place](int64_t read) {
              return graph.buffers[read].bytes == size &&
                     ranges.at(read).end == place && !outside.at(read).behind;
            }))
          sum -= size;
      }
    }
    return bytes;
  }

  const ChainGraph &graph;
  const BufferUses &uses;
  const PlannedChain &chain;
  int64_t first, last;
  llvm::DenseMap<int64_t, Outside> outside;
};

} // namespace

/// Returns whether more bytes are live at some launch with the chain than
/// without it, or more at the chain than at each of its launches. An output
/// that replaces an input without later readers counts once.
static bool needsMore(const ChainGraph &graph, const BufferUses &uses,
                      const PlannedChain &chain) {
  return WindowBytes(graph, uses, chain).needsMore();
}

namespace {

/// The most kernels of a chain, and the most launches from its first to its
/// last. Beyond these limits planning gets expensive without a benefit.
constexpr size_t maximumLength = 32;
constexpr int64_t maximumDistance = 256;

using Members = std::set<int64_t>;

class ChainPlanner {
public:
  explicit ChainPlanner(ChainGraph given)
      : graph(std::move(given)), producers(graph.values.size(), -1),
        readers(graph.values.size()), uses(graph.buffers.size()) {
    for (size_t number = 0; number < graph.launches.size(); ++number)
      addUses(static_cast<int64_t>(number));
  }

  ChainPlan plan() {
    ChainPlan plan;
    for (auto root = static_cast<int64_t>(graph.launches.size()); root-- > 0;) {
      if (!isFree(root))
        continue;
      std::optional<PlannedChain> chain = grow(root);
      if (!chain)
        continue;
      apply(*chain);
      plan.chains.push_back(std::move(*chain));
    }
    std::reverse(plan.chains.begin(), plan.chains.end());
    return plan;
  }

private:
  bool isFree(int64_t launch) const {
    return graph.launches[launch].kernel.has_value();
  }
  const ChainBuffer &getBuffer(int64_t value) const {
    return graph.buffers[graph.values[value]];
  }

  /// Returns whether a launch may join members, one of which reads its result.
  bool mayJoin(int64_t launch, const Members &members) const {
    const int64_t root = *members.rbegin();
    const ChainLaunch &own = graph.launches[launch];
    if (!isFree(launch) || own.segment != graph.launches[root].segment ||
        root - launch > maximumDistance || members.size() >= maximumLength)
      return false;
    const int64_t result = own.outputs.front();
    return getBuffer(result).isTemporary &&
           llvm::all_of(readers[result], [&](int64_t reader) {
             return members.count(reader) > 0;
           });
  }

  /// Tries to add all possible producers at once.
  std::optional<PlannedChain> grow(int64_t root) {
    Members members = {root}, candidates;
    addProducers(root, candidates);
    auto hasRows = [&](int64_t launch) {
      const TensorShape &a = graph.launches[launch].kernel->outputs[0];
      const TensorShape &b = graph.launches[root].kernel->outputs[0];
      return a.dims.size() == b.dims.size() &&
             (a.dims.empty() || llvm::ArrayRef(a.dims).drop_back() ==
                                    llvm::ArrayRef(b.dims).drop_back());
    };
    while (!candidates.empty()) {
      const int64_t launch = *candidates.rbegin();
      candidates.erase(launch);
      if (!mayJoin(launch, members) || !hasRows(launch))
        continue;
      members.insert(launch);
      addProducers(launch, candidates);
    }
    if (members.size() < 2)
      return std::nullopt;
    if (std::optional<PlannedChain> chain = tryChain(members))
      return chain;
    return growOneByOne(root);
  }

  /// Adds producers one by one, if not all of them can be added.
  std::optional<PlannedChain> growOneByOne(int64_t root) {
    Members members = {root}, candidates;
    std::optional<PlannedChain> best;
    addProducers(root, candidates);
    while (!candidates.empty()) {
      const int64_t launch = *candidates.rbegin();
      candidates.erase(launch);
      if (!mayJoin(launch, members))
        continue;
      members.insert(launch);
      std::optional<PlannedChain> chain = tryChain(members);
      if (!chain) {
        members.erase(launch);
        continue;
      }
      best = std::move(chain);
      addProducers(launch, candidates);
    }
    return best;
  }

  void addProducers(int64_t launch, Members &candidates) const {
    for (int64_t value : graph.launches[launch].inputs)
      if (producers[value] >= 0 && producers[value] < launch)
        candidates.insert(producers[value]);
  }

  /// Returns the chain of these launches, or none if they cannot form one.
  std::optional<PlannedChain> tryChain(const Members &members) const {
    PlannedChain chain = makeChain(members);
    const int64_t output = graph.launches[*members.rbegin()].outputs.front();
    // This would read another part of the buffer that the chain writes.
    for (int64_t input : chain.inputs)
      if (input != output && graph.values[input] == graph.values[output])
        return std::nullopt;
    if (llvm::Error error = checkChain(chain.spec)) {
      llvm::consumeError(std::move(error));
      return std::nullopt;
    }
    for (int64_t position : llvm::reverse(members)) {
      chain.position = position;
      if (mayStandAt(position, members) && !needsMore(graph, uses, chain))
        return chain;
    }
    return std::nullopt;
  }

  PlannedChain makeChain(const Members &members) const {
    PlannedChain chain;
    chain.launches.assign(members.begin(), members.end());
    chain.spec.name = "mfChain";
    std::vector<FusedKernel> kernels;
    int64_t bytes = 0;
    for (int64_t launch : members) {
      const ChainLaunch &own = graph.launches[launch];
      FusedKernel kernel = {
          own.kernel->name, {}, own.kernel->outputs[0], own.kernel->attributes};
      for (auto [value, shape] :
           llvm::zip_equal(own.inputs, own.kernel->inputs)) {
        const auto *maker = llvm::find(chain.launches, producers[value]);
        if (maker != chain.launches.end() && *maker < launch) {
          kernel.operands.push_back(~(maker - chain.launches.begin()));
          continue;
        }
        const auto *input = llvm::find(chain.inputs, value);
        kernel.operands.push_back(input - chain.inputs.begin());
        if (input != chain.inputs.end())
          continue;
        chain.inputs.push_back(value);
        chain.spec.inputs.push_back(shape);
      }
      bytes += findKernelSignature(own.kernel->name)->getBytes(*own.kernel);
      kernels.push_back(std::move(kernel));
      if (launch != *members.rbegin())
        chain.bytesGone += getBuffer(own.outputs.front()).bytes;
    }
    chain.spec.outputs = graph.launches[*members.rbegin()].kernel->outputs;
    chain.spec.attributes = {{"steps", std::move(kernels)}};
    chain.bytesUnmoved =
        bytes - findKernelSignature(chain.spec.name)->getBytes(chain.spec);
    return chain;
  }

  bool mayStandAt(int64_t position, const Members &members) const {
    return llvm::all_of(members, [&](int64_t launch) {
      const auto [first, last] = std::minmax(launch, position);
      for (int64_t passed = first + 1; passed < last; ++passed)
        if (!members.count(passed) && conflict(launch, passed))
          return false;
      return true;
    });
  }

  /// Returns whether the order of two launches matters.
  bool conflict(int64_t launch, int64_t other) const {
    const ChainLaunch &a = graph.launches[launch], &b = graph.launches[other];
    auto isTouched = [&](llvm::ArrayRef<int64_t> values, bool onlyWrites) {
      return llvm::any_of(values, [&](int64_t value) {
        return touches(b, graph.values[value], onlyWrites);
      });
    };
    return isTouched(a.inputs, /*onlyWrites=*/true) ||
           isTouched(a.outputs, /*onlyWrites=*/false);
  }

  bool touches(const ChainLaunch &launch, int64_t buffer,
               bool onlyWrites) const {
    auto isIn = [&](int64_t value) { return graph.values[value] == buffer; };
    return llvm::any_of(launch.outputs, isIn) ||
           (!onlyWrites && llvm::any_of(launch.inputs, isIn));
  }

  void addUses(int64_t launch) {
    const ChainLaunch &own = graph.launches[launch];
    for (int64_t value : own.inputs) {
      readers[value].push_back(launch);
      uses[graph.values[value]].insert(launch);
    }
    for (int64_t value : own.outputs) {
      producers[value] = launch;
      uses[graph.values[value]].insert(launch);
    }
  }

  void removeUses(int64_t launch) {
    const ChainLaunch &own = graph.launches[launch];
    for (int64_t value : own.inputs)
      llvm::erase(readers[value], launch);
    for (const auto &values : {own.inputs, own.outputs})
      for (int64_t value : values)
        uses[graph.values[value]].erase(launch);
  }

  /// Applies a chain to the graph: it replaces one launch, and its other
  /// launches become empty.
  void apply(const PlannedChain &chain) {
    const int64_t output =
        graph.launches[chain.launches.back()].outputs.front();
    for (int64_t launch : chain.launches) {
      removeUses(launch);
      graph.launches[launch] = ChainLaunch();
    }
    ChainLaunch &own = graph.launches[chain.position];
    own.inputs.assign(chain.inputs.begin(), chain.inputs.end());
    own.outputs = {output};
    addUses(chain.position);
  }

  ChainGraph graph;
  /// For each value, the launch that computes it (-1 if none does) and the
  /// launches that read it.
  std::vector<int64_t> producers;
  std::vector<llvm::SmallVector<int64_t, 2>> readers;
  BufferUses uses;
};

} // namespace

ChainPlan planChains(ChainGraph graph) {
  return ChainPlanner(std::move(graph)).plan();
}

//===----------------------------------------------------------------------===//
// Kinds
//===----------------------------------------------------------------------===//

std::string PlannedChain::getKind() const {
  const std::vector<KernelSpec> kernels = getFusedSpecs(spec);
  return llvm::join(
      llvm::map_range(kernels,
                      [](const KernelSpec &kernel) { return kernel.name; }),
      ", ");
}

void addKinds(std::vector<ChainKind> &kinds, llvm::ArrayRef<ChainKind> more) {
  for (const ChainKind &kind : more) {
    auto found = llvm::find_if(kinds, [&](const ChainKind &known) {
      return known.kernels == kind.kernels;
    });
    if (found == kinds.end()) {
      kinds.push_back(kind);
      continue;
    }
    found->chains += kind.chains;
    found->launches += kind.launches;
    found->bytesGone += kind.bytesGone;
    found->bytesUnmoved += kind.bytesUnmoved;
  }
}

std::vector<ChainKind> ChainPlan::getKinds() const {
  std::vector<ChainKind> kinds;
  for (const PlannedChain &chain : chains)
    addKinds(kinds, ChainKind{chain.getKind(), 1,
                              static_cast<int64_t>(chain.launches.size()),
                              chain.bytesGone, chain.bytesUnmoved});
  return kinds;
}

void printKinds(llvm::ArrayRef<ChainKind> kinds, llvm::raw_ostream &os) {
  for (const ChainKind &kind : kinds)
    os << "  " << kind.chains << " x " << kind.kernels << ": " << kind.launches
       << " launches, " << kind.bytesGone << " bytes of buffers less, "
       << kind.bytesUnmoved << " bytes moved less\n";
}

} // namespace mf::passes
