//===- CapacitySearch.cpp - Search for a fit within a capacity ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "PackSearch.h"
#include "Skyline.h"
#include "lib/Program/Memory/packing/StableSort.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <array>
#include <cmath>

namespace mf::memory {

//===----------------------------------------------------------------------===//
// Depth-first search over skylines
//===----------------------------------------------------------------------===//

namespace {

/// States that are known to have no solution. If two have the same slot, the
/// later one is kept.
class FailedStates {
public:
  FailedStates() : slots(1 << 10) {}
  bool contains(StateHash hash) const {
    return slots[hash.low & (slots.size() - 1)] == hash;
  }
  void insert(StateHash hash) {
    if (++numInserted > slots.size() / 2 && slots.size() < maxSlots)
      grow();
    slots[hash.low & (slots.size() - 1)] = hash;
  }

private:
  static constexpr size_t maxSlots = size_t(1) << 20;
  void grow() {
    std::vector<StateHash> old(slots.size() * 4);
    old.swap(slots);
    for (StateHash hash : old)
      if (!(hash == StateHash()))
        slots[hash.low & (slots.size() - 1)] = hash;
  }

  /// The number of slots is a power of two.
  std::vector<StateHash> slots;
  size_t numInserted = 0;
};

/// The rule by which the search chooses the section of a valley to branch on.
enum class SectionRule {
  /// The fewest buffers that can be next, then the least slack, then the
  /// lowest.
  FewestChoices,
  /// The least slack, then the fewest choices, then the lowest.
  Tightest,
  /// The lowest, then the fewest choices, then the least slack.
  LowestFewest,
};

/// The rules for the choices of one run of the search.
struct SearchRun {
  SectionRule sectionRule = SectionRule::FewestChoices;
  /// For each buffer, its priority. Higher ones are tried earlier.
  std::vector<double> priorities;
  /// True to first try buffers that fill a valley's corner or end level with
  /// its wall.
  bool preferCorners = false;
  /// The number of buffers to consider from the first incomplete section on.
  /// Buffers that begin later wait.
  int32_t horizon = std::numeric_limits<int32_t>::max();
  int64_t nodeLimit = 0;
};

/// Searches depth first for a complete skyline within the capacity.
class SearchTree {
public:
  enum class Outcome { Solved, Exhausted, LimitReached };

  SearchTree(const SearchProblem &problem, FailedStates &failed)
      : problem(problem), skyline(problem), failed(failed),
        choiceCounts(problem.numSections + 1) {}

  /// Restarts the search. It ends when a limit is reached: on nodes, or on the
  /// total work of all runs.
  Outcome run(const SearchRun &run, int64_t workLimit) {
    current = &run;
    skyline.reset();
    depth = 0;
    entered = {0, problem.numSections, run.horizon};
    int64_t lastNode = nodes + run.nodeLimit;
    Move move = Move::Enter;
    while (true) {
      if (move == Move::Enter) {
        if (nodes >= lastNode || getWork() >= workLimit)
          return Outcome::LimitReached;
        ++nodes;
        move = enter(entered);
        continue;
      }
      if (depth == 0)
        return move == Move::Solved ? Outcome::Solved : Outcome::Exhausted;
      move = move == Move::Solved ? advance() : retry();
    }
  }

  /// Returns the offsets of the solution, by buffer of the problem.
  std::vector<int64_t> getOffsets() const {
    std::vector<int64_t> offsets;
    for (size_t i = 0; i < problem.buffers.size(); ++i)
      offsets.push_back(skyline.getOffset(static_cast<int32_t>(i)));
    return offsets;
  }

