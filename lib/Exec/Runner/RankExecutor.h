//===- RankExecutor.h - One rank and its device -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_EXEC_RUNNER_RANKEXECUTOR_H
#define MF_LIB_EXEC_RUNNER_RANKEXECUTOR_H

#include "IssueList.h"
#include "mf/Exec/Device/Device.h"
#include "mf/Exec/Kernels/ThreadPool.h"
#include "mf/Exec/Ranks/TensorDump.h"
#include "mf/Exec/Runner/Communicator.h"
#include "mf/Exec/Runner/Runner.h"
#include "mf/Exec/Runner/StepRecord.h"
#include "mf/Program/Program.h"
#include "mf/Program/StepTasks.h"
#include "llvm/ADT/STLExtras.h"
#include <cassert>
#include <deque>
#include <map>
#include <string>

namespace mf::runner {

/// Reports the results of instructions in a stage's chunks to a TensorDump.
class OperatorDump {
public:
  /// Fails where the calls of a frame are no tasks. The dump and the program
  /// must outlive it.
  static llvm::Expected<OperatorDump> create(const program::Program &program,
                                             const program::StageProgram &stage,
                                             ranks::TensorDump &dump) {
    auto tasks = program::findTasks(stage);
    if (!tasks)
      return tasks.takeError();
    OperatorDump made(program, stage, dump);
    made.isForward.resize(stage.step.instructions.size());
    for (const program::StepTask &task : *tasks)
      for (uint32_t position : task.calls)
        made.isForward[position] = task.phase == schedule::Phase::Forward;
    return made;
  }

  /// Must be called right after instruction `number` of a list, on the stream
  /// that ran it.
  void add(int64_t rank, const IssueContext &context, uint32_t number) const {
    if (!dump->isActive() || !context.call || !context.call->frame)
      return;
    const program::InstructionList &list =
        stage->routines[context.call->routine].body;
    const program::Instruction &instruction = list.instructions[number];
    ranks::OperatorRun run;
    run.rank = rank;
    run.microBatch = stage->frames[*context.call->frame].microBatch;
    run.isForward = isForward[context.position];
    run.cell = instruction.cell;
    if (instruction.work == program::Work::Kernel) {
      const program::LaunchedKernel &kernel =
          program->kernels[instruction.index];
      const size_t numInputs = kernel.spec.inputs.size();
      dump->add(
          run,
          ranks::describeOutputs(
              *kernel.signature, kernel.spec.outputs, [&](size_t i) {
                return getMade(list, instruction, context, numInputs + i).bytes;
              }));
      return;
    }
    const program::Exchange *exchange = list.getExchange(instruction);
    if (!exchange || program->channels[exchange->channel].isTransfer)
      return;
    ranks::MadeTensor made =
        getMade(list, instruction, context, instruction.accesses.size() - 1);
    made.name = getName(exchange->kind);
    dump->add(run, made);
  }

private:
  OperatorDump(const program::Program &program,
               const program::StageProgram &stage, ranks::TensorDump &dump)
      : program(&program), stage(&stage), dump(&dump) {}

  /// Returns the memory that an access writes.
  ranks::MadeTensor getMade(const program::InstructionList &list,
                            const program::Instruction &instruction,
                            const IssueContext &context, size_t access) const {
    const program::Operand &operand = instruction.accesses[access].operand;
    const program::Buffer &buffer = list.buffers[operand.buffer];
    const uint32_t numArguments =
        stage->routines[context.call->routine].numArguments;
    const std::byte *begin = context.bases->getAddress(
        {getBaseNumber(buffer.address, numArguments),
         buffer.address.offset + operand.offset, operand.bytes});
    ranks::MadeTensor made;
    made.shape = buffer.shape;
    // A part of a buffer has no shape of its own.
    if (made.shape.getBytes() != operand.bytes)
      made.shape.dims = {operand.bytes / mf::getBytes(made.shape.type)};
    made.bytes = {reinterpret_cast<const uint8_t *>(begin),
                  static_cast<size_t>(operand.bytes)};
    return made;
  }

  const program::Program *program;
  const program::StageProgram *stage;
  ranks::TensorDump *dump;
  /// For each position in the step, whether it is a call of a chunk's forward.
  std::vector<bool> isForward;
};

/// The record of one rank's step. The issuing thread adds an entry, in the
/// order of the stream, and the stream's thread writes the times there. Nothing
/// is locked and no entry moves: memory for a whole step is reserved at the
/// start.
class StepRecorder {
public:
  explicit StepRecorder(const program::StageProgram &stage)
      : streams(stage.streams.size()) {
    std::vector<size_t> counts(streams.size());
    count(stage.step, counts);
    for (const program::Call &call : stage.step.calls)
      count(stage.routines[call.routine].body, counts);
    for (auto [stream, number] : llvm::zip_equal(streams, counts))
      stream.reserve(number);
  }

