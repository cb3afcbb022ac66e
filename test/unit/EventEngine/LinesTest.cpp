//===- LinesTest.cpp - Queues in time -------------------------------------===//

#include "mf/Perf/EventEngine/Lines.h"
#include "gmock/gmock.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <optional>
#include <random>

using namespace mf::sim;

namespace {

Timeline run(const Lines &lines) {
  llvm::Expected<Timeline> timeline = simulate(lines);
  EXPECT_TRUE(static_cast<bool>(timeline))
      << llvm::toString(timeline.takeError());
  return timeline ? std::move(*timeline) : Timeline();
}

/// The message and the items of the deadlock.
std::pair<std::string, std::vector<ItemId>> getDeadlock(const Lines &lines) {
  llvm::Expected<Timeline> timeline = simulate(lines);
  std::pair<std::string, std::vector<ItemId>> found;
  if (timeline) {
    ADD_FAILURE() << "no deadlock";
    return found;
  }
  llvm::handleAllErrors(timeline.takeError(), [&](const DeadlockError &error) {
    found = {error.message(), error.getItems()};
  });
  return found;
}

TEST(LinesTest, NothingTakesNoTime) {
  Lines lines;
  EXPECT_EQ(run(lines).getEnd(), 0);
  lines.addLine();
  EXPECT_EQ(run(lines).getEnd(), 0);
}

TEST(LinesTest, EventsHoldLines) {
  Lines lines;
  LineId first = lines.addLine(), second = lines.addLine();
  EventId event = lines.addEvents();
  ItemId wait = lines.addWait(first, event);
  ItemId after = lines.addWork(first, 2);
  lines.addWork(second, 5);
  lines.addRecord(second, event);
  lines.addWork(second, 1);
  Timeline timeline = run(lines);
  EXPECT_EQ(timeline.getStart(wait), 0);
  EXPECT_EQ(timeline.getEnd(wait), 5);
  EXPECT_EQ(timeline.getStart(after), 5);
  EXPECT_EQ(timeline.getEnd(first), 7);
  EXPECT_EQ(timeline.getEnd(second), 6);
  EXPECT_EQ(timeline.getEnd(), 7);
}

TEST(LinesTest, OneEventHoldsManyLines) {
  Lines lines;
  EventId event = lines.addEvents();
  for (int line = 0; line < 5; ++line)
    lines.addWait(lines.addLine(), event);
  LineId last = lines.addLine();
  lines.addWork(last, 3);
  lines.addRecord(last, event);
  Timeline timeline = run(lines);
  for (LineId line = 0; line < 5; ++line)
    EXPECT_EQ(timeline.getEnd(line), 3);
}

TEST(LinesTest, RendezvousStartsWithTheLastAndEndsForAll) {
  Lines lines;
  GroupId group = lines.addGroup(4);
  std::vector<ItemId> parties;
  for (double before : {1.0, 7.0, 3.0}) {
    LineId line = lines.addLine();
    lines.addWork(line, before);
    parties.push_back(lines.addRendezvous(line, group));
    lines.addWork(line, 1);
  }
  Timeline timeline = run(lines);
  EXPECT_EQ(timeline.getStart(parties[0]), 1);
  for (ItemId party : parties)
    EXPECT_EQ(timeline.getEnd(party), 11);
  EXPECT_EQ(timeline.getEnd(), 12);
}

TEST(LinesTest, DeadlockNamesTheItemsOfTheCycle) {
  Lines lines;
  LineId first = lines.addLine(), second = lines.addLine();
  LineId bystander = lines.addLine();
  EventId events = lines.addEvents(3);
  lines.addWait(bystander, events + 2);
  lines.addWork(first, 1);
  lines.addWait(first, events);
  lines.addRecord(first, events + 1);
  lines.addWait(second, events + 1);
  lines.addRecord(second, events);
  lines.addRecord(second, events + 2);
  auto [message, items] = getDeadlock(lines);
  EXPECT_EQ(message, "deadlock: item 1 of line 0 waits for item 1 of line 1, "
                     "item 0 of line 1 waits for item 2 of line 0");
  EXPECT_EQ(items, (std::vector<ItemId>{{0, 1}, {1, 0}}));
}

TEST(LinesTest, DeadlockOfCrossedRendezvous) {
  Lines lines;
  LineId first = lines.addLine(), second = lines.addLine();
  GroupId one = lines.addGroup(1), two = lines.addGroup(1);
  lines.addRendezvous(first, one);
  lines.addRendezvous(first, two);
  lines.addRendezvous(second, two);
  lines.addRendezvous(second, one);
  auto [message, items] = getDeadlock(lines);
  EXPECT_EQ(message, "deadlock: item 0 of line 0 waits for item 1 of line 1, "
                     "item 0 of line 1 waits for item 1 of line 0");
  EXPECT_EQ(items.size(), 2u);
}

TEST(LinesTest, DeadlockOfOneLine) {
  Lines lines;
  LineId line = lines.addLine();
  lines.addWait(line, lines.addEvents());
  EXPECT_EQ(getDeadlock(lines).first,
            "item 0 of line 0 waits for an event that nothing records");

  Lines twice;
  line = twice.addLine();
  GroupId group = twice.addGroup(1);
  twice.addRendezvous(line, group);
  twice.addRendezvous(line, group);
  EXPECT_EQ(getDeadlock(twice).first,
            "deadlock: item 0 of line 0 waits for item 1 of line 0");
}

TEST(LinesTest, CallersNameItems) {
  Lines lines;
  lines.addWait(lines.addLine(), lines.addEvents());
  llvm::Expected<Timeline> timeline =
      simulate(lines, [](ItemId) { return std::string("the copy"); });
  EXPECT_EQ(llvm::toString(timeline.takeError()),
            "the copy waits for an event that nothing records");
}

//===----------------------------------------------------------------------===//
// Random lines against a simulation that only applies the definition
//===----------------------------------------------------------------------===//

/// Ends of all items by going over all lines until nothing changes; nothing if
/// an item does not end.
std::optional<std::vector<std::vector<double>>> simulateSlowly(const Lines &l) {
  std::vector<std::vector<double>> ends(l.getNumLines());
  std::vector<std::optional<double>> events(l.getNumEvents());
  auto getTime = [&](LineId line) {
    return ends[line].empty() ? 0 : ends[line].back();
  };
  auto getNext = [&](LineId line) {
    return ItemId{line, static_cast<int32_t>(ends[line].size())};
  };
  auto isAtEnd = [&](LineId line) {
    return getNext(line).index == l.getNumItems(line);
  };
  auto tryGroup = [&](GroupId group) {
    std::vector<LineId> parties;
    double start = 0;
    for (LineId line = 0; line < l.getNumLines(); ++line)
      if (!isAtEnd(line) && l.getKind(getNext(line)) == ItemKind::Rendezvous &&
          l.getOperand(getNext(line)) == group) {
        parties.push_back(line);
        start = std::max(start, getTime(line));
      }
    if (static_cast<int32_t>(parties.size()) != l.getGroupSize(group))
      return false;
    double end = start + l.getDuration(getNext(parties[0]));
    for (LineId line : parties)
      ends[line].push_back(end);
    return true;
  };
  auto step = [&](LineId line) {
    ItemId item = getNext(line);
    double time = getTime(line);
    switch (l.getKind(item)) {
    case ItemKind::Work:
      ends[line].push_back(time + l.getDuration(item));
      return true;
    case ItemKind::Record:
      events[l.getOperand(item)] = time;
      ends[line].push_back(time);
      return true;
    case ItemKind::Wait:
      if (!events[l.getOperand(item)])
        return false;
      ends[line].push_back(std::max(time, *events[l.getOperand(item)]));
      return true;
    case ItemKind::Rendezvous:
      return tryGroup(l.getOperand(item));
    }
    return false;
  };
  for (bool changes = true; changes;) {
    changes = false;
    for (LineId line = 0; line < l.getNumLines(); ++line)
      while (!isAtEnd(line) && step(line))
        changes = true;
  }
  for (LineId line = 0; line < l.getNumLines(); ++line)
    if (!isAtEnd(line))
      return std::nullopt;
  return ends;
}

/// A few lines of items in random order: events and groups are in the order of
/// one history, or of another if `shuffles`, so that some deadlock.
Lines makeRandomLines(std::mt19937 &random, bool shuffles) {
  auto draw = [&](int from, int to) {
    return std::uniform_int_distribution<int>(from, to)(random);
  };
  Lines lines;
  int numLines = draw(1, 6);
  struct Action {
    LineId line;
    ItemKind kind;
    int32_t operand;
  };
  std::vector<Action> history;
  for (int line = 0; line < numLines; ++line)
    lines.addLine();
  for (int step = draw(0, 30); step > 0; --step) {
    LineId line = draw(0, numLines - 1);
    switch (draw(0, 2)) {
    case 0:
      history.push_back({line, ItemKind::Work, draw(0, 9)});
      break;
    case 1: {
      EventId event = lines.addEvents();
      history.push_back({line, ItemKind::Record, event});
      for (int waits = draw(0, 3); waits > 0; --waits)
        history.push_back({draw(0, numLines - 1), ItemKind::Wait, event});
      break;
    }
    default: {
      GroupId group = lines.addGroup(draw(0, 5));
      for (LineId party = line; party < numLines; ++party)
        history.push_back({party, ItemKind::Rendezvous, group});
    }
    }
  }
  for (int swaps = shuffles ? draw(0, 6) : 0; swaps > 0 && !history.empty();
       --swaps)
    std::swap(history[draw(0, history.size() - 1)],
              history[draw(0, history.size() - 1)]);
  for (const Action &action : history) {
    if (action.kind == ItemKind::Work)
      lines.addWork(action.line, action.operand);
    else if (action.kind == ItemKind::Record)
      lines.addRecord(action.line, action.operand);
    else if (action.kind == ItemKind::Wait)
      lines.addWait(action.line, action.operand);
    else
      lines.addRendezvous(action.line, action.operand);
  }
  return lines;
}

/// Nobody in the cycle can go on: each member's line waits in an item that is
/// not work, and so on.
void expectCycle(const Lines &lines, llvm::ArrayRef<ItemId> items) {
  ASSERT_FALSE(items.empty());
  for (ItemId item : items) {
    EXPECT_NE(lines.getKind(item), ItemKind::Work);
    EXPECT_NE(lines.getKind(item), ItemKind::Record);
    EXPECT_EQ(std::count(items.begin(), items.end(), item), 1);
  }
}

TEST(LinesTest, RandomLinesAsByDefinition) {
  std::mt19937 random(7);
  int deadlocks = 0;
  for (int round = 0; round < 4000; ++round) {
    Lines lines = makeRandomLines(random, round % 2 != 0);
    auto expected = simulateSlowly(lines);
    llvm::Expected<Timeline> found = simulate(lines);
    ASSERT_EQ(static_cast<bool>(found), expected.has_value()) << round;
    if (found) {
      for (LineId line = 0; line < lines.getNumLines(); ++line)
        for (int32_t index = 0; index < lines.getNumItems(line); ++index)
          EXPECT_EQ(found->getEnd(ItemId{line, index}),
                    (*expected)[line][index])
              << round;
      continue;
    }
    ++deadlocks;
    EXPECT_EQ(round % 2, 1) << "an order that comes from a history runs";
    llvm::handleAllErrors(found.takeError(), [&](const DeadlockError &error) {
      expectCycle(lines, error.getItems());
    });
  }
  EXPECT_GT(deadlocks, 200);
}

} // namespace
