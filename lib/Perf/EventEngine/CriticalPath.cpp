//===- CriticalPath.cpp - What the end of a simulation waits for ----------===//

#include "mf/Perf/EventEngine/CriticalPath.h"
#include <algorithm>

namespace mf::sim {

namespace {

class PathFinder {
public:
  PathFinder(const Lines &lines, const Timeline &timeline);

  std::vector<PathStep> find();

private:
  double getStart(ItemId item) const { return timeline.getStart(item); }
  ItemId findLast() const;
  /// The item whose end decides when this one ends; on its own line unless that
  /// one came earlier.
  ItemId getCause(ItemId item) const;

  const Lines &lines;
  const Timeline &timeline;
  /// The item that records each event, and the last to come to each rendezvous.
  std::vector<ItemId> recordOfEvent, lastOfGroup;
};

constexpr ItemId noItem{-1, -1};

PathFinder::PathFinder(const Lines &lines, const Timeline &timeline)
    : lines(lines), timeline(timeline),
      recordOfEvent(lines.getNumEvents(), noItem),
      lastOfGroup(lines.getNumGroups(), noItem) {
  for (LineId line = 0; line < lines.getNumLines(); ++line) {
    for (int32_t index = 0; index < lines.getNumItems(line); ++index) {
      ItemId item{line, index};
      ItemKind kind = lines.getKind(item);
      if (kind == ItemKind::Record) {
        recordOfEvent[lines.getOperand(item)] = item;
      } else if (kind == ItemKind::Rendezvous) {
        ItemId &last = lastOfGroup[lines.getOperand(item)];
        if (last == noItem || getStart(last) < getStart(item))
          last = item;
      }
    }
  }
}

ItemId PathFinder::findLast() const {
  ItemId last = noItem;
  for (LineId line = 0; line < lines.getNumLines(); ++line) {
    ItemId item{line, lines.getNumItems(line) - 1};
    if (item.index >= 0 &&
        (last == noItem || timeline.getEnd(last) < timeline.getEnd(item)))
      last = item;
  }
  return last;
}

ItemId PathFinder::getCause(ItemId item) const {
  switch (lines.getKind(item)) {
  case ItemKind::Wait:
    if (getStart(item) < timeline.getEnd(item))
      return recordOfEvent[lines.getOperand(item)];
    return item;
  case ItemKind::Rendezvous: {
    ItemId last = lastOfGroup[lines.getOperand(item)];
    return getStart(item) < getStart(last) ? last : item;
  }
  case ItemKind::Work:
  case ItemKind::Record:
    return item;
  }
  llvm_unreachable("covers all kinds");
}

std::vector<PathStep> PathFinder::find() {
  std::vector<PathStep> path;
  ItemId item = findLast();
  while (item.index >= 0) {
    ItemId cause = getCause(item);
    PathStep step{cause, getStart(cause), timeline.getEnd(cause)};
    if (step.start < step.end)
      path.push_back(step);
    item = {cause.line, cause.index - 1};
  }
  std::reverse(path.begin(), path.end());
  return path;
}

} // namespace

std::vector<PathStep> findCriticalPath(const Lines &lines,
                                       const Timeline &timeline) {
  return PathFinder(lines, timeline).find();
}

} // namespace mf::sim
