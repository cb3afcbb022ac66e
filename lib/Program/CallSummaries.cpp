//===- CallSummaries.cpp - Calls by the summaries of their routines -------===//
// SPDX-License-Identifier: Apache-2.0

#include "CallSummary.h"
#include "llvm/ADT/STLExtras.h"
#include <tuple>

namespace mf::program {

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
