//===- ExactPacking.cpp - Packs the exact shapes of a step ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ExactPacking.h"
#include "FramePacking.h"
#include "lib/Program/Memory/packing/ShapePacking.h"
#include "lib/Program/Memory/packing/StableSort.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <tuple>

namespace mf::memory {

StepSections::StepSections(const StepProblem &problem,
                           const FrameInstances &instances,
                           llvm::ArrayRef<PlannedFrame> frames)
    : begins(problem.tasks.size(), {0}) {
  auto cut = [&](StepMoment moment) {
    if (moment.task < static_cast<int64_t>(begins.size()))
      begins[moment.task].push_back(moment.instruction);
  };
  for (const TaskBuffer &buffer : problem.taskBuffers) {
    cut(buffer.begin);
    cut(buffer.end);
  }
  for (const FrameInstance &instance : instances.getAll()) {
    if (frames.empty())
      break;
    for (const FramePart &part : frames[instance.frame].parts) {
      cut(getMoment(problem, instance, part.first));
      cut(getMoment(problem, instance, part.last));
    }
  }
  int32_t numSections = 0;
  for (std::vector<int64_t> &instructions : begins) {
    llvm::sort(instructions);
    instructions.erase(llvm::unique(instructions), instructions.end());
    firsts.push_back(numSections);
    numSections += static_cast<int32_t>(instructions.size());
  }
  firsts.push_back(numSections);
}

int32_t StepSections::get(StepMoment moment) const {
  int32_t first = firsts[moment.task];
  if (moment.instruction == 0)
    return first;
  const std::vector<int64_t> &instructions = begins[moment.task];
  return first + static_cast<int32_t>(
                     llvm::lower_bound(instructions, moment.instruction) -
                     instructions.begin());
}

//===----------------------------------------------------------------------===//
// Shapes of a laid out step
//
// Given the layouts of frames and routines, a frame instance, the scratch of a
// task and a task buffer are rigid shapes in address and time. Within a
// section, everything that is live at one of its instructions counts.
//===----------------------------------------------------------------------===//

namespace {

/// The shapes of a plan's layouts: the parts of frame instances, then the
/// scratch of each task, then task buffers.
class StepShapes {
public:
  StepShapes(const StepProblem &problem, const FrameInstances &instances,
             const StepSections &sections, const StepPlan &layouts)
      : problem(problem), instances(instances), sections(sections),
        layouts(layouts) {
    shapes.numSections = sections.getNumSections();
    for (const FrameInstance &instance : instances.getAll())
      for (size_t part = 0; part < layouts.frames[instance.frame].parts.size();
           ++part)
        addFramePart(instance, part);
    for (size_t task = 0; task < problem.tasks.size(); ++task)
      addScratch(static_cast<int64_t>(task));
    for (const TaskBuffer &buffer : problem.taskBuffers)
      addBuffer(buffer);
  }

  // The shapes point into this object.
  StepShapes(const StepShapes &) = delete;
  StepShapes &operator=(const StepShapes &) = delete;

  const ShapeProblem &getProblem() const { return shapes; }

private:
  using Ranges = llvm::ArrayRef<AddressRange>;
  /// The ranges that instructions [begin, end) of a routine use, in each part
  /// of its frame and in scratch.
  struct RoutinePart {
    std::vector<Ranges> frame;
    Ranges scratch;
  };

  /// Returns the residuals of a frame in order of their offsets.
  llvm::ArrayRef<int32_t> getByOffset(int64_t frame) {
    auto [entry, isNew] = byOffset.try_emplace(frame);
    llvm::ArrayRef<int64_t> offsets = layouts.frames[frame].residualOffsets;
    if (isNew)
      entry->second =
          getSortedIndices<int32_t>(offsets.size(), [&](int32_t a, int32_t b) {
            return offsets[a] < offsets[b];
          });
    return entry->second;
  }

  AddressRange getRange(int64_t frame, int32_t residual) const {
    const int64_t offset = layouts.frames[frame].residualOffsets[residual];
    return {offset,
            offset + problem.alignedSize(
                         problem.frames[frame].residuals[residual].size)};
  }

