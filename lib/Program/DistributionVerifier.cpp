//===- DistributionVerifier.cpp - Checks the distributions of a step ------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Runs the step on distributions instead of numbers, in the order in which each
// stage issues it, which satisfies all dependences. All ranks of a stage are
// run at once, and each stage runs as far as messages allow.
//
//===----------------------------------------------------------------------===//

#include "DistributionTable.h"
#include "mf/Program/Description.h"
#include "mf/Program/LocatedError.h"
#include "mf/Program/StepWalker.h"
#include "mf/Program/Verifier.h"
#include "llvm/ADT/STLExtras.h"
#include <deque>
#include <set>

using llvm::Error;
using llvm::Expected;

namespace mf::program {

//===----------------------------------------------------------------------===//
// Contents of a stage's buffers
//
// Runs the instructions of a stage on distributions instead of numbers.
//===----------------------------------------------------------------------===//

namespace {

/// For each transfer among the program's channels, the contents that were sent
/// and not yet received.
using TransferQueues = std::vector<std::deque<Content>>;

} // namespace

/// Returns the size of the first dimension that has more than one element.
static int64_t getFirstElements(const TensorShape &shape) {
  const auto *found =
      llvm::find_if(shape.dims, [](int64_t extent) { return extent != 1; });
  return found == shape.dims.end() ? 1 : *found;
}

namespace {

/// Represents all ranks of a stage. The table and the queues are shared by all
/// stages.
class StageDistributions {
public:
  StageDistributions(const Program &program, const StageProgram &stage,
                     DistributionTable &table, TransferQueues &queues)
      : program(program), stage(stage), table(table), queues(queues),
        instances(stage), walker(stage, instances),
        contents(instances.getNumShared()), shared(stage.routines.size()),
        made(stage.routines.size()), numCollectives(program.channels.size()) {
    for (auto [number, buffer] : llvm::enumerate(stage.statics))
      contents[instances.getStatic(number)] = table.getStatic(stage, buffer);
    for (auto [routine, ofRoutine] : llvm::zip_equal(stage.routines, shared)) {
      std::vector<bool> isWritten(routine.body.buffers.size(), false);
      for (const Instruction &instruction : routine.body.instructions)
        for (const MemoryAccess &access : instruction.accesses)
          if (writesMemory(access.access))
            isWritten[access.operand.buffer] = true;
      for (auto [number, buffer] : llvm::enumerate(routine.body.buffers))
        if (buffer.kind != BufferKind::Temporary)
          ofRoutine.push_back(
              {static_cast<uint32_t>(number), isWritten[number]});
    }
  }

  /// Runs the instruction of the step at `position`. A call runs as a whole. A
  /// receive requires a message in its queue. Fails with a LocatedError if the
  /// ranks together do not compute the same as one rank would.
  llvm::Error run(uint32_t position) {
    const Instruction &instruction = stage.step.instructions[position];
    if (const Call *call = stage.step.getCall(instruction))
      return runCall(position, *call);
    ListRun step{walker.getStep(), {}};
    return runInstruction(step, {instruction, position, callItself});
  }

  const Content &getStatic(uint32_t number) const {
    return contents[instances.getStatic(number)];
  }

private:
  /// A range of bytes of a buffer of the step or of a call.
  struct BufferRange {
    Content *content = nullptr;
    int64_t offset = 0;
    int64_t bytes = 0;
  };
  struct SharedRanges {
    std::vector<BufferRange> all, written;
  };
  /// A buffer that a routine uses but does not own.
  struct SharedBuffer {
    uint32_t number = 0;
    bool isWritten = false;
  };
  /// The list that is being run: that of the step, or that of a call, whose
  /// temporaries have contents of their own.
  struct ListRun {
    Scope scope;
    std::vector<Content> temporaries;
  };
  /// The instruction that is run, and its place: the position of the call in
  /// the step, and the index in its routine.
  struct Place {
    const Instruction &instruction;
    uint32_t position = 0;
    uint32_t number = 0;
  };

  BufferRange resolve(ListRun &running, const Operand &operand) {
    const MemoryRange range = walker.resolve(running.scope, operand);
    Content &content =
        range.instance < contents.size()
            ? contents[range.instance]
            : running
                  .temporaries[range.instance - running.scope.firstTemporary];
    return {&content, range.begin, range.bytes};
  }