  /// Adds an entry for the record of an instruction, for at most one step. Only
  /// one thread may call it. The entry is valid until `take`.
  RecordedWork *add(uint32_t stream, uint32_t position,
                    std::optional<uint32_t> instruction) {
    std::vector<RecordedWork> &works = streams[stream];
    assert(works.size() < works.capacity() && "a record is of one step");
    works.push_back({position, instruction, {}});
    return &works.back();
  }

  /// Must be called when all streams are synchronised.
  std::vector<std::vector<RecordedWork>> take() { return std::move(streams); }

private:
  /// Adds the instructions that streams run, by stream.
  static void count(const program::InstructionList &list,
                    llvm::MutableArrayRef<size_t> counts) {
    for (const program::Instruction &instruction : list.instructions)
      if (instruction.work != program::Work::None &&
          instruction.work != program::Work::Call)
        ++counts[instruction.stream];
  }

  std::vector<std::vector<RecordedWork>> streams;
};

/// The seconds for which the compute stream of a rank is blocked in waits, by
/// the operator after the wait and the stream that it waits for. All calls of a
/// routine add to the same entries.
class StallTable {
public:
  explicit StallTable(const program::StageProgram &stage) {
    const std::vector<uint32_t> stepStreams = getRecordingStreams(stage.step);
    // The events that the last call of each routine passes to it.
    std::vector<std::vector<uint32_t>> passed(stage.routines.size());
    for (const program::Call &call : stage.step.calls) {
      passed[call.routine].clear();
      for (const uint32_t event : call.events)
        passed[call.routine].push_back(stepStreams[event]);
    }
    addList(stage, stage.step, "the step", {});
    for (const auto &[routine, streams] : llvm::zip(stage.routines, passed))
      addList(stage, routine.body, routine.name, streams);
  }

  /// Returns where instruction `number` of a routine's list, or of the step's
  /// if `routine` is empty, adds its seconds in the wait for the event at
  /// `place` among those it waits for; null if it is not on the compute stream.
  double *find(std::optional<uint32_t> routine, uint32_t number,
               size_t place) const {
    const Places &found = places[routine ? *routine + 1 : 0][number];
    return place < found.size() ? found[place] : nullptr;
  }

  /// Returns the waiting time for each "operator, waiting for stream". Must not
  /// be called during a step.
  std::map<std::string, double> getSeconds() const {
    std::map<std::string, double> seconds;
    for (const auto &[name, value] : entries)
      if (value > 0)
        seconds[name] += value;
    return seconds;
  }

private:
  /// One entry for each event that an instruction waits for.
  using Places = llvm::SmallVector<double *, 1>;

  /// Returns the stream that records each event of a list.
  static std::vector<uint32_t>
  getRecordingStreams(const program::InstructionList &list) {
    std::vector<uint32_t> streams(list.numEvents);
    auto add = [&](const program::Instruction &instruction) {
      if (instruction.recorded)
        streams[*instruction.recorded] = instruction.stream;
    };
    for (const program::Instruction &instruction : list.instructions) {
      add(instruction);
      if (const program::Call *call = list.getCall(instruction))
        for (const program::CallRecord &inside : call->records)
          add(inside.record);
    }
    return streams;
  }

  /// Returns the name of an instruction that had to wait; empty if it has none.
  static std::string getOperator(const program::StageProgram &stage,
                                 const program::InstructionList &list,
                                 const program::Instruction &instruction) {
    if (const program::Call *call = list.getCall(instruction))
      return "start of " + stage.routines[call->routine].name;
    return instruction.cell;
  }