  const RoutinePart &getPart(int64_t index, int64_t begin, int64_t end) {
    auto [entry, isNew] = parts.try_emplace({index, begin, end});
    if (!isNew)
      return entry->second;
    const RoutineMemory &routine = problem.routines[index];
    auto isAlive = [&](int64_t first, int64_t last) {
      return first < last && first < end && begin < last;
    };
    std::vector<AddressRange> temporaries, residuals, scratch;
    for (const auto &[temporary, place] :
         llvm::zip(routine.temporaries, layouts.routines[index].temporaries)) {
      if (!isAlive(temporary.begin, temporary.end))
        continue;
      bool isInFrame = place.isInFrame;
      (isInFrame ? temporaries : scratch)
          .push_back({place.offset,
                      place.offset + problem.alignedSize(temporary.size)});
    }
    if (int64_t owner = instances.getFrame(index); owner >= 0) {
      int64_t phase = instances.getPhase(index);
      for (int32_t number : getByOffset(owner)) {
        const Residual &residual = problem.frames[owner].residuals[number];
        auto range = getLiveRange(residual, phase, routine.length);
        if (range && isAlive(range->first, range->second))
          residuals.push_back(getRange(owner, number));
      }
      std::sort(temporaries.begin(), temporaries.end());
      std::vector<AddressRange> frame(temporaries.size() + residuals.size());
      std::merge(temporaries.begin(), temporaries.end(), residuals.begin(),
                 residuals.end(), frame.begin());
      entry->second.frame = splitByPart(owner, frame);
    }
    entry->second.scratch = keep(std::move(scratch));
    return entry->second;
  }

  /// Returns the ranges of a frame that are live after a phase and before the
  /// next one.
  const std::vector<Ranges> &getBetweenPhases(int64_t index, int64_t phase) {
    auto [entry, isNew] = between.try_emplace({index, phase});
    if (!isNew)
      return entry->second;
    std::vector<AddressRange> ranges;
    for (int32_t number : getByOffset(index)) {
      const Residual &residual = problem.frames[index].residuals[number];
      if (residual.birthPhase <= phase && phase < residual.deathPhase)
        ranges.push_back(getRange(index, number));
    }
    return entry->second = splitByPart(index, ranges);
  }

  /// Splits the ranges of a frame by its parts. They become relative to the
  /// parts.
  std::vector<Ranges> splitByPart(int64_t frame,
                                  const std::vector<AddressRange> &ranges) {
    const PlannedFrame &layout = layouts.frames[frame];
    std::vector<std::vector<AddressRange>> split(layout.parts.size());
    for (const AddressRange &range : ranges) {
      size_t part = layout.getPart(range.begin);
      int64_t begin = layout.parts[part].begin;
      split[part].push_back({range.begin - begin, range.end - begin});
    }
    std::vector<Ranges> kept;
    for (std::vector<AddressRange> &part : split)
      kept.push_back(keep(std::move(part)));
    return kept;
  }

  Ranges keep(std::vector<AddressRange> ranges) {
    mergeRanges(ranges);
    return pool.emplace_back(std::move(ranges));
  }

  void addFramePart(const FrameInstance &instance, size_t number) {
    ShapeItem item;
    item.kind = ShapeItem::Kind::Frame;
    auto add = [&](int32_t begin, int32_t end, Ranges ranges) {
      if (ranges.empty() || begin == end)
        return;
      item.size = std::max(item.size, ranges.back().end);
      // Most parts use the same ranges in successive sections.
      if (!item.pieces.empty() && item.pieces.back().end == begin &&
          item.pieces.back().ranges == ranges)
        item.pieces.back().end = end;
      else
        item.pieces.push_back({begin, end, ranges});
    };
    const FramePart &framePart = layouts.frames[instance.frame].parts[number];
    for (int64_t phase = framePart.first.phase; phase <= framePart.last.phase;
         ++phase) {
      int64_t task = instance.tasks[phase];
      bool isLast = phase == framePart.last.phase;
      Ranges after;
      if (!isLast)
        after = getBetweenPhases(instance.frame, phase)[number];
      forEachSection(task, [&](int32_t section, bool hasInstructions,
                               const RoutinePart &part) {
        add(section, section + 1, hasInstructions ? part.frame[number] : after);
      });
      if (!isLast)
        add(sections.getFirst(task + 1),
            sections.getFirst(instance.tasks[phase + 1]), after);
    }
    shapes.items.push_back(std::move(item));
  }

