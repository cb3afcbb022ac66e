//===- SharedLinks.cpp - Transfers that share links -----------------------===//
//
// Changes at one time are processed together: first all transfers that end
// leave their links, then those that start join theirs, then shares change. So
// nothing depends on the order of transfers or links. Only differences of times
// go into how long a transfer takes, so with a tick a shift in time changes no
// bit.
//
//===----------------------------------------------------------------------===//

#include "SharedLinks.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

namespace mf::sim {

SharedLinks::SharedLinks(const Lines &lines)
    : lines(lines), linkIsShared(lines.getNumLinks()),
      users(lines.getNumLinks()) {
  if (lines.getNumLinks() > 0)
    findSharedLinks();
}

/// A line that is part of all transfers over a link lets only one of them start
/// at a time. Looks at two lines of each.
void SharedLinks::findSharedLinks() {
  constexpr LineId none = -1, any = -2;
  std::vector<std::array<LineId, 2>> common(lines.getNumLinks(), {any, any});
  for (GroupId group = 0; group < lines.getNumGroups(); ++group) {
    const std::array<LineId, 2> &parties = lines.groups[group].firstParties;
    for (LinkId link : lines.getLinks(group)) {
      if (common[link][0] == any) {
        common[link] = parties;
        continue;
      }
      for (LineId &line : common[link])
        if (!llvm::is_contained(parties, line))
          line = none;
    }
  }
  for (auto [link, ofLink] : llvm::enumerate(common))
    linkIsShared[link] = ofLink[0] == none && ofLink[1] == none;
}

bool SharedLinks::isShared(GroupId group) const {
  return llvm::any_of(lines.getLinks(group),
                      [&](LinkId link) { return linkIsShared[link]; });
}

void SharedLinks::push(Queue &queue, Moment moment) {
  queue.push_back(moment);
  std::push_heap(queue.begin(), queue.end(), isLater);
}

SharedLinks::Moment SharedLinks::pop(Queue &queue) {
  std::pop_heap(queue.begin(), queue.end(), isLater);
  Moment first = queue.back();
  queue.pop_back();
  return first;
}

double SharedLinks::getNextTime() const {
  if (pending.empty())
    return ends.front().time;
  if (ends.empty())
    return pending.front().time;
  return std::min(pending.front().time, ends.front().time);
}

void SharedLinks::advance(std::vector<GroupId> &ended) {
  double time = getNextTime();
  while (!ends.empty() && ends.front().time == time) {
    int32_t index = pop(ends).index;
    ended.push_back(moving[index].group);
    end(index);
    dropStale();
  }
  while (!pending.empty() && pending.front().time == time) {
    GroupId group = pop(pending).index;
    // A transfer of no bytes is not in the way of others.
    if (lines.groups[group].seconds == 0)
      ended.push_back(group);
    else
      start(group, time);
  }
  for (LinkId link : changed)
    for (int32_t user : users[link])
      update(user, time);
  changed.clear();
  dropStale();
}

int32_t SharedLinks::start(GroupId group, double time) {
  if (unused.empty()) {
    unused.push_back(static_cast<int32_t>(moving.size()));
    moving.emplace_back();
  }
  int32_t index = unused.back();
  unused.pop_back();
  Moving &started = moving[index];
  started.group = group;
  started.share = 0;
  started.since = time;
  started.remaining = lines.groups[group].seconds;
  for (LinkId link : lines.getLinks(group)) {
    users[link].push_back(index);
    changed.push_back(link);
  }
  return index;
}

void SharedLinks::end(int32_t index) {
  ++moving[index].version;
  unused.push_back(index);
  for (LinkId link : lines.getLinks(moving[index].group)) {
    *llvm::find(users[link], index) = users[link].back();
    users[link].pop_back();
    changed.push_back(link);
  }
}

void SharedLinks::update(int32_t index, double time) {
  Moving &updated = moving[index];
  size_t share = 0;
  for (LinkId link : lines.getLinks(updated.group))
    share = std::max(share, users[link].size());
  if (updated.share == static_cast<int32_t>(share))
    return;
  if (updated.share != 0)
    updated.remaining = std::max(
        0.0, updated.remaining - (time - updated.since) / updated.share);
  updated.share = static_cast<int32_t>(share);
  updated.since = time;
  ++updated.version;
  push(ends,
       {time + lines.round(updated.remaining * static_cast<double>(share)),
        index, updated.version});
}

std::vector<SharedLinks::State> SharedLinks::getStates(double now) const {
  std::vector<State> states;
  for (const Moment &start : pending) {
    const Lines::Group &group = lines.groups[start.index];
    states.push_back(
        {group.firstParties[0], 0, start.time - now, group.seconds});
  }
  for (const Moment &end : ends) {
    const Moving &one = moving[end.index];
    if (end.version == one.version)
      states.push_back({lines.groups[one.group].firstParties[0], one.share,
                        one.since - now, one.remaining});
  }
  llvm::sort(states, [](const State &one, const State &other) {
    return one.line < other.line;
  });
  return states;
}

void SharedLinks::shift(double by,
                        llvm::function_ref<GroupId(GroupId)> getOther) {
  for (Moment &start : pending) {
    start.time += by;
    start.index = getOther(start.index);
  }
  for (Moment &end : ends) {
    end.time += by;
    Moving &one = moving[end.index];
    if (end.version != one.version)
      continue;
    one.since += by;
    one.group = getOther(one.group);
  }
}

void SharedLinks::dropStale() {
  while (!ends.empty() &&
         ends.front().version != moving[ends.front().index].version)
    pop(ends);
}

} // namespace mf::sim
