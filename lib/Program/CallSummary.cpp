//===- CallSummary.cpp - One proof for all calls of a routine -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "CallSummary.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <tuple>

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

void CallClock::join(const CallClock &other) {
  for (auto [mine, others] : llvm::zip_equal(positions, other.positions))
    mine = std::max(mine, others);
  sources |= other.sources;
}

static bool overlap(const MemoryRange &a, const MemoryRange &b) {
  return a.space == b.space && a.offset < b.offset + b.bytes &&
         b.offset < a.offset + a.bytes;
}

bool isSameMemory(const MemoryRange &a, const MemoryRange &b) {
  return a.instance == b.instance && a.offset == b.offset && a.bytes == b.bytes;
}

std::optional<std::pair<size_t, size_t>>
findOverlap(const Instruction &instruction,
            llvm::ArrayRef<MemoryRange> ranges) {
  llvm::ArrayRef<MemoryAccess> accesses = instruction.accesses;
  for (size_t i = 0; i < accesses.size(); ++i) {
    if (!writesMemory(accesses[i].access))
      continue;
    for (size_t j = 0; j < accesses.size(); ++j) {
      if (i == j || (j > i && writesMemory(accesses[j].access)) ||
          !overlap(ranges[i], ranges[j]))
        continue;
      const bool mayShare = j < 32 && (accesses[i].sharedAccesses >> j & 1);
      if (!mayShare || !isSameMemory(ranges[i], ranges[j]))
        return std::make_pair(i, j);
    }
  }
  return std::nullopt;
}

std::optional<std::vector<UsedBytes>> findBytes(const Routine &routine) {
  std::vector<UsedBytes> all;
  std::vector<std::optional<Space>> spaces;
  for (const Instruction &instruction : routine.body.instructions)
    for (const auto &[operand, access, shared] : instruction.accesses) {
      const Buffer &buffer = routine.body.buffers[operand.buffer];
      const uint32_t base = getBaseNumber(buffer.address, routine.numArguments);
      if (base >= spaces.size())
        spaces.resize(base + 1);
      if (spaces[base].value_or(buffer.space) != buffer.space)
        return std::nullopt;
      spaces[base] = buffer.space;
      const int64_t begin = buffer.address.offset + operand.offset;
      all.push_back({base, buffer.space, begin, begin + operand.bytes});
    }
  llvm::sort(all, [](const UsedBytes &a, const UsedBytes &b) {
    return std::tie(a.base, a.begin, a.end) < std::tie(b.base, b.begin, b.end);
  });
  std::vector<UsedBytes> joined;
  for (const UsedBytes &bytes : all)
    if (!joined.empty() && joined.back().base == bytes.base &&
        bytes.begin <= joined.back().end)
      joined.back().end = std::max(joined.back().end, bytes.end);
    else
      joined.push_back(bytes);
  return joined;
}

/// Adds a use that later writes must follow.
static void addUse(CallSummary::Effect &effect, const Use &use) {
  for (Use &read : effect.reads)
    if (read.stream == use.stream) {
      if (read.streamPosition < use.streamPosition)
        read = use;
      return;
    }
  effect.reads.push_back(use);
}

namespace {

/// Walks a routine once. The bases of its addresses are placed in separate
/// memories, so that they do not overlap.
class CallSummarizer {
public:
  CallSummarizer(const StageProgram &stage, const Routine &routine)
      : routine(routine) {
    const size_t numStreams = stage.streams.size();
    CallClock nothing;
    nothing.positions.assign(numStreams, 0);
    nothing.sources.resize(numStreams + routine.numEventArguments);
    events.assign(routine.body.numEvents, nothing);
    clocks.assign(numStreams, nothing);
    for (size_t stream = 0; stream < numStreams; ++stream)
      clocks[stream].sources.set(stream);
  }

  bool run(const CallForm &form) {
    if (!placeBuffers(form))
      return false;
    const auto *next = form.records.begin();
    for (auto [number, instruction] :
         llvm::enumerate(routine.body.instructions)) {
      if (!visit(instruction, number))
        return false;
      for (; next != form.records.end() && next->first == number; ++next) {
        ++clocks[next->second].positions[next->second];
        summary.records.push_back(clocks[next->second]);
      }
    }
    return next == form.records.end();
  }

