//===- Lifetimes.cpp - The buffer instances of a planned step -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/Liveness.h"
#include "mf/Program/StepWalker.h"
#include <algorithm>
#include <map>
#include <numeric>

namespace mf::program {

llvm::StringRef getName(BufferCategory category) {
  static constexpr llvm::StringLiteral names[numCategories] = {
      "parameter",     "gradient", "optimizer_state", "activation", "temporary",
      "communication", "input"};
  return names[static_cast<size_t>(category)];
}

static BufferCategory getCategory(Role role) {
  switch (role) {
  case Role::Parameter:
  case Role::Table:
  case Role::Constant:
  case Role::Gathered:
  case Role::Rounded:
    return BufferCategory::Parameter;
  case Role::Gradient:
  case Role::Accumulated:
    return BufferCategory::Gradient;
  case Role::FirstMoment:
  case Role::SecondMoment:
  case Role::Average:
  case Role::Factor:
    return BufferCategory::OptimizerState;
  case Role::Tokens:
  case Role::Labels:
  case Role::LearningRate:
  case Role::StepNumber:
  case Role::Report:
  case Role::LossScale:
  case Role::Draw:
    return BufferCategory::Input;
  }
  return BufferCategory::Parameter;
}

namespace {

/// Combines the offsets of a plan with compact lifetimes.
class InstanceList {
public:
  InstanceList(const StageProgram &stage, const StepLiveness &liveness)
      : stage(stage), liveness(liveness), table(stage) {}

  std::vector<Lifetime> run() {
    for (uint32_t i = 0; i < stage.statics.size(); ++i) {
      const MessageRange &range = liveness.statics[i];
      Lifetime &lifetime =
          add(table.getStatic(i),
              range.isUsed ? BufferKind::Message : BufferKind::Static,
              getCategory(stage.statics[i].role));
      lifetime.end = liveness.starts.back();
      if (range.isUsed)
        set(lifetime, range);
    }
    addMessages();
    addCalls();
    for (const auto &[slot, lifetime] : slots)
      lifetimes.push_back(lifetime);
    return std::move(lifetimes);
  }

private:
  Lifetime &add(uint64_t instance, BufferKind kind, BufferCategory category) {
    lifetimes.push_back(make(instance, kind, category));
    return lifetimes.back();
  }
  Lifetime make(uint64_t instance, BufferKind kind,
                BufferCategory category) const {
    const MemoryRange memory = table.getMemory(instance);
    Lifetime lifetime;
    lifetime.kind = kind;
    lifetime.category = category;
    lifetime.space = memory.space;
    lifetime.instance = instance;
    lifetime.offset = memory.offset;
    lifetime.bytes = memory.bytes;
    return lifetime;
  }

  void addMessages() {
    for (uint32_t i = 0; i < liveness.messages.size(); ++i) {
      const MessageRange &range = liveness.messages[i];
      if (!range.isUsed)
        continue;
      Lifetime &lifetime = add(table.getMessage(i), BufferKind::Message,
                               range.isExchanged ? BufferCategory::Communication
                               : range.isCopied  ? BufferCategory::Input
                                                 : BufferCategory::Activation);
      set(lifetime, range);
    }
  }

  void set(Lifetime &lifetime, const MessageRange &range) const {
    lifetime.begin = liveness.getTime(range.begin);
    lifetime.end = liveness.getTime(range.end);
    lifetime.lastPosition = range.lastPosition;
    lifetime.lastInstruction = range.lastInstruction;
    lifetime.onlyCompute = range.onlyCompute;
  }

  void use(Lifetime &lifetime, const MomentRange &range, size_t call) const {
    lifetime.end = liveness.starts[call] + range.end;
    lifetime.lastPosition = liveness.calls[call];
    lifetime.lastInstruction = range.lastInstruction;
    lifetime.onlyCompute &= range.onlyCompute;
  }

