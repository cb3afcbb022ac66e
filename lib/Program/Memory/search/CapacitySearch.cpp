//===- CapacitySearch.cpp - Search for a fit within a capacity ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Memory/CapacitySearch.h"
#include "PackSearch.h"
#include "SearchTree.h"
#include <algorithm>
#include <cmath>

namespace mf::memory {

namespace {

/// The measure of a buffer's urgency.
enum class PriorityRule { Size, Length, Area, Contention };

struct RunRules {
  SectionRule sectionRule;
  PriorityRule priorityRule;
  bool preferCorners;
};

constexpr RunRules runRules[] = {
    {SectionRule::FewestChoices, PriorityRule::Size, true},
    {SectionRule::FewestChoices, PriorityRule::Length, false},
    {SectionRule::FewestChoices, PriorityRule::Contention, true},
    {SectionRule::FewestChoices, PriorityRule::Size, false},
    {SectionRule::FewestChoices, PriorityRule::Contention, false},
    {SectionRule::LowestFewest, PriorityRule::Contention, true},
    {SectionRule::FewestChoices, PriorityRule::Area, false},
    {SectionRule::Tightest, PriorityRule::Size, false},
};

/// Runs searches in order until one decides.
class Portfolio {
public:
  Portfolio(const SearchProblem &problem, int64_t workLimit, int32_t horizon)
      : problem(problem), workLimit(workLimit), horizon(horizon),
        tree(problem, failed), contention(problem.numSections, 0) {
    for (const SearchBuffer &buffer : problem.buffers)
      for (int32_t s = buffer.begin; s < buffer.end; ++s)
        contention[s] += buffer.size;
  }

  SearchTree::Outcome run();
  const SearchTree &getTree() const { return tree; }

private:
  std::vector<double> getPriorities(PriorityRule rule, uint64_t round) const;

  const SearchProblem &problem;
  int64_t workLimit;
  int32_t horizon;
  FailedStates failed;
  SearchTree tree;
  /// For each section, the bytes that are live in it.
  std::vector<int64_t> contention;
};

/// Returns a number in [0, 1) that depends on the arguments only.
double getNoise(uint64_t round, uint64_t index) {
  uint64_t value = round * 0x9e3779b97f4a7c15 + index * 0xd1b54a32d192ed03;
  value = (value ^ (value >> 32)) * 0xd6e8feb86659fd93;
  value = (value ^ (value >> 32)) * 0xd6e8feb86659fd93;
  value ^= value >> 32;
  return static_cast<double>(value >> 11) * 0x1p-53;
}

std::vector<double> Portfolio::getPriorities(PriorityRule rule,
                                             uint64_t round) const {
  std::vector<double> priorities;
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const SearchBuffer &buffer = problem.buffers[i];
    double length = buffer.end - buffer.begin;
    double size = static_cast<double>(buffer.size) /
                  static_cast<double>(problem.capacity);
    double priority = 0;
    switch (rule) {
    case PriorityRule::Size:
      priority = size;
      break;
    case PriorityRule::Length:
      priority = length + size;
      break;
    case PriorityRule::Area:
      priority = length * size;
      break;
    case PriorityRule::Contention: {
      int64_t most = *std::max_element(contention.begin() + buffer.begin,
                                       contention.begin() + buffer.end);
      priority = static_cast<double>(most) * 1e3 + length;
      break;
    }
    }
    // The first round of each rule is exact. Later ones multiply priorities by
    // a random factor.
    if (round > 0)
      priority *= std::exp(getNoise(round, i) - 0.5);
    priorities.push_back(priority);
  }
  return priorities;
}

SearchTree::Outcome Portfolio::run() {
  int64_t nodeLimit = 1000 + 2 * static_cast<int64_t>(problem.buffers.size());
  for (uint64_t round = 0;; ++round) {
    for (const RunRules &rules : runRules) {
      SearchRun run;
      run.sectionRule = rules.sectionRule;
      run.priorities = getPriorities(rules.priorityRule, round);
      run.preferCorners = rules.preferCorners;
      run.horizon = horizon;
      run.nodeLimit = nodeLimit;
      SearchTree::Outcome outcome = tree.run(run, workLimit);
      if (outcome != SearchTree::Outcome::LimitReached ||
          tree.getWork() >= workLimit)
        return outcome;
    }
    nodeLimit += nodeLimit / 4;
  }
}

} // namespace

SearchResult searchWithin(const PackProblem &pack, int64_t capacity,
                          int64_t work, int32_t horizon) {
  SearchResult result;
  result.offsets.assign(pack.items.size(), 0);
  for (size_t i = 0; i < pack.items.size(); ++i)
    result.offsets[i] = std::max<int64_t>(0, pack.items[i].fixedOffset);
  SearchProblem search = makeSearchProblem(pack, capacity);
  SearchTree::Outcome outcome = SearchTree::Outcome::Solved;
  if (!search.buffers.empty()) {
    Portfolio portfolio(search, work, horizon);
    outcome = portfolio.run();
    result.nodes = portfolio.getTree().getNodes();
    result.work = portfolio.getTree().getWork();
    std::vector<int64_t> offsets = portfolio.getTree().getOffsets();
    for (size_t i = 0; i < offsets.size(); ++i)
      result.offsets[search.indices[i]] = offsets[i];
  }
  using Status = CapacitySearchResult::Status;
  if (outcome == SearchTree::Outcome::Solved)
    result.status = Status::Fit;
  else if (outcome == SearchTree::Outcome::Exhausted && search.isExact)
    result.status = Status::Infeasible;
  return result;
}

CapacitySearchResult solveAtCapacity(const AllocationProblem &problem,
                                     int64_t capacity,
                                     const CapacitySearchOptions &options) {
  CapacitySearchResult result;
  if (capacity < problem.maxLive().bytes) {
    result.status = CapacitySearchResult::Status::Infeasible;
    return result;
  }
  SearchResult found =
      searchWithin(compressLifetimes(problem.buffers), capacity, options.work);
  result.status = found.status;
  result.nodes = found.nodes;
  if (found.status == CapacitySearchResult::Status::Fit)
    result.offsets = std::move(found.offsets);
  return result;
}

} // namespace mf::memory