  CallSummary take() {
    std::vector<Demand> reads, writes;
    for (const Demand &demand : demands)
      (demand.isRead ? reads : writes).push_back(demand);
    simplifyReads(std::move(reads));
    joinWrites(std::move(writes));
    addEffects();
    summary.streams = std::move(clocks);
    return std::move(summary);
  }

private:
  using Demand = CallSummary::Demand;
  using Effect = CallSummary::Effect;

  /// The distance of different bases, which is larger than any range of
  /// addresses.
  static constexpr int64_t baseBytes = int64_t{1} << 46;
  static constexpr uint32_t maxBases = 1U << 16;
  static bool isNear(int64_t bytes) {
    return bytes > -baseBytes / 16 && bytes < baseBytes / 16;
  }

  /// Places bases that overlap in a call at the distances that they have there.
  bool placeBuffers(const CallForm &form) {
    for (const Buffer &buffer : routine.body.buffers) {
      const uint32_t base = getBaseNumber(buffer.address, routine.numArguments);
      const auto [first, distance] =
          base < form.places.size() ? form.places[base] : std::pair(base, 0L);
      if (first >= maxBases || !isNear(distance) ||
          !isNear(buffer.address.offset))
        return false;
      places.push_back(first * baseBytes + baseBytes / 2 + distance +
                       buffer.address.offset);
    }
    return true;
  }

  bool visit(const Instruction &instruction, uint32_t number) {
    if (instruction.work == Work::Call)
      return false;
    begin(instruction);
    current.stream = instruction.stream;
    current.instruction = number;
    current.streamPosition =
        clocks[instruction.stream].positions[instruction.stream];
    ranges.clear();
    for (const auto &[bytes, access, shared] : instruction.accesses) {
      if (!isNear(bytes.offset) || !isNear(bytes.bytes) || bytes.bytes < 0)
        return false;
      const int64_t begin = getPlace(bytes);
      ranges.push_back({Space::Device, begin, bytes.bytes, bytes.buffer});
    }
    if (findOverlap(instruction, ranges))
      return false;
    for (auto [access, range] : llvm::zip_equal(instruction.accesses, ranges))
      if (readsMemory(access.access) && range.bytes > 0 && !read(range))
        return false;
    for (auto [access, range] : llvm::zip_equal(instruction.accesses, ranges))
      if (writesMemory(access.access) && range.bytes > 0 && !write(range))
        return false;
    if (instruction.recorded)
      events[*instruction.recorded] = clocks[instruction.stream];
    return true;
  }

  void begin(const Instruction &instruction) {
    CallClock &clock = clocks[instruction.stream];
    for (const AwaitedEvent &awaited : instruction.awaited)
      if (awaited.isArgument)
        clock.sources.set(clocks.size() + awaited.event);
      else
        clock.join(events[awaited.event]);
    ++clock.positions[instruction.stream];
  }

  bool read(const MemoryRange &range) {
    addCallers(range);
    const int64_t end = range.offset + range.bytes;
    return map.read(range.offset, end, current,
                    [&](int64_t begin, const Segment &segment) {
                      if (segment.instance != range.instance)
                        return false;
                      if (!isCallers(segment))
                        return isOrdered(segment.write);
                      addDemand(std::max(begin, range.offset),
                                std::min(segment.end, end), range.instance,
                                /*isRead=*/true);
                      return true;
                    });
  }

  bool write(const MemoryRange &range) {
    addCallers(range);
    const int64_t end = range.offset + range.bytes;
    return map.write(range.offset, end, range.instance, current,
                     [&](int64_t begin, const Segment &segment) {
                       if (!llvm::all_of(segment.reads, [&](const Use &use) {
                             return isOrdered(use);
                           }))
                         return false;
                       if (!isCallers(segment))
                         return isOrdered(segment.write);
                       addDemand(std::max(begin, range.offset),
                                 std::min(segment.end, end), range.instance,
                                 /*isRead=*/false);
                       return true;
                     });
  }