  int64_t getNodes() const { return nodes; }
  int64_t getWork() const { return skyline.getWork() + work; }

private:
  /// An alternative: a buffer and its offset, or leaving the section empty.
  struct Choice {
    int32_t buffer;
    int64_t offset;
  };
  /// A point to return to: alternatives for a section of a stretch, or parts
  /// that are solved one after another.
  struct Level {
    bool isSplit = false;
    Stretch stretch;
    View view;
    Skyline::Mark mark = 0;
    StateHash hash;
    int32_t section = 0;
    int64_t bottom = 0;
    std::vector<Choice> choices;
    std::vector<Stretch> parts;
    size_t next = 0;
    bool emptyTried = false;
  };
  /// The next action of the search.
  enum class Move { Enter, Solved, Failed };

  Move enter(const Stretch &whole) {
    Stretch stretch = whole;
    while (true) {
      View view = skyline.getView(stretch);
      if (skyline.isComplete(view)) {
        if (view.end == stretch.end)
          return Move::Solved;
        stretch.begin = view.end;
        continue;
      }
      if (!skyline.propagate(view))
        return Move::Failed;
      std::vector<Stretch> parts = skyline.split(stretch, view);
      if (parts.size() > 1)
        return openSplit(stretch, view, parts);
      if (parts.front().begin > stretch.begin) {
        stretch = parts.front();
        continue;
      }
      stretch.end = parts.front().end;
      findValleys(view, stretch.end);
      int32_t section = chooseSection(view);
      if (section < 0) {
        // The skyline falls throughout the view, so its lowest part is beyond.
        stretch.horizon = 2 * (view.lastBuffer - view.firstBuffer);
        continue;
      }
      StateHash hash = skyline.getHash(view);
      if (failed.contains(hash))
        return Move::Failed;
      openChoices(stretch, view, section, hash);
      return retry();
    }
  }

  /// Handles a solved part, whose decisions all stay. Continues with the next
  /// part of the innermost split.
  Move advance() {
    Level &level = levels[depth - 1];
    if (!level.isSplit || level.next == level.parts.size()) {
      --depth;
      return Move::Solved;
    }
    entered = level.parts[level.next++];
    return Move::Enter;
  }

  /// Undoes the innermost decision and takes the next alternative. The parts of
  /// a split are independent: if one has no solution, changing the others does
  /// not help.
  Move retry() {
    Level &level = levels[depth - 1];
    skyline.undo(level.mark);
    if (!level.isSplit && level.next < level.choices.size()) {
      Choice choice = level.choices[level.next++];
      skyline.place(choice.buffer, choice.offset);
      entered = level.stretch;
      return Move::Enter;
    }
    if (!level.isSplit && !level.emptyTried) {
      level.emptyTried = true;
      int64_t slack = skyline.getSlack(level.section);
      if (slack > 0) {
        int64_t height =
            skyline.getHeightAboveBottom(level.view, level.section);
        if (height - level.bottom <= slack) {
          skyline.raise(level.section, height);
          entered = level.stretch;
          return Move::Enter;
        }
      }
    }
    if (!level.isSplit)
      failed.insert(level.hash);
    --depth;
    return Move::Failed;
  }

  Level &pushLevel(const Stretch &stretch, const View &view) {
    if (levels.size() == depth)
      levels.emplace_back();
    Level &level = levels[depth++];
    level.stretch = stretch;
    level.view = view;
    level.mark = skyline.getMark();
    level.choices.clear();
    level.parts.clear();
    level.next = 0;
    level.emptyTried = false;
    return level;
  }

  Move openSplit(const Stretch &stretch, const View &view,
                 const std::vector<Stretch> &parts) {
    Level &level = pushLevel(stretch, view);
    level.isSplit = true;
    level.parts = parts;
    // The part that is most likely to fail comes first, but not before the
    // parts in view.
    std::vector<int64_t> slacks;
    for (const Stretch &part : parts) {
      int64_t slack = problem.capacity;
      for (int32_t s = part.begin; s < std::min(part.end, view.end); ++s)
        slack = std::min(slack, skyline.getSlack(s));
      slacks.push_back(part.end > view.end ? problem.capacity : slack);
    }
    std::vector<size_t> order =
        getSortedIndices<size_t>(parts.size(), [&](size_t a, size_t b) {
          return slacks[a] < slacks[b];
        });
    for (size_t i = 0; i < parts.size(); ++i)
      level.parts[i] = parts[order[i]];
    return advance();
  }

