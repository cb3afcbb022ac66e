//===- StepLifetimes.cpp - What a step keeps in memory, and when ----------===//

#include "passes/plan-memory/StepLifetimes.h"
#include "passes/plan-memory/StreamClock.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mf;
using namespace mf::passes;
using memory::Moment;

/// Alignment of host buffers (aclrtMemcpyAsync wants 64 bytes).
static constexpr int64_t hostAlignment = 64;

/// The buffer that `value` is a view of, or itself.
static Value getRoot(Value value) {
  while (auto view = value.getDefiningOp<ascend::ViewOp>())
    value = view.getSource();
  return value;
}

static int64_t getBytes(Type type) {
  return cast<ascend::BufferType>(type).getBytes();
}

/// True for operations that touch memory or order streams, false for those
/// that only name buffers.
static bool isInstruction(Operation &op) {
  return isa<ascend::LaunchOp, ascend::CopyOp, ascend::SendOp,
             ascend::ReceiveOp, ascend::AllReduceOp>(op);
}

//===----------------------------------------------------------------------===//
// Static buffers and routines
//===----------------------------------------------------------------------===//

void StepLifetimes::collectStatics() {
  for (auto buffer : program.getBody().getOps<ascend::StaticOp>()) {
    auto type = cast<ascend::BufferType>(buffer.getType());
    if (type.getSpace() == ascend::Space::Hbm) {
      persistent.push_back(buffer);
      problem.persistentBuffers.push_back(
          {buffer.getSymName().str(), type.getBytes()});
      continue;
    }
    hostOffsets.push_back({buffer, hostBytes});
    hostBytes += llvm::alignTo(type.getBytes(), hostAlignment);
  }
}

void StepLifetimes::collectRoutine(ascend::RoutineOp routine) {
  RoutineInfo &info = routines[routine.getSymName()];
  info.op = routine;
  info.index = problem.routines.size();
  routineOrder.push_back(&info);
  info.arguments.resize(routine.getArgumentTypes().size());
  llvm::MapVector<Operation *, Range> allocs;

  memory::Routine &target = problem.routines.emplace_back();
  target.name = routine.getSymName().str();
  for (Operation &op : routine.getBody().front()) {
    if (isa<ascend::AllocOp>(op))
      allocs[&op] = Range();
    if (!isInstruction(op))
      continue;
    int64_t number = target.length++;
    info.instructions.push_back(&op);
    for (Value operand : op.getOperands()) {
      Value root = getRoot(operand);
      if (auto argument = dyn_cast<BlockArgument>(root))
        info.arguments[argument.getArgNumber()].add(number);
      else if (auto slot = root.getDefiningOp<ascend::SlotOp>())
        info.slots[slot.getIndex()].add(number);
      else if (auto alloc = root.getDefiningOp<ascend::AllocOp>())
        allocs[alloc].add(number);
    }
  }
  for (auto &[op, range] : allocs) {
    auto alloc = cast<ascend::AllocOp>(op);
    info.allocs.push_back(alloc);
    std::string name;
    if (range.begin >= 0)
      if (auto launch =
              dyn_cast<ascend::LaunchOp>(info.instructions[range.begin]))
        name = launch.getCell().value_or(launch.getKernel()).str();
    target.temporaries.push_back({name, getBytes(alloc.getType()),
                                  std::max<int64_t>(range.begin, 0),
                                  std::max<int64_t>(range.end, 0)});
  }
}

//===----------------------------------------------------------------------===//
// Calls and frames
//===----------------------------------------------------------------------===//

LogicalResult StepLifetimes::collectCalls(ascend::StepOp step) {
  for (auto call : step.getBody().getOps<ascend::CallOp>()) {
    auto found = routines.find(call.getRoutine());
    if (found == routines.end())
      return call.emitOpError("expected a routine, but got '")
             << call.getRoutine() << "'";
    int64_t instance = calls.size();
    if (call.getFrame())
      instance =
          call.getFrame().getDefiningOp<ascend::FrameOp>().getMicroBatch();
    calls.push_back(call);
    problem.tasks.push_back({found->second.index, instance});
  }
  return success();
}

