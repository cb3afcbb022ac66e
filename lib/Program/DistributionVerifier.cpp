//===- DistributionVerifier.cpp - Do ranks together compute the model? ----===//
//
// Runs the step on distributions instead of numbers, in the order in which each
// stage issues it: events order what depends on each other at least so much.
// All ranks of a stage are run at once, and the stages as far as messages
// allow.
//
//===----------------------------------------------------------------------===//

#include "Distribution.h"
#include "DistributionTable.h"
#include "mf/Program/Description.h"
#include "mf/Program/Verifier.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <deque>
#include <memory>
#include <set>

namespace mf::program {

namespace {

/// Bytes of a buffer of the step or of a call.
struct BufferRange {
  Content *content = nullptr;
  int64_t offset = 0;
  int64_t bytes = 0;
};

/// What a list's buffers stand for.
struct Frameset {
  const InstructionList *list = nullptr;
  const Call *call = nullptr;
  std::vector<BufferRange> arguments;
  std::vector<Content> temporaries;
};

/// The instructions of the step that work on one stream, and how many are done.
struct StreamRun {
  std::vector<uint32_t> positions;
  size_t next = 0;
};

/// A stage, and how far it has come.
struct StageRun {
  const StageProgram *stage = nullptr;
  std::vector<StreamRun> streams;
  /// By instruction of the step.
  std::vector<std::set<uint32_t>> worksOn;
  std::vector<bool> isRecorded;
  std::vector<Content> statics, messages;
  std::vector<std::vector<Content>> frames;
  /// By routine: what it made of what.
  std::vector<std::map<Content, Content>> made;
  std::vector<std::vector<uint32_t>> shared;
};

class DistributionVerifier {
public:
  explicit DistributionVerifier(const Program &program)
      : program(program), table(program), queues(program.channels.size()) {}

  llvm::Error verify();

private:
  void begin(const StageProgram &stage);
  /// Whether the stream came further; an error is left behind.
  bool advance(StageRun &run, StreamRun &stream);
  bool isReady(const StageRun &run, const Instruction &instruction) const;
  bool runCall(StageRun &run, uint32_t position, const Call &call);
  bool runList(StageRun &run, Frameset &frameset, uint32_t position);
  bool runInstruction(StageRun &run, Frameset &frameset,
                      const Instruction &instruction, uint32_t position,
                      uint32_t number);
  bool runKernel(StageRun &run, Frameset &frameset,
                 const Instruction &instruction, uint32_t position,
                 uint32_t number);
  bool runExchange(StageRun &run, Frameset &frameset,
                   const Instruction &instruction, uint32_t position,
                   uint32_t number);
  BufferRange resolve(StageRun &run, Frameset &frameset,
                      const Operand &operand);
  std::vector<BufferRange> findShared(StageRun &run, Frameset &frameset,
                                      uint32_t routine);
  bool finish(const StageRun &run);
  bool finishStatic(const StageRun &run, uint32_t number);
  bool fail(StageRun &run, uint32_t position, uint32_t number,
            Frameset &frameset, const DistributionError &error);

