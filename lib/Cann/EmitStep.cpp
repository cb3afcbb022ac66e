//===- EmitStep.cpp - Routines and the step as functions ------------------===//

#include "CannCalls.h"
#include "ProgramText.h"
#include "mf/Program/LocatedError.h"
#include "mf/Program/StepTasks.h"
#include "mf/Program/StepWalker.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mf::program;

namespace mf::cann {

namespace {

/// Writes the functions of one stage's program.
class StepEmitter {
public:
  StepEmitter(const Program &program, const StageProgram &stage,
              std::set<std::string> &kernels, llvm::raw_ostream &os)
      : program(program), stage(stage), table(stage), walker(stage, table),
        kernels(kernels), os(os) {}

  llvm::Error emit();

private:
  llvm::Error emitRoutine(const Routine &routine);
  llvm::Error emitInstruction(const InstructionList &list, uint32_t number);
  llvm::Error emitWork(const InstructionList &list,
                       const Instruction &instruction, uint32_t number);
  llvm::Error emitLaunch(const InstructionList &list,
                         const Instruction &instruction);
  void emitExchange(const InstructionList &list,
                    const Instruction &instruction);
  void emitCopy(const InstructionList &list, const Instruction &instruction);
  void emitCall(const InstructionList &list, const Call &call,
                uint32_t position);
  llvm::Error emitPart(llvm::StringRef name, llvm::StringRef comment,
                       uint32_t begin, uint32_t end);
  std::string getEvent(const AwaitedEvent &event) const;
  std::string getPlace(const Buffer &buffer, int64_t offset) const;
  void emitNames();
  std::string getTensor(const InstructionList &list, const Operand &operand,
                        const TensorShape &shape) const;
  std::string getOperands(const InstructionList &list,
                          const Instruction &instruction,
                          const LaunchedKernel &kernel) const;

