//===- SearchTree.h - Depth-first search over skylines --------*- C++ -*-===//

#ifndef MF_MEMORY_SEARCHTREE_H
#define MF_MEMORY_SEARCHTREE_H

#include "Skyline.h"

namespace mf::memory {

/// States known to have no solution. Of two that fall into one slot the later
/// stays.
class FailedStates {
public:
  explicit FailedStates(size_t log2Slots)
      : slots(size_t(1) << log2Slots), mask(slots.size() - 1) {}
  bool contains(StateHash hash) const { return slots[hash.low & mask] == hash; }
  void insert(StateHash hash) { slots[hash.low & mask] = hash; }

private:
  std::vector<StateHash> slots;
  size_t mask;
};

/// Which of the valleys' sections to branch on.
enum class SectionRule {
  /// Fewest buffers that can be next, then least slack, then lowest.
  FewestChoices,
  /// Least slack, then fewest choices, then lowest.
  Tightest,
  /// Lowest, then fewest choices, then least slack.
  LowestFewest,
};

/// How one run of the search decides.
struct SearchRun {
  SectionRule sectionRule = SectionRule::FewestChoices;
  /// By buffer: the larger the earlier it is tried.
  std::vector<double> priorities;
  /// Try first what fills a valley's corner or ends level with its wall.
  bool preferCorners = false;
  int64_t nodeLimit = 0;
};

/// Searches depth first for a complete skyline within the capacity.
class SearchTree {
public:
  enum class Outcome { Solved, Exhausted, LimitReached };

  SearchTree(const SearchProblem &problem, FailedStates &failed)
      : problem(problem), skyline(problem), failed(failed),
        choiceCounts(problem.numSections + 1) {}

  /// Starts over; ends when a limit is reached: on nodes, or on work counted
  /// over all runs.
  Outcome run(const SearchRun &run, int64_t workLimit);

  /// Offsets of the solution, by buffer of the problem.
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
  /// to be solved one after the other.
  struct Frame {
    bool isSplit = false;
    Stretch stretch;
    Skyline::Mark mark = 0;
    StateHash hash;
    int32_t section = 0;
    int64_t bottom = 0;
    std::vector<Choice> choices;
    std::vector<Stretch> parts;
    size_t next = 0;
    bool emptyTried = false;
  };
  /// What is to be done next.
  enum class Step { Enter, Solved, Failed };

  Step enter(const Stretch &stretch);
  Step advance();
  Step retry();
  Step openSplit(const Stretch &stretch, std::vector<Stretch> parts);
  void openChoices(const Stretch &stretch, StateHash hash);
  void findValleys(const Stretch &stretch);
  bool isAtBottom(int32_t buffer) const;
  int32_t chooseSection(const Stretch &stretch) const;
  double rate(int32_t buffer, int32_t section, const Stretch &stretch) const;

  const SearchProblem &problem;
  Skyline skyline;
  FailedStates &failed;
  const SearchRun *current = nullptr;
  std::vector<Frame> frames;
  size_t depth = 0;
  Stretch entered;
  /// By section: how many buffers can be next at the bottom of its valley.
  std::vector<int32_t> choiceCounts;
  std::vector<char> inValley;
  int64_t nodes = 0;
  int64_t work = 0;
};

} // namespace mf::memory

#endif // MF_MEMORY_SEARCHTREE_H
