//===- MemoryMap.cpp - Owners of ranges of memory -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "MemoryMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace mf::program {

MemoryMap::Known &MemoryMap::getKnown(int64_t begin) {
  // Buffers are at multiples of a power of two. The upper bits of the product
  // depend on all bits of the address.
  constexpr uint64_t factor = 0x9E3779B97F4A7C15;
  constexpr unsigned shift = 64 - llvm::ConstantLog2<numKnown>();
  return known[static_cast<uint64_t>(begin) * factor >> shift];
}

MemoryMap::Map::iterator MemoryMap::find(int64_t address) {
  Known &last = getKnown(address);
  if (last.begin == address)
    return last.segment;
  auto next = segments.upper_bound(address);
  if (next == segments.begin())
    return next;
  auto before = std::prev(next);
  if (before->second.end <= address)
    return next;
  if (before->first == address)
    last = {address, before};
  return before;
}

void MemoryMap::forget(int64_t begin) {
  Known &last = getKnown(begin);
  if (last.begin == begin)
    last.begin = -1;
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

bool MemoryMap::visit(int64_t begin, int64_t end, Visitor visit) {
  for (auto segment = find(begin);
       segment != segments.end() && segment->first < end; ++segment) {
    if (!visit(segment->first, segment->second))
      return false;
    if (segment->second.end >= end)
      break;
  }
  return true;
}

bool MemoryMap::visitAll(Visitor visit) const {
  return llvm::all_of(segments, [&](const auto &entry) {
    return visit(entry.first, entry.second);
  });
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
    if (segment->second.end == end)
      break;
  }
  return true;
}

bool MemoryMap::write(int64_t begin, int64_t end, uint64_t instance,
                      const Use &use, Visitor visit) {
  if (!this->visit(begin, end, visit))
    return false;
  auto first = find(begin);
  if (first == segments.end() || first->first >= end) {
    segments.emplace_hint(first, begin, Segment{end, instance, use, {}});
    return true;
  }
  if (first->first < begin)
    first = split(first, begin);
  // `first` begins inside of the range and becomes the new segment.
  if (first->second.end > end)
    split(first, end);
  auto segment = first->second.end < end ? std::next(first) : segments.end();
  while (segment != segments.end() && segment->first < end) {
    if (segment->second.end > end)
      split(segment, end);
    forget(segment->first);
    segment = segments.erase(segment);
  }
  if (first->first != begin) {
    forget(first->first);
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