  void addScratch(int64_t task) {
    ShapeItem item;
    item.kind = ShapeItem::Kind::Scratch;
    forEachSection(task, [&](int32_t section, bool, const RoutinePart &part) {
      if (part.scratch.empty())
        return;
      item.pieces.push_back({section, section + 1, part.scratch});
      item.size = std::max(item.size, part.scratch.back().end);
    });
    shapes.items.push_back(std::move(item));
  }

  void addBuffer(const TaskBuffer &buffer) {
    ShapeItem item;
    item.size = problem.alignedSize(buffer.size);
    if (item.size > 0)
      item.pieces.push_back({sections.get(buffer.begin),
                             sections.get(buffer.end), keep({{0, item.size}})});
    shapes.items.push_back(std::move(item));
  }

  /// Calls `visit` with each section of the task and the ranges that its
  /// routine uses.
  template <typename Visit> void forEachSection(int64_t task, Visit visit) {
    int64_t routine = problem.tasks[task].routine;
    int64_t length = problem.routines[routine].length;
    llvm::ArrayRef<int64_t> instructions = sections.getBegins(task);
    for (size_t i = 0; i < instructions.size(); ++i) {
      int64_t end = i + 1 < instructions.size() ? instructions[i + 1] : length;
      visit(sections.getFirst(task) + static_cast<int32_t>(i),
            instructions[i] < end,
            instructions[i] < end ? getPart(routine, instructions[i], end)
                                  : RoutinePart());
    }
  }

  const StepProblem &problem;
  const FrameInstances &instances;
  const StepSections &sections;
  const StepPlan &layouts;
  ShapeProblem shapes;
  std::map<std::tuple<int64_t, int64_t, int64_t>, RoutinePart> parts;
  std::map<std::pair<int64_t, int64_t>, std::vector<Ranges>> between;
  std::map<int64_t, std::vector<int32_t>> byOffset;
  std::deque<std::vector<AddressRange>> pool;
};

} // namespace

//===----------------------------------------------------------------------===//
// Packs the exact shapes of a step
//===----------------------------------------------------------------------===//

namespace {

/// The layout of the routines' scratch.
enum class ScratchLayout { AsPacked, Mirrored, ByEnd, ByEndMirrored };

bool isByEnd(ScratchLayout scratch) {
  return scratch == ScratchLayout::ByEnd ||
         scratch == ScratchLayout::ByEndMirrored;
}

struct VariantRule {
  ScratchLayout scratch = ScratchLayout::AsPacked;
  /// How task buffers that are live at the same times are merged into one
  /// shape; empty if they are not.
  std::optional<GroupLayout> groups;
  /// True if frames stay where they were packed by themselves.
  bool isFixed = false;

  bool operator<(const VariantRule &other) const {
    return std::tie(scratch, groups, isFixed) <
           std::tie(other.scratch, other.groups, other.isFixed);
  }
};

/// For each shape in order, the task for which a task buffer is copied back, or
/// -1. A buffer that begins after the first phase of a frame has begun is a
/// value of that frame, and not a message from which the frame's values are
/// computed.
std::vector<int64_t> getGroups(const LaidOutStep &step,
                               const ShapeProblem &shapes) {
  std::vector<int64_t> groups(
      shapes.items.size() - step.problem.taskBuffers.size(), -1);
  for (const TaskBuffer &buffer : step.problem.taskBuffers) {
    int64_t user = buffer.end.instruction > 0 ? buffer.end.task : -1;
    int64_t instance = user >= 0 ? step.instances.getInstance(user) : -1;
    bool isBroughtBack =
        instance >= 0 && buffer.begin.task < user &&
        buffer.begin.task >= step.instances.getAll()[instance].tasks.front();
    groups.push_back(isBroughtBack ? user : -1);
  }
  return groups;
}

RoutineLayout mirror(const StepProblem &problem, const RoutineMemory &routine,
                     RoutineLayout layout) {
  for (const auto &[temporary, place] :
       llvm::zip(routine.temporaries, layout.temporaries))
    if (!place.isInFrame)
      place.offset = layout.scratchSize - place.offset -
                     problem.alignedSize(temporary.size);
  return layout;
}

std::vector<RoutineLayout> layOut(const LaidOutStep &step, const StepPlan &plan,
                                  ScratchLayout scratch) {
  std::vector<RoutineLayout> routines;
  for (const auto &[index, routine] : llvm::enumerate(step.problem.routines)) {
    RoutineLayout layout = plan.routines[index];
    if (isByEnd(scratch))
      layout = packByEnd(step.problem, step.instances, plan,
                         static_cast<int64_t>(index));
    if (scratch == ScratchLayout::Mirrored ||
        scratch == ScratchLayout::ByEndMirrored)
      layout = mirror(step.problem, routine, std::move(layout));
    routines.push_back(std::move(layout));
  }
  return routines;
}

/// The shapes with a layout of scratch, which several variants pack.
struct ScratchShapes {
  ScratchShapes(const LaidOutStep &step, const StepPlan &plan,
                ScratchLayout scratch) {
    layouts.frames = plan.frames;
    layouts.routines = layOut(step, plan, scratch);
    shapes = std::make_unique<StepShapes>(step.problem, step.instances,
                                          step.sections, layouts);
    bound = getLargest(getLiveProfile(shapes->getProblem()));
  }