  void addList(const program::StageProgram &stage,
               const program::InstructionList &list, llvm::StringRef title,
               llvm::ArrayRef<uint32_t> passedStreams) {
    const std::vector<uint32_t> streams = getRecordingStreams(list);
    std::vector<Places> &places =
        this->places.emplace_back(list.instructions.size());
    std::map<std::string, double *> byName;
    // From back to front, so that the first operator after a wait is known.
    std::string next = "end of " + title.str();
    for (size_t i = list.instructions.size(); i-- > 0;) {
      const program::Instruction &instruction = list.instructions[i];
      if (instruction.stream != stage.computeStream)
        continue;
      if (std::string name = getOperator(stage, list, instruction);
          !name.empty())
        next = std::move(name);
      for (const program::AwaitedEvent &awaited : instruction.awaited) {
        double *&place = places[i].emplace_back(nullptr);
        // A routine that is never called does not wait.
        if (awaited.isArgument && passedStreams.empty())
          continue;
        const uint32_t stream = awaited.isArgument
                                    ? passedStreams[awaited.event]
                                    : streams[awaited.event];
        std::string name = next + ", waiting for " + stage.streams[stream].name;
        double *&seconds = byName[name];
        if (!seconds) {
          entries.emplace_back(std::move(name), 0.0);
          seconds = &entries.back().second;
        }
        place = seconds;
      }
    }
  }

  std::deque<std::pair<std::string, double>> entries;
  /// The entries by list, with the step before the routines, and instruction.
  std::vector<std::vector<Places>> places;
};

/// Issues the step of its stage to the streams of one rank.
class RankExecutor {
public:
  /// The communicator and the lists must outlive it.
  static llvm::Expected<std::unique_ptr<RankExecutor>>
  create(int64_t rank, const PreparedStage &prepared,
         Communicator &communicator, std::shared_ptr<ThreadTeam> threads,
         const RunnerOptions &options) {
    const program::StageProgram &stage = *prepared.stage;
    Device::Options deviceOptions;
    deviceOptions.hbmBytes = stage.arenaBytes;
    deviceOptions.hostBytes = stage.hostBytes;
    deviceOptions.poison = options.debugMemory;
    deviceOptions.guard = options.debugMemory;
    deviceOptions.deviceToHostRate = options.deviceToHostRate;
    deviceOptions.hostToDeviceRate = options.hostToDeviceRate;
    deviceOptions.turns = options.turns;
    deviceOptions.name = "rank " + std::to_string(rank);
    auto device = Device::create(deviceOptions);
    if (!device)
      return device.takeError();
    std::unique_ptr<RankExecutor> executor(
        new RankExecutor(rank, prepared, communicator, std::move(threads)));
    executor->device = std::move(*device);
    for (const program::ProgramStream &stream : stage.streams)
      executor->streams.push_back(&executor->device->createStream(stream.name));
    Arena &hbm = executor->device->getHbm(),
          &host = executor->device->getHost();
    executor->stepBases = std::make_shared<BaseTable>(
        prepared.stepBases, hbm.getBase(), host.getBase());
    if (options.dump) {
      auto dump = OperatorDump::create(*prepared.program, stage, *options.dump);
      if (!dump)
        return dump.takeError();
      executor->operatorDump = std::move(*dump);
    }
    hbm.poison(0, stage.arenaBytes);
    host.poison(0, stage.hostBytes);
    return executor;
  }

  int64_t getRank() const { return rank; }
  const program::StageProgram &getStage() const { return *prepared.stage; }
  Device &getDevice() const { return *device; }
  mf::Stream &getStream(uint32_t number) const { return *streams[number]; }
  ThreadPool &getPool() { return pool; }
  Communicator &getCommunicator() const { return communicator; }

  llvm::MutableArrayRef<uint8_t> getStatic(uint32_t number) const {
    const program::Static &buffer = getStage().statics[number];
    Arena &arena = buffer.space == program::Space::Device ? device->getHbm()
                                                          : device->getHost();
    if (prepared.poison)
      arena.touch(buffer.offset, buffer.bytes);
    return {reinterpret_cast<uint8_t *>(arena.getBase()) + buffer.offset,
            static_cast<size_t>(buffer.bytes)};
  }

  /// Issue the step, the part of it before the first update of parameters, or
  /// the part from there on, and wait until all streams are done.
  llvm::Error runStep() {
    forgetEvents();
    issueStep(0, prepared.step.items.size());
    return device->synchronize();
  }
  llvm::Error runUntilUpdate() {
    forgetEvents();
    issueStep(0, prepared.updateItem);
    return device->synchronize();
  }
  llvm::Error runFromUpdate() {
    issueStep(prepared.updateItem, prepared.step.items.size());
    return device->synchronize();
  }

