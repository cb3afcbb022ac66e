//===- OperatorDump.cpp - Dumps results of instructions -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "OperatorDump.h"
#include "mf/Program/StepTasks.h"

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

} // namespace mf::runner