  /// Bytes that the call has not accessed before count as written by the
  /// caller.
  void addCallers(const MemoryRange &range) {
    const int64_t end = range.offset + range.bytes;
    llvm::SmallVector<std::pair<int64_t, int64_t>, 4> gaps;
    int64_t position = range.offset;
    map.visit(range.offset, end, [&](int64_t begin, const Segment &segment) {
      if (begin > position)
        gaps.push_back({position, begin});
      position = segment.end;
      return true;
    });
    if (position < end)
      gaps.push_back({position, end});
    for (auto [first, last] : gaps)
      map.write(first, last, range.instance, Use(),
                [](int64_t, const Segment &) { return true; });
  }

  bool isOrdered(const Use &before) const {
    return clocks[current.stream].positions[before.stream] >=
           before.streamPosition;
  }
  static bool isCallers(const Segment &segment) {
    return segment.write.stream == Use::host;
  }

  void addDemand(int64_t begin, int64_t end, uint64_t buffer, bool isRead) {
    const llvm::SmallBitVector &sources = clocks[current.stream].sources;
    auto found = llvm::find(summary.sources, sources);
    const uint32_t number = found - summary.sources.begin();
    if (found == summary.sources.end())
      summary.sources.push_back(sources);
    demands.push_back({getOperand(begin, end, buffer), isRead, number});
  }

  Operand getOperand(int64_t begin, int64_t end, uint64_t buffer) const {
    return {static_cast<uint32_t>(buffer), begin - places[buffer], end - begin};
  }
  int64_t getPlace(const Operand &bytes) const {
    return places[bytes.buffer] + bytes.offset;
  }

  /// If several reads use the same bytes, keeps those whose sources know least.
  void simplifyReads(std::vector<Demand> demands) {
    auto getKey = [&](const Demand &demand) {
      return std::make_tuple(getPlace(demand.bytes), demand.bytes.bytes,
                             demand.bytes.buffer);
    };
    llvm::sort(demands, [&](const Demand &a, const Demand &b) {
      return std::make_tuple(getKey(a), summary.sources[a.sources].count(),
                             a.sources) <
             std::make_tuple(getKey(b), summary.sources[b.sources].count(),
                             b.sources);
    });
    size_t first = summary.demands.size();
    for (const Demand &demand : demands) {
      if (first < summary.demands.size() &&
          getKey(summary.demands[first]) != getKey(demand))
        first = summary.demands.size();
      const bool isImplied =
          llvm::any_of(llvm::ArrayRef(summary.demands).drop_front(first),
                       [&](const Demand &weaker) {
                         // `test` returns whether the first vector has a bit
                         // that the second lacks.
                         return !summary.sources[weaker.sources].test(
                             summary.sources[demand.sources]);
                       });
      if (!isImplied)
        summary.demands.push_back(demand);
    }
  }

  /// The bytes that the joined writes cover are disjoint.
  void joinWrites(std::vector<Demand> demands) {
    llvm::sort(demands, [&](const Demand &a, const Demand &b) {
      return getPlace(a.bytes) < getPlace(b.bytes);
    });
    Demand *last = nullptr;
    for (const Demand &demand : demands) {
      if (last && last->sources == demand.sources &&
          getPlace(last->bytes) + last->bytes.bytes == getPlace(demand.bytes)) {
        last->bytes.bytes += demand.bytes.bytes;
        continue;
      }
      summary.demands.push_back(demand);
      last = &summary.demands.back();
    }
  }

  void addEffects() {
    map.visitAll([&](int64_t begin, const Segment &segment) {
      const bool isTemporary =
          routine.body.buffers[segment.instance].kind == BufferKind::Temporary;
      Effect *last =
          summary.effects.empty() ? nullptr : &summary.effects.back();
      if (last && isTemporary && !isCallers(segment) &&
          continues(*last, begin)) {
        last->bytes.bytes += segment.end - begin;
        addUse(*last, segment.write);
        for (const Use &read : segment.reads)
          addUse(*last, read);
        return true;
      }
      summary.effects.push_back(
          {getOperand(begin, segment.end, segment.instance),
           !isCallers(segment), segment.write, segment.reads});
      return true;
    });
  }

