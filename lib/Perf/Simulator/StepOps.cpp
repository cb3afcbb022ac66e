//===- StepOps.cpp - Operations of an instruction list on streams ---------===//
// SPDX-License-Identifier: Apache-2.0

#include "StepOps.h"

namespace mf::simulator {

using namespace program;

namespace {

class ListReader {
public:
  ListReader(const StageProgram &stage, size_t number, const StepCosts &costs,
             const InstructionList &list)
      : stage(stage), number(number), costs(costs), list(list),
        lastOfStream(stage.streams.size(), none) {}

  /// `recordedBehind` marks instructions after which a call may record events.
  std::vector<Op> read(const std::vector<bool> &recordedBehind);

private:
  static constexpr size_t none = ~size_t{0};

  Op &add(OpKind kind, uint32_t stream, uint32_t instruction);
  void addWork(const Instruction &instruction, uint32_t index);
  void addKernel(const Instruction &instruction, uint32_t index);

  const StageProgram &stage;
  size_t number;
  const StepCosts &costs;
  const InstructionList &list;
  std::vector<Op> ops;
  /// The last operation of each stream.
  std::vector<size_t> lastOfStream;
};

} // namespace

Op &ListReader::add(OpKind kind, uint32_t stream, uint32_t instruction) {
  lastOfStream[stream] = ops.size();
  Op &op = ops.emplace_back();
  op.kind = kind;
  op.stream = stream;
  op.first = op.last = instruction;
  return op;
}

void ListReader::addKernel(const Instruction &instruction, uint32_t index) {
  const double seconds = costs.getKernelSeconds(instruction.index);
  const size_t before = lastOfStream[instruction.stream];
  if (before != none && ops[before].kind == OpKind::Kernels) {
    ops[before].last = index;
    ops[before].seconds += seconds;
    return;
  }
  add(OpKind::Kernels, instruction.stream, index).seconds = seconds;
}

void ListReader::addWork(const Instruction &instruction, uint32_t index) {
  switch (instruction.work) {
  case Work::None:
    return;
  case Work::Kernel:
    return addKernel(instruction, index);
  case Work::Copy:
    add(OpKind::Copy, instruction.stream, index).seconds =
        costs.getCopySeconds(stage.streams[instruction.stream].kind,
                             instruction.accesses.front().operand.bytes);
    return;
  case Work::Exchange:
    add(OpKind::Exchange, instruction.stream, index).operand =
        costs.getTransferNumber(number, list, instruction);
    return;
  case Work::Call:
    add(OpKind::Call, instruction.stream, index).operand = instruction.index;
    return;
  }
}

std::vector<Op> ListReader::read(const std::vector<bool> &recordedBehind) {
  for (uint32_t i = 0; i < list.instructions.size(); ++i) {
    const Instruction &instruction = list.instructions[i];
    for (const AwaitedEvent &awaited : instruction.awaited) {
      Op &op = add(OpKind::Wait, instruction.stream, i);
      op.operand = awaited.event;
      op.isArgument = awaited.isArgument;
    }
    addWork(instruction, i);
    if (instruction.recorded)
      add(OpKind::Record, instruction.stream, i).operand =
          *instruction.recorded;
    if (i < recordedBehind.size() && recordedBehind[i])
      add(OpKind::CallRecord, stage.computeStream, i);
  }
  return std::move(ops);
}

StageOps makeStageOps(const Program &program, size_t number,
                      const StepCosts &costs) {
  const StageProgram &stage = program.stages[number];
  std::vector<std::vector<bool>> recordedBehind(stage.routines.size());
  for (const Call &call : stage.step.calls)
    for (const CallRecord &record : call.records) {
      std::vector<bool> &ofRoutine = recordedBehind[call.routine];
      ofRoutine.resize(stage.routines[call.routine].body.instructions.size());
      ofRoutine[record.instruction] = true;
    }
  auto read = [&](const InstructionList &list,
                  const std::vector<bool> &recorded) {
    return ListReader(stage, number, costs, list).read(recorded);
  };
  StageOps ops;
  ops.step = read(stage.step, {});
  for (size_t i = 0; i < stage.routines.size(); ++i)
    ops.routines.push_back(read(stage.routines[i].body, recordedBehind[i]));
  return ops;
}

} // namespace mf::simulator