  uint32_t read(const BufferRange &range) {
    return table.read(*range.content, range.offset, range.bytes);
  }

  /// Leaves contents the holdings with which an instruction has read them.
  /// Later ones must agree.
  void narrow(const BufferRange &range, uint32_t held, uint32_t read) {
    if (held != read)
      table.write(*range.content, range.offset, range.bytes, read);
  }

  Content extract(const BufferRange &range) const {
    return table.extract(*range.content, range.offset, range.bytes);
  }

  llvm::Error runInstruction(ListRun &running, const Place &place) {
    switch (place.instruction.work) {
    case Work::None:
    case Work::Call:
      break;
    case Work::Kernel:
      return runKernel(running, place);
    case Work::Exchange:
      return runExchange(running, place);
    case Work::Copy:
      runCopy(running, place.instruction);
      break;
    }
    return Error::success();
  }

  llvm::Error runKernel(ListRun &running, const Place &place) {
    const Instruction &instruction = place.instruction;
    const LaunchedKernel &kernel = program.kernels[instruction.index];
    const size_t numOperands =
        kernel.spec.inputs.size() + kernel.spec.outputs.size();
    std::vector<uint32_t> operands;
    for (const MemoryAccess &access :
         llvm::ArrayRef(instruction.accesses).take_front(numOperands))
      operands.push_back(access.access == Access::Out
                             ? DistributionTable::zero
                             : read(resolve(running, access.operand)));
    llvm::Expected<const DistributionTable::Outcome *> outcome =
        table.apply(instruction.index, operands);
    if (!outcome)
      return llvm::make_error<LocatedError>(
          instruction.location, llvm::toString(outcome.takeError()));
    if ((*outcome)->error)
      return fail(running, place, *(*outcome)->error);
    for (size_t i = 0; i < kernel.spec.inputs.size(); ++i)
      narrow(resolve(running, instruction.accesses[i].operand), operands[i],
             (*outcome)->operands[i]);
    for (auto [output, distribution] : llvm::enumerate((*outcome)->outputs)) {
      const size_t number = kernel.spec.inputs.size() + output;
      const BufferRange range =
          resolve(running, instruction.accesses[number].operand);
      table.write(*range.content, range.offset, range.bytes, distribution);
    }
    return Error::success();
  }

  llvm::Error runExchange(ListRun &running, const Place &place) {
    const Instruction &instruction = place.instruction;
    const Exchange &exchange = running.scope.list->exchanges[instruction.index];
    const Channel &channel = program.channels[exchange.channel];
    const BufferRange first = resolve(running, instruction.accesses[0].operand);
    if (channel.isTransfer) {
      runTransfer(exchange, first);
      return Error::success();
    }
    const BufferRange last =
        resolve(running, instruction.accesses.back().operand);
    CollectiveOperands operands;
    operands.shared = &table.getShared();
    operands.inputElements = first.bytes / getBytes(exchange.type);
    operands.outputElements = last.bytes / getBytes(exchange.type);
    const Operand &input = instruction.accesses[0].operand;
    const Buffer &buffer = running.scope.list->buffers[input.buffer];
    if (input.bytes == buffer.bytes && !buffer.shape.dims.empty()) {
      operands.firstElements = getFirstElements(buffer.shape);
      operands.hasOneRow = buffer.shape.dims.front() == 1;
    }
    for (const MemoryAccess &access :
         llvm::ArrayRef(instruction.accesses).drop_back())
      operands.inputs.push_back(
          &table.get(read(resolve(running, access.operand))));
    const uint32_t held = read(first);
    Distribution taken = table.get(held), output;
    if (std::optional<DistributionError> reason = applyCollective(
            exchange, channel.group, program.mesh, operands, output))
      return fail(running, place, *reason);
    narrowInput(exchange, channel.group, program.mesh, taken);
    if (channel.group.crossesStages())
      if (Error error = checkCounted(running, place, *operands.inputs.front()))
        return error;
    narrow(first, held, table.add(std::move(taken)));
    table.write(*last.content, last.offset, last.bytes,
                table.add(std::move(output)));
    return Error::success();
  }

