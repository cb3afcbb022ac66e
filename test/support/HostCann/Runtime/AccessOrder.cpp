//===- AccessOrder.cpp - Races between streams, by vector clocks ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "HostCann/Runtime/AccessOrder.h"
#include "acl/acl_base.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>

namespace mf::hostcann {
namespace {

std::string describeRace(bool isWrite, const CallSite &site,
                         const CallSite &other, bool otherWrites,
                         uintptr_t begin, uintptr_t end) {
  return llvm::formatv("race: {0} {1} [{2:x}, {3:x}), which {4} {5}; nothing "
                       "orders the two: record an event behind {6} and let the "
                       "later stream wait for it",
                       describe(site), isWrite ? "writes" : "reads", begin, end,
                       describe(other), otherWrites ? "writes" : "reads",
                       other.name)
      .str();
}

/// Returns whether two element types are compatible. Types of one byte are,
/// whether they hold truth values, numbers or bits of masks.
bool isSameType(int left, int right) {
  auto isByte = [](int type) {
    return type == ACL_BOOL || type == ACL_UINT8 || type == ACL_INT8;
  };
  return left < 0 || right < 0 || left == right ||
         (isByte(left) && isByte(right));
}

std::string describeTypes(const CallSite &site, const CallSite &writer,
                          uintptr_t begin, uintptr_t end) {
  return llvm::formatv("{0} reads [{1:x}, {2:x}) as elements of type {3}, but "
                       "{4} has written type {5}",
                       describe(site), begin, end, site.type, describe(writer),
                       writer.type)
      .str();
}

bool isBefore(const CallSite &site, const VectorClock &clock) {
  return clock.get(site.queue) >= site.tick;
}

} // namespace

void VectorClock::set(uint32_t queue, uint64_t tick) {
  if (queue >= ticks.size())
    ticks.resize(queue + 1, 0);
  ticks[queue] = tick;
}

void VectorClock::join(const VectorClock &other) {
  if (other.ticks.size() > ticks.size())
    ticks.resize(other.ticks.size(), 0);
  for (size_t i = 0; i < other.ticks.size(); ++i)
    ticks[i] = std::max(ticks[i], other.ticks[i]);
}

std::string describe(const CallSite &site) {
  if (site.queue == 0)
    return llvm::formatv("{0} (call {1} of the host)", site.name, site.number)
        .str();
  return llvm::formatv("{0} (call {1} on stream {2})", site.name, site.number,
                       site.queue)
      .str();
}

AccessOrder::Cells::const_iterator AccessOrder::find(uintptr_t begin) const {
  auto at = cells.upper_bound(begin);
  if (at != cells.begin() && std::prev(at)->second.end > begin)
    --at;
  return at;
}

void AccessOrder::split(uintptr_t place) {
  auto at = cells.upper_bound(place);
  if (at == cells.begin())
    return;
  --at;
  if (at->first == place || at->second.end <= place)
    return;
  Cell rest = at->second;
  at->second.end = place;
  cells.emplace(place, std::move(rest));
}

std::string AccessOrder::check(uintptr_t begin, uintptr_t end, bool isWrite,
                               bool needsValue, const VectorClock &clock,
                               const CallSite &site) const {
  uintptr_t covered = begin;
  for (auto at = find(begin); at != cells.end() && at->first < end; ++at) {
    const Cell &cell = at->second;
    const uintptr_t from = std::max(begin, at->first);
    const uintptr_t to = std::min(end, cell.end);
    if (cell.writer && !isBefore(*cell.writer, clock))
      return describeRace(isWrite, site, *cell.writer, true, from, to);
    if (isWrite)
      for (const CallSite &reader : cell.readers)
        if (!isBefore(reader, clock))
          return describeRace(true, site, reader, false, from, to);
    if (!cell.writer || from > covered)
      break;
    if (needsValue && !isWrite && !isSameType(site.type, cell.writer->type))
      return describeTypes(site, *cell.writer, from, to);
    covered = to;
  }
  if (needsValue && !isWrite && covered < end)
    return llvm::formatv("{0} reads [{1:x}, {2:x}), of which nothing has "
                         "written the bytes from {3:x} on",
                         describe(site), begin, end, covered)
        .str();
  return {};
}

void AccessOrder::note(uintptr_t begin, uintptr_t end, bool isWrite,
                       const CallSite &site) {
  if (begin >= end)
    return;
  split(begin);
  split(end);
  auto at = cells.lower_bound(begin);
  if (isWrite) {
    while (at != cells.end() && at->first < end)
      at = cells.erase(at);
    cells[begin] = {end, site, {}};
    return;
  }
  uintptr_t place = begin;
  while (place < end) {
    if (at == cells.end() || at->first > place) {
      const uintptr_t gap =
          at == cells.end() ? end : std::min<uintptr_t>(end, at->first);
      at = cells.emplace_hint(at, place, Cell{gap, std::nullopt, {}});
    }
    Cell &cell = at->second;
    auto *same = llvm::find_if(cell.readers, [&](const CallSite &reader) {
      return reader.queue == site.queue;
    });
    if (same != cell.readers.end())
      *same = site;
    else
      cell.readers.push_back(site);
    place = cell.end;
    ++at;
  }
}

void AccessOrder::forget(uintptr_t begin, uintptr_t end) {
  split(begin);
  split(end);
  cells.erase(cells.lower_bound(begin), cells.lower_bound(end));
}

} // namespace mf::hostcann
