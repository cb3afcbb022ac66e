//===- RandomLines.h - Lines for property tests ---------------*- C++ -*-===//

#ifndef MF_TEST_UNIT_SIM_RANDOMLINES_H
#define MF_TEST_UNIT_SIM_RANDOMLINES_H

#include "mf/Perf/EventEngine/Lines.h"
#include <random>

/// Lines as a list of what is added to them, so that they can be added under
/// other numbers.
struct LinePlan {
  struct Action {
    int32_t line;
    mf::sim::ItemKind kind;
    /// Event or group.
    int32_t operand;
    double duration;
    /// Marks the line instead.
    bool isMark = false;
  };
  struct Group {
    double latency, seconds;
    std::vector<int32_t> links;
  };

  int32_t numLines = 0, numEvents = 0, numLinks = 0;
  std::vector<Group> groups;
  /// In an order in which they can take place.
  std::vector<Action> history;
};

/// A few lines that come to their ends. Durations are small whole numbers if
/// `isWhole`, so that much falls on the same time.
LinePlan makeRandomPlan(std::mt19937 &random, int steps, bool isWhole);

/// The numbers of a plan's lines, events, groups and links.
struct Numbers {
  std::vector<int32_t> lines, events, groups, links;
};

Numbers getPlainNumbers(const LinePlan &plan);
Numbers getRandomNumbers(const LinePlan &plan, std::mt19937 &random);

mf::sim::Lines makeLines(const LinePlan &plan, const Numbers &numbers,
                         double tick = 0);

/// The plan without its marks.
LinePlan getUnmarked(LinePlan plan);

#endif // MF_TEST_UNIT_SIM_RANDOMLINES_H