  StepPlan layouts;
  std::unique_ptr<StepShapes> shapes;
  /// The bytes that the shapes occupy in the fullest section. No packing of
  /// them has a lower peak, merged or not, and wherever frames are.
  int64_t bound = 0;
};

/// A packing problem of shapes, with its inputs.
class Variant {
public:
  Variant(const LaidOutStep &step, const ScratchShapes &scratch,
          const PackResult &frames, const VariantRule &rule, int64_t goodPeak,
          WorkBudget &budget)
      : scratch(scratch) {
    ShapeProblem problem = scratch.shapes->getProblem();
    if (rule.isFixed)
      for (const auto &[index, offset] : llvm::enumerate(frames.offsets))
        problem.items[index].fixedOffset = offset;
    std::vector<int64_t> groupOf = getGroups(step, problem);
    if (!rule.groups)
      groupOf.assign(groupOf.size(), -1);
    groups = std::make_unique<ShapeGroups>(
        problem, groupOf, rule.groups.value_or(GroupLayout::Tight), budget);
    orders = std::make_unique<ShapeOrders>(groups->getProblem(), goodPeak);
    packer = std::make_unique<ShapePacker>(groups->getProblem());
  }

  ShapeOrder getOrder(const ShapeRule &rule) const {
    return orders->make(rule);
  }
  std::optional<PackResult> pack(const ShapeOrder &order, WorkBudget &budget) {
    return packer->packInOrder(order, budget);
  }
  void improve(const ShapeOrder &order, const PackResult &result,
               int64_t goodPeak, WorkBudget &budget, PackResult &best) {
    packer->improve(order, result, goodPeak, budget, best);
  }
  PackResult expand(const PackResult &result) const {
    return groups->expand(result);
  }
  const std::vector<RoutineLayout> &getRoutines() const {
    return scratch.layouts.routines;
  }

private:
  const ScratchShapes &scratch;
  std::unique_ptr<ShapeGroups> groups;
  std::unique_ptr<ShapeOrders> orders;
  std::unique_ptr<ShapePacker> packer;
};

/// A variant of the problem, and the order in which its shapes are placed.
struct Attempt {
  VariantRule variant;
  ShapeRule order;
};

constexpr auto tight = GroupLayout::Tight;
constexpr auto lastLowest = GroupLayout::LastLowest;
constexpr auto lastHighest = GroupLayout::LastHighest;
using Scratch = ScratchLayout;
using Kinds = KindOrder;
using Measure = ShapeMeasure;

/// The attempts are in the order in which they helped most, each in addition to
/// the previous ones, on the programs of benchmarks/memory/gaps.py.
constexpr Attempt attempts[] = {
    {{Scratch::AsPacked, {}, true}, {Kinds::ScratchLast, Measure::Contention}},
    {{Scratch::ByEnd, {}, true}, {Kinds::ScratchFirst, Measure::Size}},
    {{Scratch::ByEnd, lastLowest, false}, {Kinds::Any, Measure::LargeInTime}},
    {{Scratch::ByEndMirrored, tight, true}, {Kinds::Any, Measure::Area}},
    {{Scratch::ByEnd, tight, true}, {Kinds::Any, Measure::LargeInTime}},
    {{Scratch::ByEnd, lastHighest, true},
     {Kinds::Any, Measure::LargeInReverse}},
    {{Scratch::Mirrored, {}, false},
     {Kinds::FramesFirst, Measure::LargeInReverse}},
    {{Scratch::ByEnd, lastLowest, false},
     {Kinds::FramesFirst, Measure::LargeInReverse}},
    {{Scratch::ByEnd, {}, true}, {Kinds::ScratchFirst, Measure::Death}},
    {{Scratch::AsPacked, {}, true},
     {Kinds::ScratchFirst, Measure::LargeInReverse}},
    {{Scratch::AsPacked, {}, true}, {Kinds::Any, Measure::End}},
    {{Scratch::Mirrored, {}, true}, {Kinds::Any, Measure::Begin}},
    {{Scratch::Mirrored, {}, true}, {Kinds::Any, Measure::LargeInReverse}},
    {{Scratch::AsPacked, {}, true}, {Kinds::Any, Measure::Begin}},
    {{Scratch::AsPacked, {}, true}, {Kinds::Any, Measure::Contention}},
    {{Scratch::Mirrored, {}, true}, {Kinds::ScratchLast, Measure::Contention}},
    {{Scratch::ByEndMirrored, lastLowest, true},
     {Kinds::Any, Measure::LargeInTime, true}},
    {{Scratch::AsPacked, tight, true},
     {Kinds::ScratchLast, Measure::Contention, true}},
};

/// Makes attempts, then improves the orders of the best ones.
class ExactSearch {
public:
  ExactSearch(const LaidOutStep &step, const PackResult &frames,
              int64_t goodPeak, int64_t work, const StepPlan &plan)
      : step(step), frames(frames), goodPeak(goodPeak), plan(plan),
        budget(work) {}