  const Program &program;
  DistributionTable table;
  std::vector<StageRun> runs;
  /// Of each transfer, what was sent and is not received yet.
  std::vector<std::deque<Content>> queues;
  std::unique_ptr<LocatedError> error;
};

} // namespace

static size_t countBuffers(const InstructionList &list, BufferKind kind) {
  size_t count = 0;
  for (const Buffer &buffer : list.buffers)
    if (buffer.kind == kind)
      count = std::max<size_t>(count, buffer.index + 1);
  return count;
}

/// The streams that each instruction of the step works on: a call on all those
/// of its routine.
static std::vector<std::set<uint32_t>> findStreams(const StageProgram &stage) {
  std::vector<std::set<uint32_t>> ofRoutines, found;
  for (const Routine &routine : stage.routines) {
    std::set<uint32_t> &streams = ofRoutines.emplace_back();
    for (const Instruction &instruction : routine.body.instructions)
      streams.insert(instruction.stream);
  }
  for (const Instruction &instruction : stage.step.instructions) {
    const Call *call = stage.step.getCall(instruction);
    found.push_back(call ? ofRoutines[call->routine] : std::set<uint32_t>());
    found.back().insert(instruction.stream);
  }
  return found;
}

void DistributionVerifier::begin(const StageProgram &stage) {
  StageRun run;
  run.stage = &stage;
  for (const Static &buffer : stage.statics)
    run.statics.push_back(table.getStatic(buffer));
  run.messages.resize(countBuffers(stage.step, BufferKind::Message));
  for (const Frame &frame : stage.frames)
    run.frames.emplace_back(stage.layouts[frame.layout].slots.size());
  run.streams.resize(stage.streams.size());
  run.worksOn = findStreams(stage);
  for (auto [position, numbers] : llvm::enumerate(run.worksOn))
    for (uint32_t number : numbers)
      run.streams[number].positions.push_back(position);
  run.isRecorded.resize(stage.step.numEvents, false);
  run.made.resize(stage.routines.size());
  run.shared.resize(stage.routines.size());
  for (auto [routine, shared] : llvm::zip_equal(stage.routines, run.shared))
    for (auto [number, buffer] : llvm::enumerate(routine.body.buffers))
      if (buffer.kind != BufferKind::Temporary)
        shared.push_back(number);
  runs.push_back(std::move(run));
}

BufferRange DistributionVerifier::resolve(StageRun &run, Frameset &frameset,
                                          const Operand &operand) {
  const Buffer &buffer = frameset.list->buffers[operand.buffer];
  switch (buffer.kind) {
  case BufferKind::Static:
    return {&run.statics[buffer.index], operand.offset, operand.bytes};
  case BufferKind::Message:
    return {&run.messages[buffer.index], operand.offset, operand.bytes};
  case BufferKind::Slot: {
    const uint32_t frame =
        frameset.call ? frameset.call->frame.value_or(0) : buffer.frame;
    return {&run.frames[frame][buffer.index], operand.offset, operand.bytes};
  }
  case BufferKind::Temporary:
    return {&frameset.temporaries[buffer.index], operand.offset, operand.bytes};
  case BufferKind::Argument:
    break;
  }
  BufferRange argument = frameset.arguments[buffer.index];
  argument.offset += operand.offset;
  argument.bytes = operand.bytes;
  return argument;
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

bool DistributionVerifier::fail(StageRun &run, uint32_t position,
                                uint32_t number, Frameset &frameset,
                                const DistributionError &reason) {
  const Instruction &instruction = getInstruction(*run.stage, position, number);
  const Operand &operand = instruction.accesses[reason.operand].operand;
  const Buffer &buffer = frameset.list->buffers[operand.buffer];
  const Axis &axis = program.mesh.getAxes()[reason.axis];
  const BufferRange range = resolve(run, frameset, operand);
  const Distribution held =
      table.get(table.read(*range.content, range.offset, range.bytes));
  error = std::make_unique<LocatedError>(
      instruction.location,
      describe(program, *run.stage, position, number) + " takes " +
          (buffer.name.empty() ? "operand " + std::to_string(reason.operand)
                               : buffer.name) +
          ", which over '" + axis.name + "' is " +
          describe(held.axes[reason.axis].holding).str() + ": " +
          reason.reason);
  return false;
}

bool DistributionVerifier::runKernel(StageRun &run, Frameset &frameset,
                                     const Instruction &instruction,
                                     uint32_t position, uint32_t number) {
  const LaunchedKernel &kernel = program.kernels[instruction.index];
  const size_t numOperands =
      kernel.spec.inputs.size() + kernel.spec.outputs.size();
  std::vector<uint32_t> operands;
  for (const MemoryAccess &access :
       llvm::ArrayRef(instruction.accesses).take_front(numOperands)) {
    if (access.access == Access::Out) {
      operands.push_back(DistributionTable::zero);
      continue;
    }
    const BufferRange range = resolve(run, frameset, access.operand);
    operands.push_back(table.read(*range.content, range.offset, range.bytes));
  }
  llvm::Expected<const DistributionTable::Outcome *> outcome =
      table.apply(instruction.index, operands);
  if (!outcome) {
    error = std::make_unique<LocatedError>(instruction.location,
                                           llvm::toString(outcome.takeError()));
    return false;
  }
  if ((*outcome)->error)
    return fail(run, position, number, frameset, *(*outcome)->error);
  for (auto [output, made] : llvm::enumerate((*outcome)->outputs)) {
    const size_t place = kernel.spec.inputs.size() + output;
    const BufferRange range =
        resolve(run, frameset, instruction.accesses[place].operand);
    table.write(*range.content, range.offset, range.bytes, made);
  }
  return true;
}

bool DistributionVerifier::runExchange(StageRun &run, Frameset &frameset,
                                       const Instruction &instruction,
                                       uint32_t position, uint32_t number) {
  const Exchange &exchange = frameset.list->exchanges[instruction.index];
  const Channel &channel = program.channels[exchange.channel];
  const BufferRange first =
      resolve(run, frameset, instruction.accesses[0].operand);
  if (channel.isTransfer) {
    std::deque<Content> &queue = queues[exchange.channel];
    if (exchange.isSend) {
      queue.push_back(table.extract(*first.content, first.offset, first.bytes));
    } else if (!queue.empty()) {
      table.insert(*first.content, first.offset, queue.front());
      queue.pop_front();
    }
    return true;
  }
  const BufferRange last =
      resolve(run, frameset, instruction.accesses.back().operand);
  CollectiveOperands operands;
  operands.inputElements = first.bytes / getBytes(exchange.type);
  operands.outputElements = last.bytes / getBytes(exchange.type);
  for (const MemoryAccess &access :
       llvm::ArrayRef(instruction.accesses).drop_back()) {
    const BufferRange range = resolve(run, frameset, access.operand);
    operands.inputs.push_back(
        &table.get(table.read(*range.content, range.offset, range.bytes)));
  }
  Distribution output;
  if (std::optional<DistributionError> reason = applyCollective(
          exchange, channel.group, program.mesh, operands, output))
    return fail(run, position, number, frameset, *reason);
  table.write(*last.content, last.offset, last.bytes,
              table.add(std::move(output)));
  return true;
}

bool DistributionVerifier::runInstruction(StageRun &run, Frameset &frameset,
                                          const Instruction &instruction,
                                          uint32_t position, uint32_t number) {
  switch (instruction.work) {
  case Work::None:
  case Work::Call:
    return true;
  case Work::Kernel:
    return runKernel(run, frameset, instruction, position, number);
  case Work::Exchange:
    return runExchange(run, frameset, instruction, position, number);
  case Work::Copy:
    break;
  }
  const BufferRange source =
      resolve(run, frameset, instruction.accesses[0].operand);
  const BufferRange target =
      resolve(run, frameset, instruction.accesses[1].operand);
  table.insert(*target.content, target.offset,
               table.extract(*source.content, source.offset, source.bytes));
  return true;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

bool DistributionVerifier::runList(StageRun &run, Frameset &frameset,
                                   uint32_t position) {
  for (auto [number, instruction] :
       llvm::enumerate(frameset.list->instructions))
    if (!runInstruction(run, frameset, instruction, position, number))
      return false;
  return true;
}

/// What a call of a routine reads and writes beyond its temporaries.
std::vector<BufferRange> DistributionVerifier::findShared(StageRun &run,
                                                          Frameset &frameset,
                                                          uint32_t routine) {
  std::vector<BufferRange> ranges;
  for (uint32_t buffer : run.shared[routine])
    ranges.push_back(resolve(
        run, frameset, {buffer, 0, frameset.list->buffers[buffer].bytes}));
  return ranges;
}

/// What a routine makes of the same distributions it makes again.
bool DistributionVerifier::runCall(StageRun &run, uint32_t position,
                                   const Call &call) {
  Frameset frameset;
  frameset.list = &run.stage->routines[call.routine].body;
  frameset.call = &call;
  Frameset step;
  step.list = &run.stage->step;
  for (const Operand &argument : call.arguments)
    frameset.arguments.push_back(resolve(run, step, argument));
  const std::vector<BufferRange> shared =
      findShared(run, frameset, call.routine);
  auto collect = [&] {
    Content all;
    int64_t offset = 0;
    for (const BufferRange &range : shared) {
      table.insert(all, offset,
                   table.extract(*range.content, range.offset, range.bytes));
      offset += range.bytes;
    }
    return all;
  };
  Content before = collect();
  auto [found, isNew] = run.made[call.routine].try_emplace(std::move(before));
  if (isNew) {
    frameset.temporaries.resize(
        countBuffers(*frameset.list, BufferKind::Temporary));
    if (!runList(run, frameset, position))
      return false;
    found->second = collect();
    return true;
  }
  int64_t offset = 0;
  for (const BufferRange &range : shared) {
    table.insert(*range.content, range.offset,
                 table.extract(found->second, offset, range.bytes));
    offset += range.bytes;
  }
  return true;
}

bool DistributionVerifier::isReady(const StageRun &run,
                                   const Instruction &instruction) const {
  const InstructionList &step = run.stage->step;
  const Exchange *exchange = step.getExchange(instruction);
  if (exchange && program.channels[exchange->channel].isTransfer &&
      !exchange->isSend && queues[exchange->channel].empty())
    return false;
  const Call *call = step.getCall(instruction);
  return llvm::all_of(instruction.awaited,
                      [&](const AwaitedEvent &awaited) {
                        return run.isRecorded[awaited.event];
                      }) &&
         (!call || llvm::all_of(call->events, [&](uint32_t event) {
           return run.isRecorded[event];
         }));
}

bool DistributionVerifier::advance(StageRun &run, StreamRun &stream) {
  Frameset step;
  step.list = &run.stage->step;
  const size_t first = stream.next;
  while (stream.next < stream.positions.size()) {
    const uint32_t position = stream.positions[stream.next];
    const Instruction &instruction = step.list->instructions[position];
    // What was issued before a call is done before what the call does on the
    // same stream.
    const std::set<uint32_t> &streams = run.worksOn[position];
    auto isNext = [&](uint32_t number) {
      const StreamRun &other = run.streams[number];
      return other.positions[other.next] == position;
    };
    if (!isReady(run, instruction) || !llvm::all_of(streams, isNext))
      break;
    const Call *call = step.list->getCall(instruction);
    if (!(call ? runCall(run, position, *call)
               : runInstruction(run, step, instruction, position, callItself)))
      return false;
    if (instruction.recorded)
      run.isRecorded[*instruction.recorded] = true;
    if (call)
      for (const CallRecord &record : call->records)
        run.isRecorded[*record.record.recorded] = true;
    for (uint32_t number : streams)
      ++run.streams[number].next;
  }
  return stream.next > first;
}

//===----------------------------------------------------------------------===//
// The end of the step
//===----------------------------------------------------------------------===//

/// Whether what lies in a buffer as `held` may be said to lie as `declared`.
static bool agrees(const AxisHolding &held, const AxisHolding &declared) {
  if (held.holding == Holding::Zero)
    return true;
  if (held.holding != declared.holding)
    return false;
  return held.places.empty() || declared.places.empty() ||
         llvm::any_of(held.places, [&](int64_t place) {
           return llvm::is_contained(declared.places, place);
         });
}

/// What gradients are added up in holds summands, but for axes that cut it.
bool DistributionVerifier::finishStatic(const StageRun &run, uint32_t number) {
  const Static &buffer = run.stage->statics[number];
  const Content declared = table.getStatic(buffer);
  const Distribution &wanted = table.get(table.read(declared, 0, buffer.bytes));
  const Distribution &held =
      table.get(table.read(run.statics[number], 0, buffer.bytes));
  for (auto [axis, both] :
       llvm::enumerate(llvm::zip_equal(held.axes, wanted.axes))) {
    const auto &[is, should] = both;
    const Axis &meshAxis = program.mesh.getAxes()[axis];
    if (meshAxis.name == stageAxis || agrees(is, should))
      continue;
    if (buffer.role == Role::Accumulated && is.holding == Holding::Summand &&
        should.holding == Holding::Same)
      continue;
    error = std::make_unique<LocatedError>(
        buffer.location,
        getName(buffer.role).str() + " '" +
            (buffer.of.empty() ? buffer.name : buffer.of) + "' is declared " +
            describe(should.holding).str() + " over '" + meshAxis.name +
            "', but the step leaves in it " + describe(is.holding).str() +
            (is.holding == Holding::Summand
                 ? ": its sum over '" + meshAxis.name + "' is missing"
             : is.holding == should.holding ? ", cut in another place"
                                            : ""));
    return false;
  }
  return true;
}

bool DistributionVerifier::finish(const StageRun &run) {
  for (const StreamRun &stream : run.streams)
    if (stream.next < stream.positions.size()) {
      const uint32_t position = stream.positions[stream.next];
      error = std::make_unique<LocatedError>(
          run.stage->step.instructions[position].location,
          describe(program, *run.stage, position, callItself) +
              " waits for what a call does that waits for it: what ranks hold "
              "cannot be followed");
      return false;
    }
  for (uint32_t i = 0; i < run.stage->statics.size(); ++i)
    if (!finishStatic(run, i))
      return false;
  return true;
}

llvm::Error DistributionVerifier::verify() {
  for (const StageProgram &stage : program.stages)
    begin(stage);
  bool isMoving = true;
  while (isMoving && !error) {
    isMoving = false;
    for (StageRun &run : runs)
      for (StreamRun &stream : run.streams)
        isMoving |= !error && advance(run, stream);
  }
  for (const StageRun &run : runs)
    if (!error)
      finish(run);
  if (error)
    return llvm::Error(std::move(error));
  return llvm::Error::success();
}

llvm::Error verifyDistribution(const Program &program) {
  return DistributionVerifier(program).verify();
}

} // namespace mf::program