  /// Issues a routine for the call at `position` of the step.
  void issueCall(const program::Call &call, uint32_t position,
                 std::shared_ptr<const BaseTable> bases) {
    const IssueList &list = prepared.routines[call.routine];
    std::deque<Event> events(list.numEvents);
    IssueContext context;
    context.list = &list;
    context.bases = std::move(bases);
    context.events = &events;
    context.position = position;
    context.call = &call;
    auto record = call.records.begin();
    for (const IssueItem &item : list.items) {
      issueItem(context, item);
      // Items end where calls record.
      for (; record != call.records.end() && record->instruction < item.end;
           ++record)
        streams[record->record.stream]->record(
            stepEvents[*record->record.recorded]);
    }
  }

  /// Record that an operand is used, and fill memory whose last use was in
  /// instruction `instruction` of a list with NaNs. They do nothing unless
  /// memory is debugged.
  void touch(const BaseTable &bases, const OperandAddress &operand) const {
    if (!prepared.poison)
      return;
    const std::byte *address = bases.getAddress(operand);
    for (Arena *arena : {&device->getHbm(), &device->getHost()})
      if (arena->contains(address, operand.bytes))
        arena->touch(address - arena->getBase(), operand.bytes);
  }

  void poisonAfter(const IssueContext &context, uint32_t instruction) const {
    if (!prepared.poison || !context.call)
      return;
    for (const PoisonPlan::Range &range :
         prepared.poison->getRanges(context.position, instruction))
      device->getHbm().poison(range.offset, range.bytes);
  }

  /// Dumps the results of instruction `instruction` of a list, if they are
  /// wanted. Must be called on the stream that ran it, right after it.
  void dump(const IssueContext &context, uint32_t instruction) const {
    if (operatorDump)
      operatorDump->add(rank, context, instruction);
  }

  /// Records times from now on.
  void startRecording() { recorder.emplace(*prepared.stage); }
  /// Stops recording and returns the record. Must not be called during a step.
  RankRecord takeRecord() {
    RankRecord record{rank, recorder->take()};
    recorder.reset();
    return record;
  }
  /// Returns where to store the times of the instruction of a list that is
  /// issued next to the stream of `item`; null if nothing is recorded.
  RecordedWork *record(const IssueContext &context, const IssueItem &item,
                       uint32_t instruction) {
    return recorder ? add(context, item, instruction) : nullptr;
  }

  std::vector<StreamUse> getStreamUse() const {
    std::vector<StreamUse> uses;
    uses.reserve(streams.size());
    for (const Stream *stream : streams)
      uses.push_back({stream->getName().str(), stream->getStatistics()});
    return uses;
  }

  const StallTable &getStalls() const { return stalls; }

private:
  RankExecutor(int64_t rank, const PreparedStage &prepared,
               Communicator &communicator, std::shared_ptr<ThreadTeam> threads)
      : rank(rank), prepared(prepared), communicator(communicator),
        stalls(*prepared.stage), pool(std::move(threads)) {}

  void forgetEvents() {
    stepEvents.clear();
    stepEvents.resize(prepared.step.numEvents);
  }

  void issueStep(size_t begin, size_t end) {
    IssueContext context;
    context.list = &prepared.step;
    context.bases = stepBases;
    context.events = &stepEvents;
    for (size_t i = begin; i < end; ++i)
      issueItem(context, prepared.step.items[i]);
  }

  void issueItem(const IssueContext &context, const IssueItem &item) {
    Stream &stream = *streams[item.stream];
    for (auto [place, awaited] : llvm::enumerate(item.awaited)) {
      const Event &event = awaited.isArgument
                               ? stepEvents[context.call->events[awaited.event]]
                               : (*context.events)[awaited.event];
      stream.wait(event, stalls.find(context.list->routine, item.begin, place));
    }
    if (item.work)
      item.work->issue(*this, context, item);
    if (item.recorded)
      stream.record((*context.events)[*item.recorded]);
  }

  RecordedWork *add(const IssueContext &context, const IssueItem &item,
                    uint32_t instruction) {
    if (context.call)
      return recorder->add(item.stream, context.position, instruction);
    return recorder->add(item.stream, instruction, std::nullopt);
  }

  const int64_t rank;
  const PreparedStage &prepared;
  Communicator &communicator;
  StallTable stalls;
  std::optional<StepRecorder> recorder;
  std::optional<OperatorDump> operatorDump;
  ThreadPool pool;
  std::unique_ptr<Device> device;
  std::vector<mf::Stream *> streams;
  std::deque<Event> stepEvents;
  std::shared_ptr<BaseTable> stepBases;
};

} // namespace mf::runner

#endif // MF_LIB_EXEC_RUNNER_RANKEXECUTOR_H