  void runTransfer(const Exchange &exchange, const BufferRange &range) {
    std::deque<Content> &queue = queues[exchange.channel];
    if (exchange.isSend) {
      queue.push_back(extract(range));
    } else if (!queue.empty()) {
      table.insert(*range.content, range.offset, queue.front());
      queue.pop_front();
    }
  }

  void runCopy(ListRun &running, const Instruction &instruction) {
    const BufferRange source =
        resolve(running, instruction.accesses[0].operand);
    const BufferRange target =
        resolve(running, instruction.accesses[1].operand);
    table.insert(*target.content, target.offset, extract(source));
  }

  llvm::Error fail(ListRun &running, const Place &place,
                   const DistributionError &reason) {
    const Operand &operand = place.instruction.accesses[reason.operand].operand;
    const Buffer &buffer = running.scope.list->buffers[operand.buffer];
    const Axis &axis = program.mesh.getAxes()[reason.axis];
    const Distribution held = table.get(read(resolve(running, operand)));
    return llvm::make_error<LocatedError>(
        place.instruction.location,
        describe(program, stage, place.position, place.number) + " takes " +
            (buffer.name.empty() ? "operand " + std::to_string(reason.operand)
                                 : buffer.name) +
            ", which over '" + axis.name + "' is " +
            describe(held.axes[reason.axis]) + ": " + reason.reason);
  }

  /// Checks that only one stage counts a value that several stages share.
  llvm::Error checkCounted(ListRun &running, const Place &place,
                           const Distribution &input) {
    const uint32_t channel =
        running.scope.list->exchanges[place.instruction.index].channel;
    const uint32_t number = numCollectives[channel]++;
    for (auto [axis, held] : llvm::enumerate(input.axes)) {
      if (program.mesh.getAxes()[axis].name != stageAxis)
        continue;
      for (uint32_t group : held.counted)
        if (std::optional<int64_t> other =
                table.count(channel, number, group, stage.stage))
          return fail(
              running, place,
              {axis, 0,
               "it counts '" + table.getShared().getName(group) +
                   "', which stage " + std::to_string(*other) +
                   " counts, too: expected one of the stages that share it"});
    }
    return Error::success();
  }

  /// Once the gradients of a stage are complete, those of a shared parameter
  /// are summands of its gradient.
  void beginUpdate() {
    for (auto [number, buffer] : llvm::enumerate(stage.statics))
      if (buffer.role == Role::Gradient || buffer.role == Role::Accumulated)
        if (std::optional<uint32_t> group =
                table.getShared().find(stage, buffer))
          table.beginSum(contents[instances.getStatic(number)], *group);
  }

  /// A routine that is called again with the same distributions has the same
  /// results, which are taken from the first call.
  llvm::Error runCall(uint32_t position, const Call &call) {
    if (stage.routines[call.routine].updatesParameters)
      beginUpdate();
    ListRun running{walker.enter(position), {}};
    const SharedRanges ranges = findShared(running, call.routine);
    auto [found, isNew] = made[call.routine].try_emplace(collect(ranges.all));
    if (!isNew) {
      spread(found->second, ranges.written);
      return Error::success();
    }
    running.temporaries.resize(instances.getNumTemporaries(call.routine));
    for (auto [number, instruction] :
         llvm::enumerate(running.scope.list->instructions))
      if (Error error = runInstruction(
              running, {instruction, position, static_cast<uint32_t>(number)}))
        return error;
    found->second = collect(ranges.written);
    return Error::success();
  }

  /// Returns the memory other than temporaries that a call of a routine reads
  /// or writes, and the part of it that it writes.
  SharedRanges findShared(ListRun &running, uint32_t routine) {
    SharedRanges ranges;
    ranges.all.reserve(shared[routine].size());
    for (const SharedBuffer &buffer : shared[routine]) {
      const int64_t bytes = running.scope.list->buffers[buffer.number].bytes;
      ranges.all.push_back(resolve(running, {buffer.number, 0, bytes}));
      if (buffer.isWritten)
        ranges.written.push_back(ranges.all.back());
    }
    return ranges;
  }

  /// Concatenates the contents of ranges; spread() is the inverse. Routines
  /// have hundreds of ranges, so pieces are appended, never inserted.
  Content collect(llvm::ArrayRef<BufferRange> ranges) {
    Content all;
    int64_t offset = 0;
    for (const BufferRange &range : ranges) {
      for (const ContentPiece &piece : *range.content) {
        const int64_t begin = std::max(piece.begin, range.offset);
        const int64_t end = std::min(piece.end, range.offset + range.bytes);
        if (begin < end)
          all.push_back({offset + begin - range.offset,
                         offset + end - range.offset, piece.distribution});
      }
      offset += range.bytes;
    }
    return all;
  }