  /// Improves `best`. Returns the layouts to which it belongs if it did.
  const std::vector<RoutineLayout> *run(PackResult &best) {
    std::vector<Outcome> outcomes;
    for (const Attempt &attempt : attempts) {
      if (isDone(best))
        break;
      if (best.peak <= getBound(attempt.variant)) {
        ++numFutile;
        continue;
      }
      Variant &variant = getVariant(attempt.variant);
      std::optional<PackResult> result =
          variant.pack(variant.getOrder(attempt.order), budget);
      if (!result)
        break;
      numFutile = result->peak < best.peak ? 0 : numFutile + 1;
      outcomes.push_back({&attempt, std::move(*result)});
      consider(variant, outcomes.back().result, outcomes.back().getPacker(),
               best);
    }
    std::vector<size_t> order =
        getSortedIndices<size_t>(outcomes.size(), [&](size_t a, size_t b) {
          return outcomes[a].result.peak < outcomes[b].result.peak;
        });
    for (size_t index : order) {
      if (isDone(best))
        break;
      const Outcome &outcome = outcomes[index];
      const int64_t bound = getBound(outcome.attempt->variant);
      if (best.peak > bound)
        settle(outcome, best);
      if (best.peak > bound)
        improve(outcome, best);
    }
    return bestVariant ? &bestVariant->getRoutines() : nullptr;
  }

private:
  struct Outcome {
    const Attempt *attempt;
    PackResult result;

    std::string getPacker() const {
      return "shapes " + std::to_string(attempt - std::begin(attempts) + 1);
    }
  };

  ScratchShapes &getShapes(ScratchLayout scratch) {
    std::unique_ptr<ScratchShapes> &entry = shapes[scratch];
    if (!entry)
      entry = std::make_unique<ScratchShapes>(step, plan, scratch);
    return *entry;
  }

  Variant &getVariant(const VariantRule &rule) {
    std::unique_ptr<Variant> &variant = variants[rule];
    if (!variant)
      variant = std::make_unique<Variant>(step, getShapes(rule.scratch), frames,
                                          rule, goodPeak, budget);
    return *variant;
  }

