//===- StageDistributions.cpp - Distributions in a stage's buffers --------===//
// SPDX-License-Identifier: Apache-2.0

#include "StageDistributions.h"
#include "mf/Program/Description.h"
#include "mf/Program/LocatedError.h"
#include "llvm/ADT/STLExtras.h"

using llvm::Error;

namespace mf::program {

StageDistributions::StageDistributions(const Program &program,
                                       const StageProgram &stage,
                                       DistributionTable &table,
                                       TransferQueues &queues)
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
        ofRoutine.push_back({static_cast<uint32_t>(number), isWritten[number]});
  }
}

StageDistributions::BufferRange
StageDistributions::resolve(ListRun &running, const Operand &operand) {
  const MemoryRange range = walker.resolve(running.scope, operand);
  Content &content =
      range.instance < contents.size()
          ? contents[range.instance]
          : running.temporaries[range.instance - running.scope.firstTemporary];
  return {&content, range.begin, range.bytes};
}

uint32_t StageDistributions::read(const BufferRange &range) {
  return table.read(*range.content, range.offset, range.bytes);
}

Content StageDistributions::extract(const BufferRange &range) const {
  return table.extract(*range.content, range.offset, range.bytes);
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

Error StageDistributions::fail(ListRun &running, const Place &place,
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

Error StageDistributions::runKernel(ListRun &running, const Place &place) {
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
    return llvm::make_error<LocatedError>(instruction.location,
                                          llvm::toString(outcome.takeError()));
  if ((*outcome)->error)
    return fail(running, place, *(*outcome)->error);
  for (auto [output, distribution] : llvm::enumerate((*outcome)->outputs)) {
    const size_t number = kernel.spec.inputs.size() + output;
    const BufferRange range =
        resolve(running, instruction.accesses[number].operand);
    table.write(*range.content, range.offset, range.bytes, distribution);
  }
  return Error::success();
}

void StageDistributions::runTransfer(const Exchange &exchange,
                                     const BufferRange &range) {
  std::deque<Content> &queue = queues[exchange.channel];
  if (exchange.isSend) {
    queue.push_back(extract(range));
  } else if (!queue.empty()) {
    table.insert(*range.content, range.offset, queue.front());
    queue.pop_front();
  }
}

/// Returns the size of the first dimension that has more than one element.
static int64_t getFirstElements(const TensorShape &shape) {
  const auto *found =
      llvm::find_if(shape.dims, [](int64_t extent) { return extent != 1; });
  return found == shape.dims.end() ? 1 : *found;
}

Error StageDistributions::runExchange(ListRun &running, const Place &place) {
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
  Distribution output;
  if (std::optional<DistributionError> reason = applyCollective(
          exchange, channel.group, program.mesh, operands, output))
    return fail(running, place, *reason);
  if (channel.group.crossesStages())
    if (Error error = checkCounted(running, place, *operands.inputs.front()))
      return error;
  table.write(*last.content, last.offset, last.bytes,
              table.add(std::move(output)));
  return Error::success();
}

Error StageDistributions::checkCounted(ListRun &running, const Place &place,
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
        return fail(running, place,
                    {axis, 0,
                     "it counts '" + table.getShared().getName(group) +
                         "', which stage " + std::to_string(*other) +
                         " counts, too: expected one of the stages that share "
                         "it"});
  }
  return Error::success();
}

void StageDistributions::runCopy(ListRun &running,
                                 const Instruction &instruction) {
  const BufferRange source = resolve(running, instruction.accesses[0].operand);
  const BufferRange target = resolve(running, instruction.accesses[1].operand);
  table.insert(*target.content, target.offset, extract(source));
}

Error StageDistributions::runInstruction(ListRun &running, const Place &place) {
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

Error StageDistributions::run(uint32_t position) {
  const Instruction &instruction = stage.step.instructions[position];
  if (const Call *call = stage.step.getCall(instruction))
    return runCall(position, *call);
  ListRun step{walker.getStep(), {}};
  return runInstruction(step, {instruction, position, callItself});
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// Returns the memory other than temporaries that a call of a routine reads or
/// writes, and the part of it that it writes.
StageDistributions::SharedRanges
StageDistributions::findShared(ListRun &running, uint32_t routine) {
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

/// Concatenates the contents of ranges; spread() is the inverse. Routines have
/// hundreds of ranges, so pieces are appended, never inserted.
Content StageDistributions::collect(llvm::ArrayRef<BufferRange> ranges) {
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

void StageDistributions::spread(const Content &all,
                                llvm::ArrayRef<BufferRange> ranges) {
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

/// Once the gradients of a stage are complete, those of a shared parameter are
/// summands of its gradient.
void StageDistributions::beginUpdate() {
  for (auto [number, buffer] : llvm::enumerate(stage.statics))
    if (buffer.role == Role::Gradient || buffer.role == Role::Accumulated)
      if (std::optional<uint32_t> group = table.getShared().find(stage, buffer))
        table.beginSum(contents[instances.getStatic(number)], *group);
}

/// A routine that is called again with the same distributions has the same
/// results, which are taken from the first call.
Error StageDistributions::runCall(uint32_t position, const Call &call) {
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

} // namespace mf::program