  void addCalls() {
    for (size_t i = 0; i < liveness.calls.size(); ++i) {
      const Call &call =
          *stage.step.getCall(stage.step.instructions[liveness.calls[i]]);
      const RoutineLiveness &routine = liveness.routines[call.routine];
      const int64_t start = liveness.starts[i];
      const uint64_t first = table.getCall(liveness.calls[i]).firstTemporary;
      for (uint32_t number = 0; number < routine.temporaries.size(); ++number) {
        const MomentRange &range = routine.temporaries[number];
        if (!range.isUsed())
          continue;
        Lifetime &lifetime = add(first + number, BufferKind::Temporary,
                                 BufferCategory::Temporary);
        lifetime.begin = start + range.begin;
        use(lifetime, range, i);
      }
      if (!call.frame)
        continue;
      closeSlots(*call.frame, i);
      addSlots(call, routine, i);
      for (const OpenUse &use : routine.open)
        if (use.kind == BufferKind::Slot)
          open[*call.frame].push_back(table.getFirstSlot(*call.frame) +
                                      use.index);
    }
  }

  /// The slots that other streams used behind the frame's last call are needed
  /// up to the next one, which waits for them.
  void closeSlots(uint32_t frame, size_t call) {
    for (uint64_t instance : open[frame]) {
      Lifetime &lifetime = slots.at(instance);
      lifetime.end = std::max(lifetime.end, liveness.starts[call]);
    }
    open[frame].clear();
  }

  void addSlots(const Call &call, const RoutineLiveness &routine, size_t i) {
    for (uint32_t number = 0; number < routine.slots.size(); ++number) {
      const MomentRange &range = routine.slots[number];
      if (!range.isUsed())
        continue;
      const uint64_t instance = table.getFirstSlot(*call.frame) + number;
      auto [entry, isNew] = slots.try_emplace(instance);
      if (isNew) {
        entry->second =
            make(instance, BufferKind::Slot, BufferCategory::Activation);
        entry->second.begin = liveness.starts[i] + range.begin;
      }
      use(entry->second, range, i);
    }
  }

  const StageProgram &stage;
  const StepLiveness &liveness;
  const InstanceTable table;
  std::vector<Lifetime> lifetimes;
  std::map<uint64_t, Lifetime> slots;
  /// For each frame, the slots that its last call left in use.
  std::map<uint32_t, std::vector<uint64_t>> open;
};

} // namespace

std::vector<Lifetime> computeLifetimes(const StageProgram &stage,
                                       const StepLiveness &liveness) {
  return InstanceList(stage, liveness).run();
}

std::vector<Lifetime> computeLifetimes(const StageProgram &stage) {
  return computeLifetimes(stage, computeLiveness(stage));
}

std::vector<int64_t> computeBytesAlive(const std::vector<Lifetime> &lifetimes,
                                       Space space) {
  int64_t last = 0;
  for (const Lifetime &lifetime : lifetimes)
    last = std::max(last, lifetime.end);
  // Lifetimes that end at a time are subtracted before those that begin at it
  // are added.
  std::vector<int64_t> changes(last + 1, 0);
  for (const Lifetime &lifetime : lifetimes) {
    if (lifetime.space != space)
      continue;
    if (lifetime.kind == BufferKind::Static) {
      changes.front() += lifetime.bytes;
      continue;
    }
    changes[lifetime.begin] += lifetime.bytes;
    changes[lifetime.end] -= lifetime.bytes;
  }
  std::partial_sum(changes.begin(), changes.end(), changes.begin());
  return changes;
}

MemoryUse findPeak(const std::vector<Lifetime> &lifetimes, Space space) {
  const std::vector<int64_t> alive = computeBytesAlive(lifetimes, space);
  const auto most = std::max_element(alive.begin(), alive.end());
  MemoryUse peak;
  peak.bytes = *most;
  peak.time = most - alive.begin();
  for (const Lifetime &lifetime : lifetimes)
    if (lifetime.space == space &&
        (lifetime.kind == BufferKind::Static ||
         (lifetime.begin <= peak.time && peak.time < lifetime.end)))
      peak.byCategory[static_cast<size_t>(lifetime.category)] += lifetime.bytes;
  return peak;
}

int64_t findExtent(const std::vector<Lifetime> &lifetimes, Space space) {
  int64_t extent = 0;
  for (const Lifetime &lifetime : lifetimes)
    if (lifetime.space == space)
      extent = std::max(extent, lifetime.offset + lifetime.bytes);
  return extent;
}

} // namespace mf::program
