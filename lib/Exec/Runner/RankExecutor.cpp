//===- RankExecutor.cpp - One rank and its device -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "RankExecutor.h"
#include "mf/Program/StepTasks.h"
#include "llvm/ADT/STLExtras.h"
#include <cassert>

using namespace mf::program;

namespace mf::runner {

llvm::Expected<OperatorDump> OperatorDump::create(const Program &program,
                                                  const StageProgram &stage,
                                                  ranks::TensorDump &dump) {
  auto tasks = findTasks(stage);
  if (!tasks)
    return tasks.takeError();
  OperatorDump made(program, stage, dump);
  made.isForward.resize(stage.step.instructions.size());
  for (const StepTask &task : *tasks)
    for (uint32_t position : task.calls)
      made.isForward[position] = task.phase == schedule::Phase::Forward;
  return made;
}

/// Returns the memory that an access writes.
ranks::MadeTensor OperatorDump::getMade(const InstructionList &list,
                                        const Instruction &instruction,
                                        const IssueContext &context,
                                        size_t access) const {
  const Operand &operand = instruction.accesses[access].operand;
  const Buffer &buffer = list.buffers[operand.buffer];
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

void OperatorDump::add(int64_t rank, const IssueContext &context,
                       uint32_t number) const {
  if (!dump->isActive() || !context.call || !context.call->frame)
    return;
  const InstructionList &list = stage->routines[context.call->routine].body;
  const Instruction &instruction = list.instructions[number];
  ranks::OperatorRun run;
  run.rank = rank;
  run.microBatch = stage->frames[*context.call->frame].microBatch;
  run.isForward = isForward[context.position];
  run.cell = instruction.cell;
  if (instruction.work == Work::Kernel) {
    const LaunchedKernel &kernel = program->kernels[instruction.index];
    const size_t numInputs = kernel.spec.inputs.size();
    dump->add(
        run,
        ranks::describeOutputs(
            *kernel.signature, kernel.spec.outputs, [&](size_t i) {
              return getMade(list, instruction, context, numInputs + i).bytes;
            }));
    return;
  }
  const Exchange *exchange = list.getExchange(instruction);
  if (!exchange || program->channels[exchange->channel].isTransfer)
    return;
  ranks::MadeTensor made =
      getMade(list, instruction, context, instruction.accesses.size() - 1);
  made.name = getName(exchange->kind);
  dump->add(run, made);
}

/// Adds the instructions that streams run, by stream.
static void count(const InstructionList &list,
                  llvm::MutableArrayRef<size_t> counts) {
  for (const Instruction &instruction : list.instructions)
    if (instruction.work != Work::None && instruction.work != Work::Call)
      ++counts[instruction.stream];
}

StepRecorder::StepRecorder(const StageProgram &stage)
    : streams(stage.streams.size()) {
  std::vector<size_t> counts(streams.size());
  count(stage.step, counts);
  for (const Call &call : stage.step.calls)
    count(stage.routines[call.routine].body, counts);
  for (auto [stream, number] : llvm::zip_equal(streams, counts))
    stream.reserve(number);
}

RecordedWork *StepRecorder::add(uint32_t stream, uint32_t position,
                                std::optional<uint32_t> instruction) {
  std::vector<RecordedWork> &works = streams[stream];
  assert(works.size() < works.capacity() && "a record is of one step");
  works.push_back({position, instruction, {}});
  return &works.back();
}

/// Returns the stream that records each event of a list.
static std::vector<uint32_t> getRecordingStreams(const InstructionList &list) {
  std::vector<uint32_t> streams(list.numEvents);
  auto add = [&](const Instruction &instruction) {
    if (instruction.recorded)
      streams[*instruction.recorded] = instruction.stream;
  };
  for (const Instruction &instruction : list.instructions) {
    add(instruction);
    if (const Call *call = list.getCall(instruction))
      for (const CallRecord &inside : call->records)
        add(inside.record);
  }
  return streams;
}

StallTable::StallTable(const StageProgram &stage) {
  const std::vector<uint32_t> stepStreams = getRecordingStreams(stage.step);
  // The events that the last call of each routine passes to it.
  std::vector<std::vector<uint32_t>> passed(stage.routines.size());
  for (const Call &call : stage.step.calls) {
    passed[call.routine].clear();
    for (const uint32_t event : call.events)
      passed[call.routine].push_back(stepStreams[event]);
  }
  addList(stage, stage.step, "the step", {});
  for (const auto &[routine, streams] : llvm::zip(stage.routines, passed))
    addList(stage, routine.body, routine.name, streams);
}

/// Returns the name of an instruction that had to wait; empty if it has none.
static std::string getOperator(const StageProgram &stage,
                               const InstructionList &list,
                               const Instruction &instruction) {
  if (const Call *call = list.getCall(instruction))
    return "start of " + stage.routines[call->routine].name;
  return instruction.cell;
}

void StallTable::addList(const StageProgram &stage, const InstructionList &list,
                         llvm::StringRef title,
                         llvm::ArrayRef<uint32_t> passedStreams) {
  const std::vector<uint32_t> streams = getRecordingStreams(list);
  std::vector<Places> &places =
      this->places.emplace_back(list.instructions.size());
  std::map<std::string, double *> byName;
  // From back to front, so that the first operator after a wait is known.
  std::string next = "end of " + title.str();
  for (size_t i = list.instructions.size(); i-- > 0;) {
    const Instruction &instruction = list.instructions[i];
    if (instruction.stream != stage.computeStream)
      continue;
    if (std::string name = getOperator(stage, list, instruction); !name.empty())
      next = std::move(name);
    for (const AwaitedEvent &awaited : instruction.awaited) {
      double *&place = places[i].emplace_back(nullptr);
      // A routine that is never called does not wait.
      if (awaited.isArgument && passedStreams.empty())
        continue;
      const uint32_t stream = awaited.isArgument ? passedStreams[awaited.event]
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

std::map<std::string, double> StallTable::getSeconds() const {
  std::map<std::string, double> seconds;
  for (const auto &[name, value] : entries)
    if (value > 0)
      seconds[name] += value;
  return seconds;
}

llvm::Expected<std::unique_ptr<RankExecutor>> RankExecutor::create(
    int64_t rank, const PreparedStage &prepared, Communicator &communicator,
    std::shared_ptr<ThreadTeam> threads, const RunnerOptions &options) {
  const StageProgram &stage = *prepared.stage;
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
  Arena &hbm = executor->device->getHbm(), &host = executor->device->getHost();
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

llvm::MutableArrayRef<uint8_t> RankExecutor::getStatic(uint32_t number) const {
  const Static &buffer = getStage().statics[number];
  Arena &arena =
      buffer.space == Space::Device ? device->getHbm() : device->getHost();
  if (prepared.poison)
    arena.touch(buffer.offset, buffer.bytes);
  return {reinterpret_cast<uint8_t *>(arena.getBase()) + buffer.offset,
          static_cast<size_t>(buffer.bytes)};
}

//===----------------------------------------------------------------------===//
// Issuing
//===----------------------------------------------------------------------===//

llvm::Error RankExecutor::runStep() {
  forgetEvents();
  issueStep(0, prepared.step.items.size());
  return device->synchronize();
}

llvm::Error RankExecutor::runUntilUpdate() {
  forgetEvents();
  issueStep(0, prepared.updateItem);
  return device->synchronize();
}

llvm::Error RankExecutor::runFromUpdate() {
  issueStep(prepared.updateItem, prepared.step.items.size());
  return device->synchronize();
}

void RankExecutor::forgetEvents() {
  stepEvents.clear();
  stepEvents.resize(prepared.step.numEvents);
}

void RankExecutor::issueStep(size_t begin, size_t end) {
  IssueContext context;
  context.list = &prepared.step;
  context.bases = stepBases;
  context.events = &stepEvents;
  for (size_t i = begin; i < end; ++i)
    issueItem(context, prepared.step.items[i]);
}

void RankExecutor::issueCall(const Call &call, uint32_t position,
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

void RankExecutor::issueItem(const IssueContext &context,
                             const IssueItem &item) {
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

//===----------------------------------------------------------------------===//
// Memory debugging and measurements
//===----------------------------------------------------------------------===//

void RankExecutor::touch(const BaseTable &bases,
                         const OperandAddress &operand) const {
  if (!prepared.poison)
    return;
  const std::byte *address = bases.getAddress(operand);
  for (Arena *arena : {&device->getHbm(), &device->getHost()})
    if (arena->contains(address, operand.bytes))
      arena->touch(address - arena->getBase(), operand.bytes);
}

void RankExecutor::poisonAfter(const IssueContext &context,
                               uint32_t instruction) const {
  if (!prepared.poison || !context.call)
    return;
  for (const PoisonPlan::Range &range :
       prepared.poison->getRanges(context.position, instruction))
    device->getHbm().poison(range.offset, range.bytes);
}

RecordedWork *RankExecutor::add(const IssueContext &context,
                                const IssueItem &item, uint32_t instruction) {
  if (context.call)
    return recorder->add(item.stream, context.position, instruction);
  return recorder->add(item.stream, instruction, std::nullopt);
}

RankRecord RankExecutor::takeRecord() {
  RankRecord record{rank, recorder->take()};
  recorder.reset();
  return record;
}

std::vector<StreamUse> RankExecutor::getStreamUse() const {
  std::vector<StreamUse> uses;
  uses.reserve(streams.size());
  for (const Stream *stream : streams)
    uses.push_back({stream->getName().str(), stream->getStatistics()});
  return uses;
}

} // namespace mf::runner