  void openChoices(const Stretch &stretch, const View &view, int32_t section,
                   StateHash hash) {
    Level &level = pushLevel(stretch, view);
    level.isSplit = false;
    level.hash = hash;
    level.section = section;
    level.bottom = skyline.getFloor(section);
    struct Candidate {
      double rating;
      int32_t buffer;
    };
    std::vector<Candidate> candidates;
    for (int32_t index = view.firstBuffer; index < view.lastBuffer; ++index) {
      const SearchBuffer &buffer = problem.buffers[index];
      if (!skyline.isPlaced(index) && buffer.begin <= level.section &&
          level.section < buffer.end && isAtBottom(index))
        candidates.push_back({rate(index, level.section, stretch), index});
    }
    std::sort(candidates.begin(), candidates.end(),
              [](const Candidate &a, const Candidate &b) {
                return a.rating != b.rating ? a.rating > b.rating
                                            : a.buffer < b.buffer;
              });
    for (const Candidate &candidate : candidates) {
      const SearchBuffer &buffer = problem.buffers[candidate.buffer];
      // One of several equal buffers is enough.
      bool isRepeated = llvm::any_of(level.choices, [&](const Choice &choice) {
        const SearchBuffer &other = problem.buffers[choice.buffer];
        return other.begin == buffer.begin && other.end == buffer.end &&
               other.size == buffer.size && other.alignment == buffer.alignment;
      });
      if (!isRepeated)
        level.choices.push_back(
            {candidate.buffer, skyline.getLowest(candidate.buffer)});
    }
    work += static_cast<int64_t>(candidates.size()) * 16;
  }

  /// Marks the sections of all valleys and counts for each the buffers that can
  /// be at its bottom.
  void findValleys(const View &view, int32_t stretchEnd) {
    Stretch stretch = {view.begin, stretchEnd, 0};
    auto height = [&](int32_t section) { return getHeight(section, stretch); };
    inValley.resize(problem.numSections + 1);
    std::fill(inValley.begin() + view.begin, inValley.begin() + view.end, 0);
    for (int32_t s = view.begin; s < view.end;) {
      int32_t end = s + 1;
      while (end < stretchEnd && height(end) == height(s))
        ++end;
      if (height(s - 1) > height(s) && height(end) > height(s))
        std::fill(inValley.begin() + s,
                  inValley.begin() + std::min(end, view.end), 1);
      s = end;
    }
    std::fill(choiceCounts.begin() + view.begin,
              choiceCounts.begin() + view.lastEnd + 1, 0);
    for (int32_t index = view.firstBuffer; index < view.lastBuffer; ++index) {
      if (skyline.isPlaced(index) || !isAtBottom(index))
        continue;
      ++choiceCounts[problem.buffers[index].begin];
      --choiceCounts[problem.buffers[index].end];
    }
    for (int32_t s = view.begin + 1; s < view.end; ++s)
      choiceCounts[s] += choiceCounts[s - 1];
    work += 4 * (view.end - view.begin);
  }

  /// Returns whether the buffer can be at the bottom of the valley in which it
  /// begins: it is inside of the valley as a whole, and no obstacle prevents
  /// it.
  bool isAtBottom(int32_t index) const {
    const SearchBuffer &buffer = problem.buffers[index];
    if (!inValley[buffer.begin])
      return false;
    int64_t bottom = skyline.getFloor(buffer.begin);
    if (problem.isUniform)
      return skyline.getLowest(index) == bottom;
    // With mixed alignments, the bottom may be misaligned for it.
    for (int32_t s = buffer.begin; s < buffer.end; ++s)
      if (skyline.getFloor(s) != bottom)
        return false;
    return skyline.getLowest(index) - bottom < buffer.alignment;
  }

