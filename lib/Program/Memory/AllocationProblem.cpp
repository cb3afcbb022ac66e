//===- AllocationProblem.cpp - Static memory allocation -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Memory/AllocationProblem.h"
#include "lib/Program/Memory/packing/AddressMap.h"
#include "lib/Program/Memory/packing/Packing.h"
#include "lib/Program/Memory/packing/StableSort.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <numeric>
#include <set>

using llvm::Error;

namespace mf::memory {

static std::string quote(llvm::StringRef id) {
  return ("buffer '" + id + "'").str();
}

static Error makeError(const llvm::Twine &message) {
  return llvm::createStringError(message);
}

static Error checkBuffer(const AllocationBuffer &buffer) {
  std::string name = quote(buffer.id);
  if (buffer.lower >= buffer.upper)
    return makeError(
        name + " has an empty lifetime [" + std::to_string(buffer.lower) +
        ", " + std::to_string(buffer.upper) + "), expected lower < upper");
  if (buffer.size < 0)
    return makeError(name + " has the negative size " +
                     std::to_string(buffer.size));
  if (buffer.alignment <= 0)
    return makeError(name + " has the alignment " +
                     std::to_string(buffer.alignment) +
                     ", expected a positive number");
  if (buffer.hint && *buffer.hint < 0)
    return makeError(name + " has the negative hint " +
                     std::to_string(*buffer.hint));
  if (!buffer.fixedOffset)
    return Error::success();
  if (*buffer.fixedOffset < 0)
    return makeError(name + " has the negative fixed offset " +
                     std::to_string(*buffer.fixedOffset));
  if (*buffer.fixedOffset % buffer.alignment != 0)
    return makeError(name + " has the fixed offset " +
                     std::to_string(*buffer.fixedOffset) +
                     ", which is not a multiple of its alignment " +
                     std::to_string(buffer.alignment));
  return Error::success();
}

/// Finds two buffers among `indices` that are live at the same time and share
/// an address.
static Error findOverlap(llvm::ArrayRef<AllocationBuffer> buffers,
                         llvm::ArrayRef<int64_t> offsets,
                         llvm::ArrayRef<size_t> indices) {
  std::vector<size_t> begins, ends;
  for (size_t index : indices)
    if (buffers[index].size > 0)
      begins.push_back(index);
  ends = begins;
  sortIndices(begins, [&](size_t a, size_t b) {
    return buffers[a].lower < buffers[b].lower;
  });
  sortIndices(ends, [&](size_t a, size_t b) {
    return buffers[a].upper < buffers[b].upper;
  });
  AddressMap<size_t> alive;
  size_t nextEnd = 0;
  for (size_t index : begins) {
    const AllocationBuffer &buffer = buffers[index];
    for (; buffers[ends[nextEnd]].upper <= buffer.lower; ++nextEnd)
      alive.erase(offsets[ends[nextEnd]]);
    std::optional<size_t> other =
        alive.insert(offsets[index], buffer.size, index);
    if (!other)
      continue;
    const AllocationBuffer &rival = buffers[*other];
    return makeError(
        quote(rival.id) + " at [" + std::to_string(offsets[*other]) + ", " +
        std::to_string(offsets[*other] + rival.size) + ") and " +
        quote(buffer.id) + " at [" + std::to_string(offsets[index]) + ", " +
        std::to_string(offsets[index] + buffer.size) +
        ") share an address and are both alive at time " +
        std::to_string(buffer.lower));
  }
  return Error::success();
}

Error AllocationProblem::check() const {
  llvm::StringSet<> ids;
  std::vector<int64_t> offsets;
  std::vector<size_t> fixed;
  int64_t total = 0;
  for (const auto &[index, buffer] : llvm::enumerate(buffers)) {
    if (llvm::StringRef(buffer.id).find_first_of("\r\n") !=
        llvm::StringRef::npos)
      return makeError("the name of buffer " + llvm::Twine(index) +
                       " holds a line break");
    if (!ids.insert(buffer.id).second)
      return makeError("two buffers have the name '" + buffer.id + "'");
    if (Error error = checkBuffer(buffer))
      return error;
    offsets.push_back(buffer.fixedOffset.value_or(0));
    int64_t end = 0;
    if (llvm::AddOverflow(total, buffer.size, total) ||
        llvm::AddOverflow(total, buffer.alignment, total) ||
        llvm::AddOverflow(offsets.back(), total, end) ||
        end > std::numeric_limits<int64_t>::max() / 4)
      return makeError("sizes, alignments and fixed offsets up to " +
                       quote(buffer.id) + " exceed 2^61 bytes");
    if (buffer.fixedOffset)
      fixed.push_back(index);
    if (capacity && buffer.fixedOffset && buffer.size > 0 &&
        *buffer.fixedOffset + buffer.size > *capacity)
      return makeError(quote(buffer.id) + " is fixed at [" +
                       std::to_string(*buffer.fixedOffset) + ", " +
                       std::to_string(*buffer.fixedOffset + buffer.size) +
                       "), beyond the capacity " + std::to_string(*capacity));
  }
  if (capacity && *capacity < 0)
    return makeError("the capacity " + std::to_string(*capacity) +
                     " is negative");
  return findOverlap(buffers, offsets, fixed);
}

LiveBound AllocationProblem::maxLive() const {
  int64_t granule = 0;
  for (const AllocationBuffer &buffer : buffers)
    granule = std::gcd(granule, buffer.alignment);
  struct Event {
    int64_t time;
    bool isBegin;
    int64_t size;
    int64_t slack;
  };
  std::vector<Event> events;
  for (const AllocationBuffer &buffer : buffers) {
    if (buffer.size == 0)
      continue;
    int64_t size = alignUp(buffer.size, granule);
    events.push_back({buffer.lower, true, size, size - buffer.size});
    events.push_back({buffer.upper, false, size, size - buffer.size});
  }
  std::sort(events.begin(), events.end(), [](const Event &a, const Event &b) {
    return std::tie(a.time, a.isBegin) < std::tie(b.time, b.isBegin);
  });
  // The topmost buffer needs no padding after its bytes. The bound assumes that
  // this is the buffer for which it saves most.
  std::multiset<int64_t> slacks;
  LiveBound bound;
  int64_t live = 0;
  for (size_t i = 0; i < events.size(); ++i) {
    const Event &event = events[i];
    live += event.isBegin ? event.size : -event.size;
    if (event.slack != 0) {
      if (event.isBegin)
        slacks.insert(event.slack);
      else
        slacks.erase(slacks.find(event.slack));
    }
    if (i + 1 < events.size() && events[i + 1].time == event.time)
      continue;
    int64_t bytes = live - (slacks.empty() ? 0 : *slacks.rbegin());
    if (bytes > bound.bytes)
      bound = {bytes, event.time};
  }
  return bound;
}

Error AllocationProblem::verify(llvm::ArrayRef<int64_t> offsets) const {
  if (offsets.size() != buffers.size())
    return makeError("expected " + std::to_string(buffers.size()) +
                     " offsets, found " + std::to_string(offsets.size()));
  std::vector<size_t> all(buffers.size());
  std::iota(all.begin(), all.end(), 0);
  for (size_t index : all) {
    const AllocationBuffer &buffer = buffers[index];
    int64_t offset = offsets[index], end = 0;
    auto fail = [&](const std::string &what) {
      return makeError(quote(buffer.id) + " is at " + std::to_string(offset) +
                       what);
    };
    if (offset < 0 || llvm::AddOverflow(offset, buffer.size, end))
      return fail(", expected an offset that is not negative and an end below "
                  "2^63");
    if (buffer.fixedOffset && offset != *buffer.fixedOffset)
      return fail(", but is fixed at " + std::to_string(*buffer.fixedOffset));
    if (offset % buffer.alignment != 0)
      return fail(", which is not a multiple of its alignment " +
                  std::to_string(buffer.alignment));
    if (capacity && buffer.size > 0 && end > *capacity)
      return fail(" and ends at " + std::to_string(end) +
                  ", beyond the capacity " + std::to_string(*capacity));
  }
  return findOverlap(buffers, offsets, all);
}

int64_t AllocationProblem::getPeak(llvm::ArrayRef<int64_t> offsets) const {
  int64_t peak = 0;
  for (size_t i = 0; i < buffers.size(); ++i)
    if (buffers[i].size > 0)
      peak = std::max(peak, offsets[i] + buffers[i].size);
  return peak;
}

} // namespace mf::memory