LogicalResult StepLifetimes::collectFrames() {
  // The routines of a layout, in the order in which a micro-batch runs them.
  llvm::MapVector<StringRef, SmallVector<RoutineInfo *>> phases;
  for (ascend::CallOp call : calls) {
    RoutineInfo &info = routines[call.getRoutine()];
    if (!info.op.getLayout())
      continue;
    auto &list = phases[*info.op.getLayout()];
    if (!llvm::is_contained(list, &info))
      list.push_back(&info);
  }
  for (auto layout : program.getBody().getOps<ascend::FrameLayoutOp>()) {
    ArrayRef<RoutineInfo *> infos = phases[layout.getSymName()];
    memory::Frame &frame = problem.frames.emplace_back();
    layouts.push_back(layout);
    frame.name = layout.getSymName().str();
    for (RoutineInfo *info : infos)
      frame.phases.push_back(info->index);
    for (auto [index, type] :
         llvm::enumerate(layout.getTypes().getAsValueRange<TypeAttr>())) {
      memory::Residual residual;
      residual.name = cast<StringAttr>(layout.getNames()[index]).str();
      residual.size = getBytes(type);
      SmallVector<std::pair<int64_t, Range>> uses;
      for (auto [phase, info] : llvm::enumerate(infos))
        if (auto found = info->slots.find(index); found != info->slots.end())
          uses.push_back({phase, found->second});
      if (uses.size() < 2)
        return layout.emitOpError("expected slot ")
               << index << " ('" << residual.name
               << "') to be written by one routine and read by a later one";
      residual.birthPhase = uses.front().first;
      residual.birth = uses.front().second.begin;
      residual.deathPhase = uses.back().first;
      residual.death = uses.back().second.end;
      frame.residuals.push_back(residual);
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

namespace {
/// Finds the lifetimes of messages in one walk over a step.
class MessageLifetimes {
public:
  /// `lastInstructions`: for each call, the number of its last instruction.
  explicit MessageLifetimes(ArrayRef<int64_t> lastInstructions)
      : lastInstructions(lastInstructions), numCalls(lastInstructions.size()) {
    compute = clock.getStream("compute");
  }

  void visit(
      Operation &op,
      function_ref<std::pair<Moment, Moment>(ascend::CallOp, unsigned, int64_t)>
          getArgumentRange);
  void finish() {
    for (auto &[stream, accesses] : pending)
      for (auto &[number, message] : accesses)
        extend(message, {numCalls, 0}, {numCalls, 0});
  }

  llvm::MapVector<Value, std::pair<Moment, Moment>> ranges;

private:
  void extend(Value message, Moment begin, Moment end) {
    auto [entry, isNew] = ranges.insert({message, {begin, end}});
    if (isNew)
      return;
    entry->second.first = std::min(entry->second.first, begin);
    entry->second.second = std::max(entry->second.second, end);
  }
  void visitTransfer(Operation &op, StringRef streamName);
  void settle(int64_t position);
  Moment getStart(unsigned stream) const;

  StreamClock clock;
  unsigned compute;
  ArrayRef<int64_t> lastInstructions;
  int64_t numCalls;
  /// Accesses by other streams that no call is known to come after yet.
  llvm::MapVector<unsigned, std::vector<std::pair<int64_t, Value>>> pending;
};
} // namespace

/// Ends accesses that are over when call `position` starts.
void MessageLifetimes::settle(int64_t position) {
  for (auto &[stream, accesses] : pending) {
    int64_t known = clock.getKnown(compute, stream);
    auto firstOpen = llvm::find_if(
        accesses, [&](const auto &access) { return access.first > known; });
    for (auto access = accesses.begin(); access != firstOpen; ++access)
      extend(access->second, {position, 0}, {position, 0});
    accesses.erase(accesses.begin(), firstOpen);
  }
}

/// When a transfer that is issued now may start. If calls up to p are known to
/// be over, that is the end of p and not the start of the call behind it: what
/// that call waits for before it starts may still be going on.
Moment MessageLifetimes::getStart(unsigned stream) const {
  int64_t numDone = clock.getKnown(stream, compute);
  if (numDone == 0)
    return {0, 0};
  return {numDone - 1, lastInstructions[numDone - 1]};
}

void MessageLifetimes::visitTransfer(Operation &op, StringRef streamName) {
  unsigned stream = clock.getStream(streamName);
  Moment start = getStart(stream);
  int64_t number = clock.issue(stream);
  for (Value operand : op.getOperands()) {
    Value root = getRoot(operand);
    if (!root.getDefiningOp<ascend::MessageOp>())
      continue;
    extend(root, start, start);
    pending[stream].push_back({number, root});
  }
}

void MessageLifetimes::visit(
    Operation &op,
    function_ref<std::pair<Moment, Moment>(ascend::CallOp, unsigned, int64_t)>
        getArgumentRange) {
  if (auto call = dyn_cast<ascend::CallOp>(op)) {
    int64_t position = clock.issue(compute) - 1;
    settle(position);
    for (auto [index, buffer] : llvm::enumerate(call.getBuffers()))
      if (Value root = getRoot(buffer);
          root.getDefiningOp<ascend::MessageOp>()) {
        auto [begin, end] = getArgumentRange(call, index, position);
        extend(root, begin, end);
      }
    return;
  }
  if (auto record = dyn_cast<ascend::RecordOp>(op))
    clock.record(clock.getStream(record.getStream()), record.getEvent());
  else if (auto wait = dyn_cast<ascend::WaitOp>(op))
    clock.wait(clock.getStream(wait.getStream()), wait.getEvent());
  else if (auto copy = dyn_cast<ascend::CopyOp>(op))
    visitTransfer(op, copy.getStream());
  else if (auto send = dyn_cast<ascend::SendOp>(op))
    visitTransfer(op, send.getStream());
  else if (auto receive = dyn_cast<ascend::ReceiveOp>(op))
    visitTransfer(op, receive.getStream());
  else if (auto reduce = dyn_cast<ascend::AllReduceOp>(op))
    visitTransfer(op, reduce.getStream());
}

void StepLifetimes::collectMessages(ascend::StepOp step) {
  SmallVector<int64_t> lastInstructions;
  for (ascend::CallOp call : calls) {
    int64_t length = routines[call.getRoutine()].instructions.size();
    lastInstructions.push_back(std::max<int64_t>(length - 1, 0));
  }
  MessageLifetimes lifetimes(lastInstructions);
  auto getArgumentRange = [&](ascend::CallOp call, unsigned index,
                              int64_t position) {
    const Range &range = routines[call.getRoutine()].arguments[index];
    return std::pair(Moment{position, std::max<int64_t>(range.begin, 0)},
                     Moment{position, std::max<int64_t>(range.end, 0)});
  };
  for (Operation &op : step.getBody().front())
    lifetimes.visit(op, getArgumentRange);
  lifetimes.finish();
  for (auto &[value, range] : lifetimes.ranges) {
    auto message = value.getDefiningOp<ascend::MessageOp>();
    messages.push_back(message);
    problem.taskBuffers.push_back(
        {"message", getBytes(message.getType()), range.first, range.second});
  }
}

LogicalResult StepLifetimes::analyze() {
  auto steps = program.getBody().getOps<ascend::StepOp>();
  if (!llvm::hasSingleElement(steps))
    return program.emitOpError("expected one ascend.step");
  ascend::StepOp step = *steps.begin();
  collectStatics();
  for (auto routine : program.getBody().getOps<ascend::RoutineOp>())
    collectRoutine(routine);
  if (failed(collectCalls(step)) || failed(collectFrames()))
    return failure();
  collectMessages(step);
  return success();
}

//===----------------------------------------------------------------------===//
// Applying a plan
//===----------------------------------------------------------------------===//

void StepLifetimes::apply(const memory::StepPlan &plan) {
  Builder builder(program.getContext());
  for (auto [buffer, offset] : llvm::zip(persistent, plan.persistentOffsets))
    buffer.setOffset(offset);
  for (auto [buffer, offset] : hostOffsets)
    buffer.setOffset(offset);
  for (auto [layout, frame] : llvm::zip(layouts, plan.frames)) {
    layout.setOffsets(frame.residualOffsets);
    layout.setBytes(frame.size);
  }
  for (auto [info, layout] : llvm::zip(routineOrder, plan.routines))
    for (auto [alloc, place] : llvm::zip(info->allocs, layout.temporaries)) {
      bool inFrame = place.region == memory::TemporaryPlace::Region::Frame;
      alloc.setRegionAttr(ascend::RegionAttr::get(
          program.getContext(),
          inFrame ? ascend::Region::Frame : ascend::Region::Scratch));
      alloc.setOffset(place.offset);
    }
  for (auto [call, bases] : llvm::zip(calls, plan.tasks)) {
    if (call.getFrame())
      call.getFrame().getDefiningOp<ascend::FrameOp>().setOffset(
          bases.frameBase);
    if (!routines[call.getRoutine()].allocs.empty())
      call.setScratchOffset(bases.scratchBase);
  }
  for (auto [message, offset] : llvm::zip(messages, plan.taskBufferOffsets))
    message.setOffset(offset);
  program.setArenaBytes(plan.arenaSize);
  program.setHostBytes(hostBytes);
  program.setMaxLiveBytes(plan.bound.bytes);
}

std::string StepLifetimes::describe(Moment moment) const {
  if (moment.task >= static_cast<int64_t>(calls.size()))
    return "the end of the step";
  ascend::CallOp call = calls[moment.task];
  std::string text = "task " + call.getRoutine().str();
  if (call.getMicroBatch())
    text += ", micro-batch " + std::to_string(*call.getMicroBatch());
  const RoutineInfo &info = routines.find(call.getRoutine())->second;
  if (moment.instruction < static_cast<int64_t>(info.instructions.size()))
    if (auto launch =
            dyn_cast<ascend::LaunchOp>(info.instructions[moment.instruction]))
      text +=
          ", operator " + launch.getCell().value_or(launch.getKernel()).str();
  return text;
}

StringRef StepLifetimes::getRole(StringRef persistentBuffer) const {
  for (ascend::StaticOp buffer : persistent)
    if (buffer.getSymName() == persistentBuffer)
      return ascend::stringifyRole(buffer.getRole());
  return {};
}