  void spread(const Content &all, llvm::ArrayRef<BufferRange> ranges) {
    const auto *piece = all.data();
    const auto *const end = piece + all.size();
    int64_t offset = 0;
    Content part;
    for (const BufferRange &range : ranges) {
      part.clear();
      // collect() has cut the pieces at the ends of ranges.
      for (; piece != end && piece->begin < offset + range.bytes; ++piece)
        part.push_back(
            {piece->begin - offset, piece->end - offset, piece->distribution});
      table.insert(*range.content, range.offset, part);
      offset += range.bytes;
    }
  }

  const Program &program;
  const StageProgram &stage;
  DistributionTable &table;
  TransferQueues &queues;
  const InstanceTable instances;
  const StepWalker walker;
  /// The contents of each instance: statics, messages and slots.
  std::vector<Content> contents;
  /// For each routine, the buffers that it shares and, for each combination of
  /// their contents, those of the buffers that it writes.
  std::vector<std::vector<SharedBuffer>> shared;
  std::vector<std::map<Content, Content>> made;
  /// The number of collectives over stages so far, by channel.
  std::vector<uint32_t> numCollectives;
};

} // namespace

//===----------------------------------------------------------------------===//
// Checks the distributions of a step
//===----------------------------------------------------------------------===//

/// Returns the streams on which each instruction of the step works. A call
/// works on all streams of its routine.
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

namespace {

/// The instructions of the step on one stream, and the number of those that are
/// done.
struct StreamRun {
  std::vector<uint32_t> positions;
  size_t next = 0;
};

/// The progress of a stage.
struct StageRun {
  StageRun(const Program &program, const StageProgram &stage,
           DistributionTable &table, TransferQueues &queues)
      : stage(stage), distributions(program, stage, table, queues),
        streams(stage.streams.size()), worksOn(findStreams(stage)),
        isRecorded(stage.step.numEvents, false) {}

  const StageProgram &stage;
  StageDistributions distributions;
  std::vector<StreamRun> streams;
  /// The streams on which each instruction of the step works.
  std::vector<std::set<uint32_t>> worksOn;
  std::vector<bool> isRecorded;
};

} // namespace

/// Returns whether contents are cut over `axis` inside of another axis that is
/// declared to be inside of it.
static bool areOrdersOpposite(size_t axis, const Distribution &held,
                              const Distribution &declared) {
  return llvm::any_of(declared.axes[axis].inside, [&](uint32_t inner) {
    return llvm::is_contained(held.axes[inner].inside, axis);
  });
}

/// Returns whether contents with holding `held` satisfy the declared holding.
static bool agrees(const AxisHolding &held, const AxisHolding &declared) {
  if (held.holding == Holding::Zero)
    return true;
  if (!held.mayBe(declared.holding) || held.shared != declared.shared)
    return false;
  return declared.holding != Holding::Part || held.places.empty() ||
         declared.places.empty() ||
         llvm::any_of(held.places, [&](int64_t place) {
           return llvm::is_contained(declared.places, place);
         });
}

/// Returns whether the contents on stages must agree with the declared holding.
/// This applies to the state of shared parameters, because each stage continues
/// with its own copy.
static bool isKeptAlike(const AxisHolding &declared, Role role) {
  return declared.shared && !isOfStep(role);
}

namespace {

class DistributionVerifier {
public:
  explicit DistributionVerifier(const Program &program)
      : program(program), table(program), queues(program.channels.size()) {}

  Error verify() {
    for (const StageProgram &stage : program.stages)
      begin(stage);
    if (Error error = advanceAll())
      return error;
    for (const StageRun &run : runs)
      if (Error error = finish(run))
        return error;
    return Error::success();
  }

private:
  void begin(const StageProgram &stage) {
    StageRun &run = runs.emplace_back(program, stage, table, queues);
    for (auto [position, numbers] : llvm::enumerate(run.worksOn))
      for (uint32_t number : numbers)
        run.streams[number].positions.push_back(position);
  }

