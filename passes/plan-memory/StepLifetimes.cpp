//===- StepLifetimes.cpp - What a step keeps in memory, and when ----------===//

#include "passes/plan-memory/StepLifetimes.h"
#include "dialects/mf/CellName.h"
#include "passes/plan-memory/MessageLifetimes.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mf;
using namespace mf::passes;
using memory::StepMoment;

static bool isOnHost(Type type) {
  return cast<ascend::BufferType>(type).getSpace() == ascend::Space::Host;
}

static int64_t getBytes(Type type) {
  return cast<ascend::BufferType>(type).getBytes();
}

/// True for operations that touch memory, and for waits of the compute stream,
/// where memory that another stream uses comes free.
static bool isInstruction(Operation &op, StringRef compute) {
  if (auto wait = dyn_cast<ascend::WaitOp>(op))
    return wait.getStream() == compute;
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
    hostStatics.push_back(buffer);
    hostProblem.persistentBuffers.push_back(
        {buffer.getSymName().str(), type.getBytes()});
  }
}

namespace {
/// Copies of a routine that the compute stream does not know to be over.
class OpenCopies {
public:
  void add(StringRef stream, Value root) {
    streams[stream].roots.push_back(root);
  }
  void record(StringRef stream, Value event) {
    events[event] = {stream, streams[stream].roots.size()};
  }
  /// What is over, and was not before, once the compute stream has waited for
  /// `event`.
  SmallVector<Value> settle(Value event) {
    auto found = events.find(event);
    if (found == events.end())
      return {};
    auto [name, count] = found->second;
    Stream &stream = streams[name];
    SmallVector<Value> done(
        ArrayRef(stream.roots)
            .slice(stream.numDone,
                   std::max(count, stream.numDone) - stream.numDone));
    stream.numDone = std::max(stream.numDone, count);
    return done;
  }

private:
  struct Stream {
    SmallVector<Value> roots;
    size_t numDone = 0;
  };
  llvm::StringMap<Stream> streams;
  DenseMap<Value, std::pair<StringRef, size_t>> events;
};
} // namespace

void StepLifetimes::addUse(RoutineInfo &info, Value root, int64_t number) {
  if (auto argument = dyn_cast<BlockArgument>(root))
    info.arguments[argument.getArgNumber()].add(number);
  else if (auto slot = root.getDefiningOp<ascend::SlotOp>())
    info.slots[slot.getIndex()].add(number);
  else if (auto alloc = root.getDefiningOp<ascend::AllocOp>())
    info.allocRanges[alloc].add(number);
}

void StepLifetimes::collectUses(RoutineInfo &info) {
  StringRef compute = getComputeStream(program);
  OpenCopies copies;
  for (Operation &op : info.op.getBody().front()) {
    if (auto alloc = dyn_cast<ascend::AllocOp>(op))
      info.allocRanges[alloc];
    if (auto record = dyn_cast<ascend::RecordOp>(op))
      copies.record(record.getStream(), record.getEvent());
    if (!isInstruction(op, compute))
      continue;
    int64_t number = info.instructions.size();
    info.instructions.push_back(&op);
    if (isa<ascend::LaunchOp>(op))
      info.launches.push_back(number);
    if (auto wait = dyn_cast<ascend::WaitOp>(op)) {
      for (Value root : copies.settle(wait.getEvent()))
        addUse(info, root, number);
      continue;
    }
    auto copy = dyn_cast<ascend::CopyOp>(op);
    for (Value operand : op.getOperands()) {
      if (isa<ascend::EventType>(operand.getType()))
        continue;
      Value root = getRootBuffer(operand);
      addUse(info, root, number);
      if (copy)
        copies.add(copy.getStream(), root);
    }
    if (copy && copy.getDone())
      copies.record(copy.getStream(), copy.getDone());
  }
}

