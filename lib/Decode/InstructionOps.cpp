//===- InstructionOps.cpp - Decoding of instructions ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Instructions implement InstructionOpInterface. Calls represent the
// instructions of a routine.
//
//===----------------------------------------------------------------------===//

#include "ListDecoder.h"
#include "mf/Support/Alignment.h"

using namespace mlir;

namespace mf::program {

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

LogicalResult ListDecoder::decodeArguments(ascend::CallOp op,
                                           const Routine &callee, Call &call) {
  for (Value argument : op.getArguments()) {
    if (isa<ascend::EventType>(argument.getType())) {
      FailureOr<uint32_t> event = getEvent(op, argument);
      if (failed(event))
        return failure();
      call.events.push_back(*event);
      continue;
    }
    FailureOr<Operand> operand = getOperand(op, argument);
    if (failed(operand))
      return failure();
    call.arguments.push_back(*operand);
  }
  if (call.arguments.size() != callee.numArguments ||
      call.events.size() != callee.numEventArguments)
    return op.emitError("expected ")
           << callee.numArguments << " buffers and " << callee.numEventArguments
           << " events, but got " << call.arguments.size() << " and "
           << call.events.size();
  return success();
}

/// `records` counts launches, whereas the tables count instructions.
LogicalResult ListDecoder::decodeRecords(ascend::CallOp op,
                                         const Routine &callee, Call &call) {
  ArrayRef<int64_t> records = op.getRecords().value_or(ArrayRef<int64_t>());
  if (records.empty())
    return success();
  int64_t numLaunches = 0;
  uint32_t number = 0;
  for (const Instruction &instruction : callee.body.instructions) {
    numLaunches += instruction.work == Work::Kernel;
    if (call.records.size() < records.size() &&
        records[call.records.size()] == numLaunches) {
      events[op.getEvents()[call.records.size()]] = list.numEvents;
      CallRecord record;
      record.instruction = number;
      record.record.stream = context.stage.computeStream;
      record.record.location = location;
      record.record.recorded = list.numEvents++;
      call.records.push_back(std::move(record));
    }
    ++number;
  }
  if (call.records.size() < records.size())
    return op.emitError("records an event behind launch ")
           << records[call.records.size()] << ", but the routine has "
           << numLaunches;
  return success();
}

LogicalResult ListDecoder::decode(ascend::CallOp op) {
  auto found = context.routines.find(op.getRoutine());
  if (found == context.routines.end())
    return op.emitError("unknown routine ") << op.getRoutineAttr();
  const Routine &callee = context.stage.routines[found->second];
  Call call;
  call.routine = found->second;
  if (failed(decodeArguments(op, callee, call)) ||
      failed(decodeRecords(op, callee, call)))
    return failure();
  if (op.getFrame()) {
    auto frame = frames.find(op.getFrame());
    if (frame == frames.end() || !callee.layout ||
        context.stage.frames[frame->second].layout != *callee.layout)
      return op.emitError("its frame is not one of the routine's layout");
    call.frame = frame->second;
  } else if (callee.layout) {
    return op.emitError("expected a frame of '")
           << context.stage.layouts[*callee.layout].name << "'";
  }
  if (callee.scratchBytes > 0 || op.getScratchOffset())
    if (failed(state.checkOffset(op, op.getScratchOffset(), callee.scratchBytes,
                                 mf::addressAlignment, context.stage.arenaBytes,
                                 "the arena")))
      return failure();
  call.scratchOffset = op.getScratchOffset();
  call.microBatch = op.getMicroBatch();
  Instruction instruction;
  instruction.work = Work::Call;
  instruction.stream = context.stage.computeStream;
  instruction.index = list.calls.size();
  instruction.location = location;
  if (failed(addAwaited(op, op.getAfter(), instruction)))
    return failure();
  list.calls.push_back(std::move(call));
  list.instructions.push_back(std::move(instruction));
  return success();
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

LogicalResult ListDecoder::addAwaited(Operation *op, ValueRange values,
                                      Instruction &instruction) {
  for (Value value : values) {
    FailureOr<uint32_t> event = getEvent(op, value);
    if (failed(event))
      return failure();
    instruction.awaited.push_back({*event, isa<BlockArgument>(value)});
  }
  return success();
}

LogicalResult ListDecoder::decodeAccesses(ascend::InstructionOpInterface op,
                                          Instruction &instruction) {
  const bool mayUseHost = op.getEngine() == Engine::Copy;
  llvm::SmallVector<ascend::BufferAccess, 6> accesses;
  op.getAccesses(accesses);
  for (const ascend::BufferAccess &access : accesses) {
    FailureOr<Operand> operand = mayUseHost
                                     ? getOperand(op, access.buffer)
                                     : getDeviceOperand(op, access.buffer);
    if (failed(operand))
      return failure();
    instruction.accesses.push_back({*operand, access.access, 0});
  }
  return success();
}

void applySignature(const KernelSignature &signature, size_t numInputs,
                    Instruction &instruction) {
  auto &accesses = instruction.accesses;
  for (size_t i = 0; i < numInputs; ++i)
    accesses[i].access = signature.getInput(i).access;
  for (size_t i = numInputs; i < accesses.size(); ++i) {
    accesses[i].sharedAccesses = 0;
    if (i - numInputs >= signature.outputs.size())
      continue; // a workspace
    accesses[i].access = signature.getOutput(i - numInputs).access;
    for (size_t j = 0; j < numInputs && j < 32; ++j)
      if (signature.mayShareMemory(i - numInputs, j))
        accesses[i].sharedAccesses |= uint32_t{1} << j;
  }
}

static LogicalResult checkCopy(Operation *op, const InstructionList &list,
                               const Instruction &instruction) {
  const Operand &source = instruction.accesses[0].operand;
  const Operand &target = instruction.accesses[1].operand;
  if (source.bytes != target.bytes)
    return op->emitError("expected buffers of one size, but got ")
           << source.bytes << " and " << target.bytes << " bytes";
  if (list.buffers[source.buffer].space == Space::Host &&
      list.buffers[target.buffer].space == Space::Host)
    return op->emitError("expected device memory on one side at least");
  return success();
}

LogicalResult ListDecoder::decodeKernel(ascend::LaunchOp op,
                                        Instruction &instruction) {
  FailureOr<uint32_t> kernel = state.getKernel(op, location);
  if (failed(kernel))
    return failure();
  instruction.index = *kernel;
  applySignature(*state.result.program.kernels[*kernel].signature,
                 op.getInputs().size(), instruction);
  return success();
}

LogicalResult ListDecoder::decodeWork(ascend::InstructionOpInterface op,
                                      Instruction &instruction) {
  switch (op.getWork()) {
  case ascend::WorkKind::None:
    return success();
  case ascend::WorkKind::Kernel:
    instruction.work = Work::Kernel;
    return decodeKernel(cast<ascend::LaunchOp>(*op), instruction);
  case ascend::WorkKind::Copy:
    instruction.work = Work::Copy;
    return checkCopy(op, list, instruction);
  case ascend::WorkKind::Exchange:
    instruction.work = Work::Exchange;
    return decodeExchange(op, *op.getExchange(), instruction);
  }
  llvm_unreachable("covered switch");
}

LogicalResult ListDecoder::decode(ascend::InstructionOpInterface op) {
  FailureOr<uint32_t> stream = getStream(op, op.getIssueStream());
  if (failed(stream))
    return failure();
  Instruction instruction;
  instruction.stream = *stream;
  instruction.location = location;
  instruction.cell = op.getCellName().str();
  if (failed(addAwaited(op, op.getAwaitedEvents(), instruction)) ||
      failed(decodeAccesses(op, instruction)) ||
      failed(decodeWork(op, instruction)))
    return failure();
  if (Value event = op.getRecordedEvent()) {
    events[event] = list.numEvents;
    instruction.recorded = list.numEvents++;
  }
  list.instructions.push_back(std::move(instruction));
  return success();
}

} // namespace mf::program