  const Program &program;
  const StageProgram &stage;
  InstanceTable table;
  StepWalker walker;
  std::set<std::string> &kernels;
  llvm::raw_ostream &os;
  /// The channels that exchanges are on, and whether they send.
  std::set<std::pair<uint32_t, bool>> uses;
  /// The positions of calls in the step that are the forward of a chunk.
  std::set<uint32_t> forwards;
  /// Whether the list that is written is a routine's.
  bool inRoutine = false;
};

} // namespace

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Statics have names in the program, by their offsets.
static std::string getStaticName(const Static &buffer) {
  return "at::" + getIdentifier(buffer.name);
}

void StepEmitter::emitNames() {
  os << "/// Where statics lie: in the arena, or in host memory.\n"
        "namespace at {\n";
  for (const Static &buffer : stage.statics)
    os << "[[maybe_unused]] constexpr int64_t " << getIdentifier(buffer.name)
       << " = " << buffer.offset << ";\n";
  os << "} // namespace at\n\n";
}

std::string StepEmitter::getPlace(const Buffer &buffer, int64_t offset) const {
  const Address &address = buffer.address;
  const int64_t at = address.offset + offset;
  if (buffer.kind == BufferKind::Static) {
    const Static &target = stage.statics[buffer.index];
    return llvm::formatv(
        "rank.{0}({1}{2})", target.space == Space::Device ? "device" : "host",
        getStaticName(target),
        at == target.offset ? std::string()
                            : " + " + std::to_string(at - target.offset));
  }
  auto behind = [&](const llvm::Twine &base) {
    return at == 0 ? base.str() : (base + " + " + llvm::Twine(at)).str();
  };
  switch (address.base) {
  case Base::Device:
    return llvm::formatv("rank.device({0})", at);
  case Base::Host:
    return llvm::formatv("rank.host({0})", at);
  case Base::HostFrame:
    return behind("call.hostFrame");
  case Base::Scratch:
    return behind("call.scratch");
  case Base::Argument:
    return behind("call.arguments[" + llvm::Twine(address.number) + "]");
  case Base::Frame:
    return behind("call.frame[" + llvm::Twine(address.number) + "]");
  }
  llvm_unreachable("unknown base");
}

/// The function of the support header that makes a tensor of this type.
static llvm::StringRef getTypeFunction(DType type) {
  return type == DType::I1 ? "bits" : getName(type);
}

std::string StepEmitter::getTensor(const InstructionList &list,
                                   const Operand &operand,
                                   const TensorShape &shape) const {
  return llvm::formatv("{0}({1}, {2})", getTypeFunction(shape.type),
                       getPlace(list.buffers[operand.buffer], operand.offset),
                       getList(shape.dims));
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// Operands in the order of the kernel's record; those that are left out are
/// empty tensors, several of one name a list.
std::string StepEmitter::getOperands(const InstructionList &list,
                                     const Instruction &instruction,
                                     const LaunchedKernel &kernel) const {
  std::string text;
  size_t access = 0;
  auto addAll = [&](llvm::ArrayRef<OperandSignature> signatures,
                    llvm::ArrayRef<TensorShape> shapes) {
    size_t shape = 0;
    auto take = [&] {
      return getTensor(list, instruction.accesses[access++].operand,
                       shapes[shape++]);
    };
    for (const OperandSignature &signature : signatures) {
      text += ",\n      ";
      if (signature.isVariadic) {
        std::string tensors;
        while (shape < shapes.size())
          tensors += (tensors.empty() ? "" : ", ") + take();
        text += "{" + tensors + "}";
      } else {
        text += shape < shapes.size() ? take() : "CannTensor()";
      }
    }
  };
  addAll(kernel.signature->inputs, kernel.spec.inputs);
  addAll(kernel.signature->outputs, kernel.spec.outputs);
  return text;
}

static std::string getMending(llvm::StringRef kernel) {
  if (kernel == "mfChain")
    return "; lower the model with --for-cann";
  return "; expected a kernel whose record in dialects/ascend has 'cann' or "
         "'cannBody'";
}

llvm::Error StepEmitter::emitLaunch(const InstructionList &list,
                                    const Instruction &instruction) {
  const LaunchedKernel &kernel = program.kernels[instruction.index];
  const CannCall *call = findCannCall(kernel.spec.name);
  if (!call)
    return llvm::make_error<LocatedError>(instruction.location,
                                          "CANN has no counterpart of '" +
                                              kernel.spec.name + "'" +
                                              getMending(kernel.spec.name));
  const Operand &last = instruction.accesses.back().operand;
  llvm::Expected<std::string> workspace = getWorkspace(
      instruction, kernel, getPlace(list.buffers[last.buffer], last.offset));
  if (!workspace)
    return workspace.takeError();
  kernels.insert(kernel.spec.name);
  os << llvm::formatv("  kernels::{0}(rank.stream({1}{2}), {3}", call->function,
                      instruction.stream, *workspace, quote(instruction.cell))
     << getOperands(list, instruction, kernel);
  if (!kernel.signature->attributes.empty())
    os << ",\n      "
       << llvm::join(llvm::map_range(kernel.signature->attributes,
                                     [&](const AttributeSignature &signature) {
                                       return getAttribute(
                                           signature, kernel.spec.attributes);
                                     }),
                     ", ");
  os << ");\n";
  return llvm::Error::success();
}

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

/// Fills the record of the call and runs the routine with it.
void StepEmitter::emitCall(const InstructionList &list, const Call &call,
                           uint32_t position) {
  const Scope scope = walker.enter(position);
  os << "  {\n    RoutineCall call;\n";
  for (const Operand &argument : call.arguments)
    os << "    call.arguments.push_back("
       << getPlace(list.buffers[argument.buffer], argument.offset) << ");\n";
  if (call.frame) {
    const Frame &frame = stage.frames[*call.frame];
    for (const int64_t offset : frame.offsets)
      os << "    call.frame.push_back(rank.device(" << offset << "));\n";
    os << "    call.hostFrame = rank.host(" << frame.hostOffset << ");\n";
  }
  if (call.scratchOffset)
    os << "    call.scratch = rank.device(" << *call.scratchOffset << ");\n";
  os << "    call.firstEvent = " << scope.firstEvent << ";\n";
  if (!call.events.empty()) {
    llvm::SmallVector<int64_t> numbers(call.events.begin(), call.events.end());
    os << "    call.events = " << getList(numbers) << ";\n";
  }
  for (const CallRecord &record : call.records)
    os << llvm::formatv("    call.records.push_back({{{0}, {1}});\n",
                        record.instruction, *record.record.recorded);
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

llvm::Error StepEmitter::emitRoutine(const Routine &routine) {
  std::set<uint32_t> marked;
  for (const Call &call : stage.step.calls)
    if (&stage.routines[call.routine] == &routine)
      for (const CallRecord &record : call.records)
        marked.insert(record.instruction);
  os << "static void " << getIdentifier(routine.name)
     << "([[maybe_unused]] CannRank &rank, [[maybe_unused]] const RoutineCall "
        "&call) {\n";
  inRoutine = true;
  for (uint32_t i = 0; i < routine.body.instructions.size(); ++i) {
    if (llvm::Error error = emitInstruction(routine.body, i))
      return error;
    if (marked.count(i))
      os << llvm::formatv("  rank.recordBehind(call, {0}, {1});\n", i,
                          stage.computeStream);
  }
  inRoutine = false;
  os << "}\n\n";
  return llvm::Error::success();
}

llvm::Error StepEmitter::emitPart(llvm::StringRef name, llvm::StringRef comment,
                                  uint32_t begin, uint32_t end) {
  os << "/// " << comment << "\nstatic void " << name
     << "([[maybe_unused]] CannRank &rank) {\n";
  for (uint32_t i = begin; i < end; ++i)
    if (llvm::Error error = emitInstruction(stage.step, i))
      return error;
  os << "}\n\n";
  return llvm::Error::success();
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
  if (llvm::Error error =
          emitPart("computeGradients",
                   "The step until the gradients are complete.", 0, update))
    return error;
  if (llvm::Error error = emitPart(
          "finishStep", "The rest of the step: the optimizer's.", update, size))
    return error;
  os << llvm::formatv(
      "constexpr size_t arenaBytes = {0};\n"
      "constexpr size_t hostBytes = {1};\n"
      "constexpr size_t numStreams = {2};\n"
      "constexpr size_t numEvents = {3};\n"
      "/// What the plan leaves of the device's memory; -1 "
      "without a limit.\n"
      "constexpr int64_t workspaceRoom = {4};\n\n",
      stage.arenaBytes, stage.hostBytes, stage.streams.size(),
      table.getNumEvents(),
      stage.hbmLimitBytes ? *stage.hbmLimitBytes - stage.arenaBytes : -1);
  os << "/// The channels of exchanges, and whether they send.\n"
        "static const std::vector<UsedDirection> channelUses = {";
  for (const auto &[channel, isSend] : uses)
    os << "{" << channel << ", " << (isSend ? "true" : "false") << "}, ";
  os << "};\n\n";
  return llvm::Error::success();
}

llvm::Error emitStep(const Program &program, const StageProgram &stage,
                     std::set<std::string> &kernels, llvm::raw_ostream &os) {
  return StepEmitter(program, stage, kernels, os).emit();
}

} // namespace mf::cann