  /// Returns bytes below which no packing of a variant ends. A mirrored layout
  /// occupies as many bytes at each time as the layout that is mirrored.
  int64_t getBound(const VariantRule &rule) {
    return getShapes(isByEnd(rule.scratch) ? ScratchLayout::ByEnd
                                           : ScratchLayout::AsPacked)
        .bound;
  }

  /// Packs the task buffers of an outcome one by one, from the lowest, so that
  /// buffers that were held up by others of their group move down.
  void settle(const Outcome &outcome, PackResult &best) {
    VariantRule rule = outcome.attempt->variant;
    PackResult placed = getVariant(rule).expand(outcome.result);
    rule.groups = std::nullopt;
    rule.isFixed = false;
    Variant &variant = getVariant(rule);
    ShapeOrder order;
    order.items = getSortedIndices<int32_t>(
        placed.offsets.size(), [&](int32_t a, int32_t b) {
          return placed.offsets[a] < placed.offsets[b];
        });
    std::optional<PackResult> result = variant.pack(order, budget);
    if (!result)
      return;
    PackResult improved = *result;
    variant.improve(order, *result, std::max(goodPeak, getBound(rule)), budget,
                    improved);
    consider(variant, improved, outcome.getPacker() + ", settled", best);
  }

  /// Places shapes that exceed the peak of an outcome first, as long as that
  /// helps.
  void improve(const Outcome &outcome, PackResult &best) {
    const VariantRule &rule = outcome.attempt->variant;
    Variant &variant = getVariant(rule);
    PackResult improved = outcome.result;
    variant.improve(variant.getOrder(outcome.attempt->order), outcome.result,
                    std::max(goodPeak, getBound(rule)), budget, improved);
    consider(variant, improved, outcome.getPacker() + ", improved", best);
  }

  void consider(Variant &variant, const PackResult &result,
                const std::string &packer, PackResult &best) {
    if (result.peak >= best.peak)
      return;
    best = variant.expand(result);
    best.packer = packer;
    bestVariant = &variant;
  }

  /// The parts of frames have few holes and are many. If blocks miss the goal
  /// only slightly, shapes hardly do better and cost much time.
  bool isHopeless(const PackResult &best) const {
    constexpr int64_t patience = 4, little = 50;
    return plan.hasParts() && numFutile >= patience &&
           best.peak - goodPeak <= goodPeak / little;
  }
  bool isDone(const PackResult &best) const {
    return best.peak <= goodPeak || budget.isExhausted() || isHopeless(best);
  }

  const LaidOutStep &step;
  const PackResult &frames;
  int64_t goodPeak;
  const StepPlan &plan;
  WorkBudget budget;
  /// The number of successive attempts that did not improve the best.
  int64_t numFutile = 0;
  std::map<ScratchLayout, std::unique_ptr<ScratchShapes>> shapes;
  std::map<VariantRule, std::unique_ptr<Variant>> variants;
  Variant *bestVariant = nullptr;
};

/// Ends each frame where its last residual or temporary ends. Another layout of
/// a routine may leave the top of a frame unused, and shapes do not count it.
void trimFrames(const StepProblem &problem, StepPlan &plan) {
  for (const auto &[frame, layout] : llvm::zip(problem.frames, plan.frames)) {
    int64_t end = layout.parts.back().begin;
    for (const auto &[residual, offset] :
         llvm::zip(frame.residuals, layout.residualOffsets))
      end = std::max(end, offset + problem.alignedSize(residual.size));
    for (int64_t index : frame.phases)
      for (const auto &[temporary, place] :
           llvm::zip(problem.routines[index].temporaries,
                     plan.routines[index].temporaries))
        if (place.isInFrame)
          end =
              std::max(end, place.offset + problem.alignedSize(temporary.size));
    layout.size = end;
    layout.parts.back().size = end - layout.parts.back().begin;
  }
}

} // namespace

void packExactly(const LaidOutStep &step, const PackResult &frames,
                 int64_t goodPeak, int64_t work, StepPlan &plan,
                 PackResult &best) {
  ExactSearch search(step, frames, goodPeak, work, plan);
  if (const std::vector<RoutineLayout> *routines = search.run(best)) {
    std::vector<RoutineLayout> chosen = *routines;
    plan.routines = std::move(chosen);
    trimFrames(step.problem, plan);
  }
}

} // namespace mf::memory
