//===- SearchTree.h - Depth-first search over skylines --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_PROGRAM_MEMORY_SEARCH_SEARCHTREE_H
#define MF_LIB_PROGRAM_MEMORY_SEARCH_SEARCHTREE_H

#include "Skyline.h"

namespace mf::memory {

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
  Outcome run(const SearchRun &run, int64_t workLimit);

  /// Returns the offsets of the solution, by buffer of the problem.
  std::vector<int64_t> getOffsets() const;
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

  Move enter(const Stretch &stretch);
  Move advance();
  Move retry();
  Level &pushLevel(const Stretch &stretch, const View &view);
  Move openSplit(const Stretch &stretch, const View &view,
                 const std::vector<Stretch> &parts);
  void openChoices(const Stretch &stretch, const View &view, int32_t section,
                   StateHash hash);
  void findValleys(const View &view, int32_t stretchEnd);
  bool isAtBottom(int32_t buffer) const;
  int32_t chooseSection(const View &view) const;
  double rate(int32_t buffer, int32_t section, const Stretch &stretch) const;
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

} // namespace mf::memory

#endif // MF_LIB_PROGRAM_MEMORY_SEARCH_SEARCHTREE_H