  /// The caller does not read temporaries after the call, so adjacent ones form
  /// one effect.
  bool continues(const Effect &last, int64_t begin) const {
    return last.isWritten &&
           routine.body.buffers[last.bytes.buffer].kind ==
               BufferKind::Temporary &&
           getPlace(last.bytes) + last.bytes.bytes == begin;
  }

  const Routine &routine;
  CallSummary summary;
  std::vector<CallClock> clocks, events;
  MemoryMap map;
  /// The address at which each buffer begins, by its number.
  std::vector<int64_t> places;
  std::vector<Demand> demands;
  /// The instruction that the walk visits.
  Use current;
  llvm::SmallVector<MemoryRange, 8> ranges;
};

} // namespace

std::optional<CallSummary> summarize(const StageProgram &stage,
                                     const Routine &routine,
                                     const CallForm &form) {
  CallSummarizer summarizer(stage, routine);
  if (!summarizer.run(form))
    return std::nullopt;
  return summarizer.take();
}

bool CallSummaries::place(const Scope &scope, CallForm &form) {
  placed = *known[scope.call->routine]->bytes;
  for (UsedBytes &bytes : placed) {
    const int64_t offset = scope.bases[bytes.base].offset;
    bytes.begin += offset;
    bytes.end += offset;
    const int64_t capacity =
        bytes.space == Space::Device ? stage.arenaBytes : stage.hostBytes;
    if (bytes.begin < 0 || bytes.end > capacity)
      return false;
  }
  llvm::sort(placed, [](const UsedBytes &a, const UsedBytes &b) {
    return std::tie(a.space, a.begin, a.end, a.base) <
           std::tie(b.space, b.begin, b.end, b.base);
  });
  // Disjoint sets of bases. The first base of a set represents it.
  llvm::SmallVector<uint32_t, 16> firsts;
  for (uint32_t base = 0; base < scope.bases.size(); ++base)
    firsts.push_back(base);
  auto findFirst = [&](uint32_t base) {
    while (firsts[base] != base)
      base = firsts[base];
    return base;
  };
  const UsedBytes *last = nullptr;
  for (const UsedBytes &bytes : placed) {
    if (last && last->space == bytes.space && bytes.begin < last->end) {
      const uint32_t a = findFirst(last->base), b = findFirst(bytes.base);
      firsts[std::max(a, b)] = std::min(a, b);
    }
    if (!last || last->space != bytes.space || bytes.end > last->end)
      last = &bytes;
  }
  for (uint32_t base = 0; base < scope.bases.size(); ++base) {
    const uint32_t first = findFirst(base);
    form.places.push_back(
        {first, scope.bases[base].offset - scope.bases[first].offset});
  }
  return true;
}

std::optional<CallForm> CallSummaries::getForm(const Scope &scope) {
  CallForm form;
  for (const auto &[instruction, record] : scope.call->records) {
    if (!record.accesses.empty() || !record.awaited.empty() || !record.recorded)
      return std::nullopt;
    form.records.push_back({instruction, record.stream});
  }
  if (!place(scope, form))
    return std::nullopt;
  return form;
}

const CallSummary *CallSummaries::find(const Scope &scope) {
  const Routine &routine = stage.routines[scope.call->routine];
  std::optional<RoutineForms> &ofRoutine = known[scope.call->routine];
  if (!ofRoutine)
    ofRoutine.emplace().bytes = findBytes(routine);
  if (!ofRoutine->bytes)
    return nullptr;
  std::optional<CallForm> form = getForm(scope);
  if (!form)
    return nullptr;
  llvm::SmallVector<Known, 1> &forms = ofRoutine->forms;
  auto *found = llvm::find_if(
      forms, [&](const Known &entry) { return entry.form == *form; });
  if (found == forms.end()) {
    if (forms.size() < maxForms)
      forms.push_back({std::move(*form), false, std::nullopt});
    return nullptr;
  }
  if (!found->hasSummary) {
    found->hasSummary = true;
    found->summary = summarize(stage, routine, *form);
  }
  return found->summary ? &*found->summary : nullptr;
}

