//===- EmitStep.cpp - Routines and the step as functions ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ProgramText.h"
#include "StepEmitter.h"
#include "mf/Program/StepTasks.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mf::program;

namespace mf::cann {

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

void StepEmitter::emitCopy(const InstructionList &list,
                           const Instruction &instruction) {
  const Operand &from = instruction.accesses[0].operand;
  const Operand &to = instruction.accesses[1].operand;
  const Buffer &source = list.buffers[from.buffer],
               &target = list.buffers[to.buffer];
  auto getLetter = [](const Buffer &buffer) {
    return buffer.space == Space::Device ? "DEVICE" : "HOST";
  };
  os << llvm::formatv("  // {0}\n  rank.copy({1}, {2}, {3}, {4}, "
                      "ACL_MEMCPY_{5}_TO_{6});\n",
                      source.name, instruction.stream,
                      getPlace(target, to.offset),
                      getPlace(source, from.offset), from.bytes,
                      getLetter(source), getLetter(target));
}

void StepEmitter::emitExchange(const InstructionList &list,
                               const Instruction &instruction) {
  const Exchange &exchange = list.exchanges[instruction.index];
  const bool isTransfer = program.channels[exchange.channel].isTransfer;
  uses.insert({exchange.channel, !isTransfer || exchange.isSend});
  std::vector<std::string> places;
  for (const MemoryAccess &access : instruction.accesses)
    places.push_back(
        getPlace(list.buffers[access.operand.buffer], access.operand.offset));
  cann::emitExchange(program, list, instruction, places, os);
}

/// Assigns a list of texts to a member of the call's record.
static void emitMember(llvm::StringRef member,
                       llvm::ArrayRef<std::string> values,
                       llvm::raw_ostream &os) {
  if (!values.empty())
    os << "    call." << member << " = {" << llvm::join(values, ",\n        ")
       << "};\n";
}

/// Writes statements that fill the record of a call and run the routine with
/// it.
void StepEmitter::emitCall(const InstructionList &list, const Call &call,
                           uint32_t position) {
  const Scope scope = walker.enter(position);
  std::vector<std::string> arguments, places, events, records;
  for (const Operand &argument : call.arguments)
    arguments.push_back(
        getPlace(list.buffers[argument.buffer], argument.offset));
  for (const uint32_t event : call.events)
    events.push_back(std::to_string(event));
  for (const CallRecord &record : call.records)
    records.push_back(llvm::formatv("{{{0}, {1}}", record.instruction,
                                    *record.record.recorded));
  os << "  {\n    RoutineCall call;\n";
  emitMember("arguments", arguments, os);
  if (call.frame) {
    const Frame &frame = stage.frames[*call.frame];
    for (const int64_t offset : frame.offsets)
      places.push_back(llvm::formatv("rank.device({0})", offset));
    emitMember("frame", places, os);
    os << "    call.hostFrame = rank.host(" << frame.hostOffset << ");\n";
  }
  if (call.scratchOffset)
    os << "    call.scratch = rank.device(" << *call.scratchOffset << ");\n";
  os << "    call.firstEvent = " << scope.firstEvent << ";\n";
  emitMember("events", events, os);
  emitMember("records", records, os);
  const Routine &routine = stage.routines[call.routine];
  if (call.microBatch)
    os << "    // micro-batch " << *call.microBatch << "\n";
  if (call.frame)
    os << llvm::formatv("    rank.getKept().enter({0}, {1});\n",
                        stage.frames[*call.frame].microBatch,
                        forwards.count(position) ? "true" : "false");
  os << "    " << getIdentifier(routine.name) << "(rank, call);\n";
  if (call.frame)
    os << "    rank.getKept().leave();\n";
  os << "  }\n";
}

std::string StepEmitter::getEvent(const AwaitedEvent &event) const {
  if (!inRoutine)
    return std::to_string(event.event);
  return event.isArgument ? "call.events[" + std::to_string(event.event) + "]"
                          : "call.firstEvent + " + std::to_string(event.event);
}

llvm::Error StepEmitter::emitWork(const InstructionList &list,
                                  const Instruction &instruction,
                                  uint32_t number) {
  switch (instruction.work) {
  case Work::None:
    return llvm::Error::success();
  case Work::Kernel:
    return emitLaunch(list, instruction);
  case Work::Copy:
    emitCopy(list, instruction);
    return llvm::Error::success();
  case Work::Call:
    emitCall(list, *list.getCall(instruction), number);
    return llvm::Error::success();
  case Work::Exchange:
    emitExchange(list, instruction);
    return llvm::Error::success();
  }
  llvm_unreachable("unknown work");
}

llvm::Error StepEmitter::emitInstruction(const InstructionList &list,
                                         uint32_t number) {
  const Instruction &instruction = list.instructions[number];
  for (const AwaitedEvent &event : instruction.awaited)
    os << llvm::formatv("  rank.wait({0}, {1});\n", instruction.stream,
                        getEvent(event));
  if (llvm::Error error = emitWork(list, instruction, number))
    return error;
  if (instruction.recorded)
    os << llvm::formatv("  rank.record({0}, {1});\n",
                        getEvent({*instruction.recorded, false}),
                        instruction.stream);
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// Longer functions take a compiler disproportionately long.
static constexpr uint32_t mostInstructions = 100;

std::string StepEmitter::takeStatements() {
  std::string taken = std::move(statements);
  statements.clear();
  return taken;
}

/// Writes a part of a list as a function. If it is long, it is divided into
/// several functions, which this one calls. `emitBehind` writes what follows an
/// instruction.
llvm::Error StepEmitter::emitFunctions(
    const FunctionHead &head, const InstructionList &list, uint32_t begin,
    uint32_t end, llvm::function_ref<void(uint32_t)> emitBehind) {
  std::vector<std::string> parts;
  for (uint32_t i = begin; i < end; ++i) {
    if (llvm::Error error = emitInstruction(list, i))
      return error;
    emitBehind(i);
    if ((i + 1 - begin) % mostInstructions == 0)
      parts.push_back(takeStatements());
  }
  if (!statements.empty() || parts.empty())
    parts.push_back(takeStatements());
  text.addFunction(head, parts);
  return llvm::Error::success();
}

llvm::Error StepEmitter::emitRoutine(const Routine &routine) {
  std::set<uint32_t> marked;
  for (const Call &call : stage.step.calls)
    if (&stage.routines[call.routine] == &routine)
      for (const CallRecord &record : call.records)
        marked.insert(record.instruction);
  inRoutine = true;
  llvm::Error error = emitFunctions(
      {getIdentifier(routine.name), "", Parameters::RankAndCall}, routine.body,
      0, static_cast<uint32_t>(routine.body.instructions.size()),
      [&](uint32_t i) {
        if (marked.count(i))
          os << llvm::formatv("  rank.recordBehind(call, {0}, {1});\n", i,
                              stage.computeStream);
      });
  inRoutine = false;
  return error;
}

llvm::Error StepEmitter::emitPart(llvm::StringRef name, llvm::StringRef comment,
                                  uint32_t begin, uint32_t end) {
  return emitFunctions({name.str(), comment.str(), Parameters::Rank},
                       stage.step, begin, end, [](uint32_t) {});
}

/// Writes the statements that tell a rank which device buffers have the step's
/// number and learning rates. CANN's optimizer takes these numbers from the
/// host.
void StepEmitter::emitMirrors() {
  for (const Static &onDevice : stage.statics)
    for (const Static &onHost : stage.statics)
      if ((onDevice.role == Role::LearningRate ||
           onDevice.role == Role::StepNumber) &&
          onHost.role == onDevice.role && onDevice.space == Space::Device &&
          onHost.space == Space::Host)
        os << "  rank.mirror(rank.device(" << onDevice.offset << "), rank.host("
           << onHost.offset << "), " << onHost.bytes << ");\n";
  text.addFunction({"addMirrors", "Names the host memory that operators read.",
                    Parameters::Rank},
                   takeStatements());
}

/// Names the largest static on the device and the routine with the most scratch
/// memory, for the message of a program that does not find enough memory.
static std::string describeLargest(const StageProgram &stage) {
  const Static *largest = nullptr;
  for (const Static &buffer : stage.statics)
    if (buffer.space == Space::Device &&
        (!largest || buffer.bytes > largest->bytes))
      largest = &buffer;
  const Routine *routine = nullptr;
  for (const Routine &candidate : stage.routines)
    if (!routine || candidate.scratchBytes > routine->scratchBytes)
      routine = &candidate;
  std::string text;
  if (largest)
    text = llvm::formatv("'{0}' has {1}", largest->name, largest->bytes);
  if (routine && routine->scratchBytes > 0)
    text +=
        llvm::formatv("{0}temporaries of '{1}' {2}", text.empty() ? "" : ", ",
                      routine->name, routine->scratchBytes);
  return text;
}

void StepEmitter::emitRecord() {
  os << llvm::formatv(
      "  Step step;\n"
      "  step.arenaBytes = {0};\n"
      "  step.hostBytes = {1};\n"
      "  step.numStreams = {2};\n"
      "  step.numEvents = {3};\n"
      "  step.workspaceRoom = {4};\n"
      "  step.largest = {5};\n",
      stage.arenaBytes, stage.hostBytes, stage.streams.size(),
      table.getNumEvents(),
      stage.hbmLimitBytes ? *stage.hbmLimitBytes - stage.arenaBytes : -1,
      quote(describeLargest(stage)));
  for (const auto &[channel, isSend] : uses)
    os << "  step.uses.push_back({" << channel << ", "
       << (isSend ? "true" : "false") << "});\n";
  os << "  step.addMirrors = addMirrors;\n"
        "  step.computeGradients = computeGradients;\n"
        "  step.finishStep = finishStep;\n"
        "  return step;\n";
  text.addRecord(takeStatements());
}

llvm::Error StepEmitter::emit() {
  auto tasks = findTasks(stage);
  if (!tasks)
    return tasks.takeError();
  for (const StepTask &task : *tasks)
    if (task.phase == schedule::Phase::Forward)
      forwards.insert(task.calls.begin(), task.calls.end());
  emitNames();
  for (const Routine &routine : stage.routines)
    if (llvm::Error error = emitRoutine(routine))
      return error;
  const auto size = static_cast<uint32_t>(stage.step.instructions.size());
  uint32_t update = size;
  for (uint32_t i = size; i-- > 0;) {
    const Call *call = stage.step.getCall(stage.step.instructions[i]);
    if (call && stage.routines[call->routine].updatesParameters)
      update = i;
  }
  if (llvm::Error error = emitPart(
          "computeGradients", "Runs the step until the gradients are complete.",
          0, update))
    return error;
  if (llvm::Error error = emitPart(
          "finishStep", "Runs the rest of the step, which is the optimizer.",
          update, size))
    return error;
  emitMirrors();
  emitStatics(stage, text);
  emitRecord();
  return llvm::Error::success();
}

llvm::Error emitStep(const Program &program, const StageProgram &stage,
                     std::set<std::string> &kernels, StageText &text) {
  return StepEmitter(program, stage, kernels, text).emit();
}

} // namespace mf::cann