void StepLifetimes::collectRoutine(ascend::RoutineOp routine) {
  RoutineInfo &info = routines[routine.getSymName()];
  info.op = routine;
  info.index = problem.routines.size();
  routineOrder.push_back(&info);
  info.arguments.resize(routine.getArgumentTypes().size());
  collectUses(info);

  memory::Routine &target = problem.routines.emplace_back();
  target.name = routine.getSymName().str();
  target.length = info.instructions.size();
  hostProblem.routines.push_back({target.name, target.length, {}});
  for (auto &[op, range] : info.allocRanges) {
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

LogicalResult StepLifetimes::collectFrames(ascend::StepOp step) {
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
  // Slots that the step reads, before the last routine of their frame.
  DenseSet<std::pair<Attribute, int64_t>> readByStep;
  for (auto slot : step.getBody().getOps<ascend::SlotOp>())
    readByStep.insert(
        {cast<ascend::FrameType>(slot.getFrame().getType()).getLayout(),
         slot.getIndex()});
  for (auto layout : program.getBody().getOps<ascend::FrameLayoutOp>()) {
    auto name = FlatSymbolRefAttr::get(layout.getSymNameAttr());
    if (failed(collectFrame(
            layout, phases[layout.getSymName()],
            [&](int64_t index) { return readByStep.contains({name, index}); })))
      return failure();
  }
  return success();
}

LogicalResult
StepLifetimes::collectFrame(ascend::FrameLayoutOp layout,
                            ArrayRef<RoutineInfo *> infos,
                            function_ref<bool(int64_t)> isReadByStep) {
  memory::ResidualFrame &frame = problem.frames.emplace_back();
  memory::ResidualFrame &hostFrame = hostProblem.frames.emplace_back();
  layouts.push_back(layout);
  frame.name = hostFrame.name = layout.getSymName().str();
  for (RoutineInfo *info : infos)
    frame.phases.push_back(info->index);
  hostFrame.phases = frame.phases;
  for (auto [index, type] :
       llvm::enumerate(layout.getTypes().getAsValueRange<TypeAttr>())) {
    memory::Residual residual;
    residual.name = cast<StringAttr>(layout.getNames()[index]).str();
    residual.size = getBytes(type);
    SmallVector<std::pair<int64_t, Range>> uses;
    for (auto [phase, info] : llvm::enumerate(infos))
      if (auto found = info->slots.find(index); found != info->slots.end())
        uses.push_back({phase, found->second});
    // A copy that the step issues is over when the last routine needs it.
    if (uses.size() == 1 && infos.size() > 1 && isReadByStep(index))
      uses.push_back({infos.size() - 1, Range{0, 0}});
    if (uses.size() < 2)
      return layout.emitOpError("expected slot ")
             << index << " ('" << residual.name
             << "') to be written by one routine and read by a later one";
    residual.birthPhase = uses.front().first;
    residual.birth = uses.front().second.begin;
    residual.deathPhase = uses.back().first;
    residual.death = uses.back().second.end;
    residual.layer = ir::getLayerNumberOfCell(residual.name);
    (isOnHost(type) ? hostFrame : frame).residuals.push_back(residual);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

/// What calls are made of, for the lifetimes of messages.
struct StepLifetimes::Calls : CallTable {
  explicit Calls(StepLifetimes &lifetimes) : lifetimes(lifetimes) {}

  const RoutineInfo &getInfo(int64_t position) const {
    return lifetimes.routines.find(lifetimes.calls[position].getRoutine())
        ->second;
  }
  int64_t getLength(int64_t position) const override {
    return std::max<int64_t>(getInfo(position).instructions.size(), 1);
  }
  std::pair<int64_t, int64_t> getUse(int64_t position,
                                     unsigned index) const override {
    const Range &range = getInfo(position).arguments[index];
    return {std::max<int64_t>(range.begin, 0), std::max<int64_t>(range.end, 0)};
  }
  int64_t getLaunch(int64_t position, int64_t launches) const override {
    const RoutineInfo &info = getInfo(position);
    int64_t index = std::min<int64_t>(launches, info.launches.size()) - 1;
    return index < 0 ? 0 : info.launches[index];
  }

  StepLifetimes &lifetimes;
};

void StepLifetimes::collectMessages(ascend::StepOp step) {
  Calls table(*this);
  MessageLifetimes lifetimes(program, table, calls.size());
  lifetimes.run(step);
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
  if (failed(collectCalls(step)) || failed(collectFrames(step)))
    return failure();
  collectMessages(step);
  hostProblem.tasks = problem.tasks;
  hostProblem.alignment = memory::addressAlignment;
  return success();
}

//===----------------------------------------------------------------------===//
// Applying a plan
//===----------------------------------------------------------------------===//

void StepLifetimes::applyHost(const memory::StepPlan &plan) {
  for (auto [buffer, offset] : llvm::zip(hostStatics, plan.persistentOffsets))
    buffer.setOffset(offset);
  DenseSet<Attribute> onHost;
  for (auto [layout, frame] : llvm::zip(layouts, plan.frames))
    if (frame.size > 0) {
      layout.setHostBytes(frame.size);
      onHost.insert(FlatSymbolRefAttr::get(layout.getSymNameAttr()));
    }
  for (auto [call, bases] : llvm::zip(calls, plan.tasks))
    if (call.getFrame())
      if (auto frame = call.getFrame().getDefiningOp<ascend::FrameOp>();
          onHost.contains(frame.getType().getLayout()))
        frame.setHostOffset(bases.frameBase);
  program.setHostBytes(plan.arenaSize);
}

/// The offsets of a layout's slots, each within its part of the frame.
static std::vector<int64_t> mergeOffsets(ascend::FrameLayoutOp layout,
                                         ArrayRef<int64_t> device,
                                         ArrayRef<int64_t> host) {
  std::vector<int64_t> offsets;
  for (Type type : layout.getTypes().getAsValueRange<TypeAttr>()) {
    ArrayRef<int64_t> &part = isOnHost(type) ? host : device;
    offsets.push_back(part.front());
    part = part.drop_front();
  }
  return offsets;
}

void StepLifetimes::apply(const memory::StepPlan &plan,
                          const memory::StepPlan &host) {
  applyHost(host);
  for (auto [buffer, offset] : llvm::zip(persistent, plan.persistentOffsets))
    buffer.setOffset(offset);
  for (auto [layout, frame, hostFrame] :
       llvm::zip(layouts, plan.frames, host.frames)) {
    layout.setOffsets(
        mergeOffsets(layout, frame.residualOffsets, hostFrame.residualOffsets));
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
  program.setMaxLiveBytes(plan.bound.bytes);
}

std::string StepLifetimes::describe(StepMoment moment) const {
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
