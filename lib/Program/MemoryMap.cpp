//===- MemoryMap.cpp - Whose bytes are where ------------------------------===//

#include "MemoryMap.h"

namespace mf::program {

MemoryMap::Map::iterator MemoryMap::find(int64_t address) {
  auto next = segments.upper_bound(address);
  if (next != segments.begin()) {
    auto before = std::prev(next);
    if (before->second.end > address)
      return before;
  }
  return next;
}

MemoryMap::Map::iterator MemoryMap::split(Map::iterator segment,
                                          int64_t address) {
  Segment rest = segment->second;
  segment->second.end = address;
  return segments.emplace_hint(std::next(segment), address, std::move(rest));
}

static void addRead(Segment &segment, const Use &use) {
  for (Use &read : segment.reads)
    if (read.stream == use.stream) {
      read = use;
      return;
    }
  segment.reads.push_back(use);
}

bool MemoryMap::read(int64_t begin, int64_t end, const Use &use,
                     Visitor visit) {
  for (auto segment = find(begin);
       segment != segments.end() && segment->first < end; ++segment) {
    if (!visit(segment->first, segment->second))
      return false;
    if (segment->first < begin)
      segment = split(segment, begin);
    if (segment->second.end > end)
      split(segment, end);
    addRead(segment->second, use);
  }
  return true;
}

bool MemoryMap::write(int64_t begin, int64_t end, uint64_t instance,
                      const Use &use, Visitor visit) {
  auto first = find(begin);
  for (auto segment = first; segment != segments.end() && segment->first < end;
       ++segment)
    if (!visit(segment->first, segment->second))
      return false;
  if (first == segments.end() || first->first >= end) {
    segments.emplace_hint(first, begin, Segment{end, instance, use, {}});
    return true;
  }
  if (first->first < begin)
    first = split(first, begin);
  // `first` begins inside the range: it becomes the new segment.
  auto segment = first;
  while (segment != segments.end() && segment->first < end) {
    if (segment->second.end > end)
      split(segment, end);
    segment = segment == first ? std::next(segment) : segments.erase(segment);
  }
  if (first->first != begin) {
    auto node = segments.extract(first);
    node.key() = begin;
    first = segments.insert(std::move(node)).position;
  }
  first->second.end = end;
  first->second.instance = instance;
  first->second.write = use;
  first->second.reads.clear();
  return true;
}

} // namespace mf::program
