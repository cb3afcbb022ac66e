//===- Lines.cpp - Queues and what they wait for --------------------------===//

#include "mf/Perf/EventEngine/Lines.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

namespace mf::sim {

LineId Lines::addLine() {
  lines.emplace_back();
  return getNumLines() - 1;
}

EventId Lines::addEvents(int32_t count) {
  numEvents += count;
  return numEvents - count;
}

GroupId Lines::addGroup(double duration) {
  groups.emplace_back().latency = round(duration);
  return getNumGroups() - 1;
}

GroupId Lines::addTransfer(double latency, double seconds,
                           llvm::ArrayRef<LinkId> used) {
  Group &group = groups.emplace_back();
  group.latency = round(latency);
  group.seconds = round(seconds);
  group.firstLink = static_cast<int32_t>(links.size());
  for (LinkId link : used)
    // A transfer uses a link once.
    if (!llvm::is_contained(llvm::ArrayRef(links).drop_front(group.firstLink),
                            link))
      links.push_back(link);
  group.numLinks = static_cast<int32_t>(links.size()) - group.firstLink;
  return getNumGroups() - 1;
}

void Lines::reserve(LineId line, size_t items, size_t works) {
  lines[line].codes.reserve(items);
  lines[line].durations.reserve(works);
}

double Lines::getDuration(ItemId item) const {
  switch (getKind(item)) {
  case ItemKind::Work:
    return lines[item.line].durations[getOperand(item)];
  case ItemKind::Rendezvous: {
    const Group &group = groups[getOperand(item)];
    return group.latency + group.seconds;
  }
  case ItemKind::Wait:
  case ItemKind::Record:
    return 0;
  }
  llvm_unreachable("covers all kinds");
}

double Timeline::getEnd() const {
  double end = 0;
  for (LineId line = 0; line < static_cast<LineId>(lines.size()); ++line)
    end = std::max(end, getEnd(line));
  return end;
}

double Timeline::getEnd(const Line &line, int32_t index) {
  int32_t skipped = 0;
  for (const Skip &skip : line.skips) {
    int32_t behind = index - skip.first;
    if (behind < 0)
      break;
    if (behind < skip.getNumItems()) {
      int32_t period = behind / skip.items;
      int32_t simulated = skip.first - skip.items + behind % skip.items;
      return line.ends[simulated - skipped] + (period + 1) * skip.shift;
    }
    skipped += skip.getNumItems();
  }
  return line.ends[index - skipped];
}

int64_t Timeline::getNumSkipped() const {
  int64_t skipped = 0;
  for (const Line &line : lines)
    for (const Skip &skip : line.skips)
      skipped += skip.getNumItems();
  return skipped;
}

char DeadlockError::ID = 0; // NOLINT(readability-identifier-naming)

} // namespace mf::sim
