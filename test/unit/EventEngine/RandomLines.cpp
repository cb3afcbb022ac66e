//===- RandomLines.cpp - Lines for property tests -------------------------===//

#include "RandomLines.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <numeric>

using namespace mf::sim;

namespace {

class LineDrawer {
public:
  LineDrawer(std::mt19937 &random, bool isWhole)
      : random(random), isWhole(isWhole) {}

  int draw(int from, int to) {
    return std::uniform_int_distribution<int>(from, to)(random);
  }
  double drawDuration(int most) {
    if (isWhole)
      return draw(0, most);
    return std::uniform_real_distribution<double>(0, most)(random);
  }
  /// Some of the numbers up to `count`.
  std::vector<int32_t> drawSome(int32_t count) {
    std::vector<int32_t> some;
    for (int32_t number = 0; number < count; ++number)
      if (draw(0, 2) == 0)
        some.push_back(number);
    return some;
  }

private:
  std::mt19937 &random;
  bool isWhole;
};

std::vector<int32_t> count(int32_t size) {
  std::vector<int32_t> numbers(size);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

/// `inverse[numbers[i]] == i`.
std::vector<int32_t> invert(const std::vector<int32_t> &numbers) {
  std::vector<int32_t> inverse(numbers.size());
  for (size_t index = 0; index < numbers.size(); ++index)
    inverse[numbers[index]] = static_cast<int32_t>(index);
  return inverse;
}

} // namespace

LinePlan makeRandomPlan(std::mt19937 &random, int steps, bool isWhole) {
  LineDrawer drawer(random, isWhole);
  LinePlan plan;
  plan.numLines = drawer.draw(1, 7);
  plan.numLinks = drawer.draw(0, 4);
  for (int step = 0; step < steps; ++step) {
    int32_t line = drawer.draw(0, plan.numLines - 1);
    switch (drawer.draw(0, 3)) {
    case 0:
      plan.history.push_back({line, ItemKind::Work, 0, drawer.drawDuration(9)});
      break;
    case 1: {
      int32_t event = plan.numEvents++;
      plan.history.push_back({line, ItemKind::Record, event, 0});
      for (int waits = drawer.draw(0, 3); waits > 0; --waits)
        plan.history.push_back(
            {drawer.draw(0, plan.numLines - 1), ItemKind::Wait, event, 0});
      break;
    }
    default: {
      auto group = static_cast<int32_t>(plan.groups.size());
      plan.groups.push_back({drawer.drawDuration(2), drawer.drawDuration(9),
                             drawer.drawSome(plan.numLinks)});
      std::vector<int32_t> parties = drawer.drawSome(plan.numLines);
      if (parties.empty())
        parties.push_back(line);
      for (int32_t party : parties)
        plan.history.push_back({party, ItemKind::Rendezvous, group, 0});
    }
    }
  }
  return plan;
}

Numbers getPlainNumbers(const LinePlan &plan) {
  return {count(plan.numLines), count(plan.numEvents),
          count(static_cast<int32_t>(plan.groups.size())),
          count(plan.numLinks)};
}

Numbers getRandomNumbers(const LinePlan &plan, std::mt19937 &random) {
  Numbers numbers = getPlainNumbers(plan);
  for (std::vector<int32_t> *list :
       {&numbers.lines, &numbers.events, &numbers.groups, &numbers.links})
    std::shuffle(list->begin(), list->end(), random);
  return numbers;
}

Lines makeLines(const LinePlan &plan, const Numbers &numbers, double tick) {
  Lines lines(tick);
  for (int32_t line = 0; line < plan.numLines; ++line)
    lines.addLine();
  lines.addEvents(plan.numEvents);
  for (int32_t link = 0; link < plan.numLinks; ++link)
    lines.addLink();
  for (int32_t group : invert(numbers.groups)) {
    const LinePlan::Group &costs = plan.groups[group];
    std::vector<LinkId> links;
    for (int32_t link : costs.links)
      links.push_back(numbers.links[link]);
    lines.addTransfer(costs.latency, costs.seconds, links);
  }
  for (const LinePlan::Action &action : plan.history) {
    LineId line = numbers.lines[action.line];
    if (action.isMark) {
      lines.markPeriod(line);
      continue;
    }
    switch (action.kind) {
    case ItemKind::Work:
      lines.addWork(line, action.duration);
      break;
    case ItemKind::Wait:
      lines.addWait(line, numbers.events[action.operand]);
      break;
    case ItemKind::Record:
      lines.addRecord(line, numbers.events[action.operand]);
      break;
    case ItemKind::Rendezvous:
      lines.addRendezvous(line, numbers.groups[action.operand]);
      break;
    }
  }
  return lines;
}

LinePlan getUnmarked(LinePlan plan) {
  llvm::erase_if(plan.history,
                 [](const LinePlan::Action &action) { return action.isMark; });
  return plan;
}