  int32_t chooseSection(const View &view) const {
    using Key = std::array<int64_t, 3>;
    int32_t best = -1;
    Key bestKey = {};
    for (int32_t s = view.begin; s < view.end; ++s) {
      if (!inValley[s] || choiceCounts[s] == 0)
        continue;
      int64_t slack = skyline.getSlack(s), floor = skyline.getFloor(s);
      int64_t count = choiceCounts[s] + (slack > 0);
      Key key;
      switch (current->sectionRule) {
      case SectionRule::FewestChoices:
        key = {count, slack, floor};
        break;
      case SectionRule::Tightest:
        key = {slack, count, floor};
        break;
      case SectionRule::LowestFewest:
        key = {floor, count, slack};
        break;
      }
      if (best < 0 || key < bestKey) {
        bestKey = key;
        best = s;
      }
    }
    return best;
  }

  double rate(int32_t index, int32_t section, const Stretch &stretch) const {
    double rating = current->priorities[index];
    if (!current->preferCorners)
      return rating;
    constexpr double bonus = 1e18;
    const SearchBuffer &buffer = problem.buffers[index];
    int64_t bottom = skyline.getFloor(section), top = bottom + buffer.size;
    for (int64_t wall :
         {getHeight(buffer.begin - 1, stretch), getHeight(buffer.end, stretch)})
      if (wall > bottom)
        rating += wall == top ? 3 * bonus : bonus;
    return rating;
  }

  int64_t getHeight(int32_t section, const Stretch &stretch) const {
    return section < stretch.begin || section >= stretch.end
               ? std::numeric_limits<int64_t>::max()
               : skyline.getHeight(section);
  }

  const SearchProblem &problem;
  Skyline skyline;
  FailedStates &failed;
  const SearchRun *current = nullptr;
  std::vector<Level> levels;
  size_t depth = 0;
  Stretch entered;
  /// For each section, the number of buffers that can be next at the bottom of
  /// its valley.
  std::vector<int32_t> choiceCounts;
  std::vector<char> inValley;
  int64_t nodes = 0;
  int64_t work = 0;
};

} // namespace

//===----------------------------------------------------------------------===//
// Search for a fit within a capacity
//===----------------------------------------------------------------------===//

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

/// Returns a number in [0, 1) that depends on the arguments only.
double getNoise(uint64_t round, uint64_t index) {
  uint64_t value = round * 0x9e3779b97f4a7c15 + index * 0xd1b54a32d192ed03;
  value = (value ^ (value >> 32)) * 0xd6e8feb86659fd93;
  value = (value ^ (value >> 32)) * 0xd6e8feb86659fd93;
  value ^= value >> 32;
  return static_cast<double>(value >> 11) * 0x1p-53;
}

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

  SearchTree::Outcome run() {
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

  const SearchTree &getTree() const { return tree; }

private:
  std::vector<double> getPriorities(PriorityRule rule, uint64_t round) const {
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
      // The first round of each rule is exact. Later ones multiply priorities
      // by a random factor.
      if (round > 0)
        priority *= std::exp(getNoise(round, i) - 0.5);
      priorities.push_back(priority);
    }
    return priorities;
  }

  const SearchProblem &problem;
  int64_t workLimit;
  int32_t horizon;
  FailedStates failed;
  SearchTree tree;
  /// For each section, the bytes that are live in it.
  std::vector<int64_t> contention;
};

} // namespace

CapacitySearchResult searchWithin(const PackProblem &pack, int64_t capacity,
                                  int64_t work, int32_t horizon) {
  CapacitySearchResult result;
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
  if (outcome == SearchTree::Outcome::Solved) {
    result.status = CapacitySearchResult::Status::Fit;
    return result;
  }
  result.offsets.clear();
  if (outcome == SearchTree::Outcome::Exhausted && search.isExact)
    result.status = CapacitySearchResult::Status::Infeasible;
  return result;
}

} // namespace mf::memory