llvm::SmallVector<uint64_t, 8>
CallSummaries::join(const llvm::SmallBitVector &sources,
                    const Scope &scope) const {
  const size_t numStreams = stage.streams.size();
  llvm::SmallVector<uint64_t, 8> joined(numStreams, 0);
  for (unsigned source : sources.set_bits()) {
    llvm::ArrayRef<uint64_t> clock =
        source < numStreams
            ? clocks.getClocks(source)
            : clocks.getStepEvent(scope.call->events[source - numStreams]);
    for (auto [mine, others] : llvm::zip(joined, clock))
      mine = std::max(mine, others);
  }
  return joined;
}

bool CallSummaries::isMet(const CallSummary::Demand &demand,
                          const Scope &scope) {
  const MemoryRange range = walker.resolve(scope, demand.bytes);
  llvm::ArrayRef<uint64_t> clock = knowledge[demand.sources];
  auto isOrdered = [&](const Use &use) {
    return use.stream == Use::host || clock[use.stream] >= use.streamPosition;
  };
  const int64_t end = range.offset + range.bytes;
  if (!demand.isRead)
    return getMap(range.space)
        .visit(range.offset, end, [&](int64_t, const Segment &segment) {
          return isOrdered(segment.write) &&
                 llvm::all_of(segment.reads, isOrdered);
        });
  int64_t position = range.offset;
  return getMap(range.space)
             .visit(range.offset, end,
                    [&](int64_t begin, const Segment &segment) {
                      if (begin > position ||
                          segment.instance != range.instance ||
                          !isOrdered(segment.write))
                        return false;
                      position = segment.end;
                      return true;
                    }) &&
         position >= end;
}

void CallSummaries::apply(const CallSummary::Effect &effect,
                          const Scope &scope) {
  const MemoryRange range = walker.resolve(scope, effect.bytes);
  MemoryMap &map = getMap(range.space);
  const int64_t end = range.offset + range.bytes;
  auto pass = [](int64_t, const Segment &) { return true; };
  auto bindUse = [&](Use use) {
    use.position = scope.callPosition;
    use.streamPosition += begins[use.stream];
    return use;
  };
  if (effect.isWritten)
    map.write(range.offset, end, range.instance, bindUse(effect.write), pass);
  for (const Use &read : effect.reads)
    map.read(range.offset, end, bindUse(read), pass);
}

llvm::SmallVector<uint64_t, 8> CallSummaries::bind(const CallClock &clock,
                                                   const Scope &scope) const {
  llvm::SmallVector<uint64_t, 8> bound = join(clock.sources, scope);
  for (auto [stream, position] : llvm::enumerate(clock.positions))
    if (position > 0)
      bound[stream] = std::max(bound[stream], begins[stream] + position);
  return bound;
}

void CallSummaries::applyClocks(const CallSummary &summary,
                                const Scope &scope) {
  std::vector<llvm::SmallVector<uint64_t, 8>> streams, records;
  for (const CallClock &clock : summary.streams)
    streams.push_back(bind(clock, scope));
  for (const CallClock &clock : summary.records)
    records.push_back(bind(clock, scope));
  for (auto [stream, clock] : llvm::enumerate(streams))
    clocks.setClocks(stream, clock);
  for (const auto &[record, clock] :
       llvm::zip_equal(scope.call->records, records))
    clocks.setStepEvent(*record.record.recorded, clock);
}

bool CallSummaries::pass(const Scope &scope) {
  const CallSummary *summary = find(scope);
  if (!summary)
    return false;
  knowledge.clear();
  for (const llvm::SmallBitVector &sources : summary->sources)
    knowledge.push_back(join(sources, scope));
  if (!llvm::all_of(summary->demands, [&](const CallSummary::Demand &demand) {
        return isMet(demand, scope);
      }))
    return false;
  begins.clear();
  for (uint32_t stream = 0; stream < stage.streams.size(); ++stream)
    begins.push_back(clocks.getClock(stream, stream));
  for (const CallSummary::Effect &effect : summary->effects)
    apply(effect, scope);
  applyClocks(*summary, scope);
  return true;
}

} // namespace mf::program