  /// Advances a stream. Returns whether it made progress.
  Expected<bool> advance(StageRun &run, StreamRun &stream) {
    const InstructionList &step = run.stage.step;
    const size_t first = stream.next;
    while (stream.next < stream.positions.size()) {
      const uint32_t position = stream.positions[stream.next];
      const Instruction &instruction = step.instructions[position];
      // Work issued before a call is done before the call's own work on the
      // same stream.
      const std::set<uint32_t> &streams = run.worksOn[position];
      auto isNext = [&](uint32_t number) {
        const StreamRun &other = run.streams[number];
        return other.positions[other.next] == position;
      };
      if (!isReady(run, instruction) || !llvm::all_of(streams, isNext))
        break;
      if (Error error = run.distributions.run(position))
        return error;
      if (instruction.recorded)
        run.isRecorded[*instruction.recorded] = true;
      if (const Call *call = step.getCall(instruction))
        for (const CallRecord &record : call->records)
          run.isRecorded[*record.record.recorded] = true;
      for (uint32_t number : streams)
        ++run.streams[number].next;
    }
    return stream.next > first;
  }

  /// Advances all streams as far as possible.
  Error advanceAll() {
    bool isMoving = true;
    while (isMoving) {
      isMoving = false;
      for (StageRun &run : runs)
        for (StreamRun &stream : run.streams) {
          Expected<bool> moved = advance(run, stream);
          if (!moved)
            return moved.takeError();
          isMoving |= *moved;
        }
    }
    return Error::success();
  }

  bool isReady(const StageRun &run, const Instruction &instruction) const {
    const InstructionList &step = run.stage.step;
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

  Error finish(const StageRun &run) {
    for (const StreamRun &stream : run.streams)
      if (stream.next < stream.positions.size()) {
        const uint32_t position = stream.positions[stream.next];
        return llvm::make_error<LocatedError>(
            run.stage.step.instructions[position].location,
            describe(program, run.stage, position, callItself) +
                " waits for what a call does that waits for it: what ranks "
                "hold cannot be followed");
      }
    for (uint32_t i = 0; i < run.stage.statics.size(); ++i)
      if (Error error = finishStatic(run, i))
        return error;
    return Error::success();
  }

  /// A buffer in which gradients are accumulated holds summands, except along
  /// axes that cut it.
  Error finishStatic(const StageRun &run, uint32_t number) {
    const Static &buffer = run.stage.statics[number];
    const Content declared = table.getStatic(run.stage, buffer);
    const Distribution &wanted =
        table.get(table.read(declared, 0, buffer.bytes));
    const Distribution &held = table.get(
        table.read(run.distributions.getStatic(number), 0, buffer.bytes));
    for (auto [axis, both] :
         llvm::enumerate(llvm::zip_equal(held.axes, wanted.axes))) {
      const auto &[is, should] = both;
      const Axis &meshAxis = program.mesh.getAxes()[axis];
      if (meshAxis.name == stageAxis && !isKeptAlike(should, buffer.role))
        continue;
      const bool isOpposite = areOrdersOpposite(axis, held, wanted);
      if (!isOpposite && agrees(is, should))
        continue;
      if (buffer.role == Role::Accumulated && should.holding == Holding::Same &&
          (is.mayBe(Holding::Summand) || is.holding == Holding::Candidate))
        continue;
      // The host reads the reports of all ranks.
      if (buffer.role == Role::Report && is.holding == Holding::Part)
        continue;
      return llvm::make_error<LocatedError>(
          buffer.location,
          getName(buffer.role).str() + " '" +
              (buffer.of.empty() ? buffer.name : buffer.of) + "' is declared " +
              describe(should) + " over '" + meshAxis.name +
              "', but the step leaves in it " + describe(is) +
              (is.holding == Holding::Summand
                   ? ": its sum over '" + meshAxis.name + "' is missing"
               : should.shared ? ": the stages' copies would differ"
               : isOpposite    ? ", cut over the same axes the other way round"
               : is.holding == should.holding ? ", cut in another place"
                                              : ""));
    }
    return Error::success();
  }

  const Program &program;
  DistributionTable table;
  TransferQueues queues;
  std::deque<StageRun> runs;
};

} // namespace

Error verifyDistribution(const Program &program) {
  return DistributionVerifier(program).verify();
}

} // namespace mf::program
