//===- ExpertGroups.cpp - Groups of expert parallelism in a program -------===//
// SPDX-License-Identifier: Apache-2.0

#include "StepCosts.h"
#include "mf/Perf/Simulator/TokenRouting.h"
#include "mf/Program/Liveness.h"
#include "llvm/ADT/STLExtras.h"
#include <set>

using llvm::Expected;

namespace mf::simulator {

using namespace program;

namespace {

/// The operands of a kernel that multiplies rows by expert.
struct RowsByExpert {
  int64_t room = 0;
  int64_t expertsOfRank = 0;
};

/// The bytes of an exchange of rows, and the members of its group.
struct ExpertExchange {
  int64_t ownBytes = 0;
  int64_t roomBytes = 0;
  int64_t members = 1;
};

} // namespace

static std::optional<RowsByExpert> findRows(const Program &program) {
  for (const LaunchedKernel &kernel : program.kernels)
    for (const auto &[operand, shape] :
         llvm::zip(kernel.signature->inputs, kernel.spec.inputs))
      if (operand.name == "counts" && kernel.spec.inputs[0].dims.size() == 4)
        return RowsByExpert{kernel.spec.inputs[0].dims[2], shape.dims.back()};
  return std::nullopt;
}

static std::optional<ExpertExchange>
findExpertExchange(const Program &program) {
  std::optional<ExpertExchange> largest;
  for (const StageProgram &stage : program.stages)
    for (const Routine &routine : stage.routines)
      for (const Instruction &instruction : routine.body.instructions) {
        if (instruction.work != Work::Exchange)
          continue;
        const Exchange &exchange = *routine.body.getExchange(instruction);
        if (exchange.kind != CollectiveKind::AllToAllV)
          continue;
        const auto [own, room] =
            std::minmax(instruction.accesses.front().operand.bytes,
                        instruction.accesses.back().operand.bytes);
        const auto members = static_cast<int64_t>(
            program.channels[exchange.channel]
                .getMembers(program.mesh,
                            stage.stage * program.mesh.getRanksPerStage())
                .size());
        if (!largest || members > largest->members)
          largest = {own, room, members};
      }
  return largest;
}

/// Returns the number of choices of a token, read from the kernel that numbers
/// the chosen experts.
static std::optional<int64_t> findChoices(const Program &program,
                                          int64_t rows) {
  std::optional<int64_t> choices;
  for (const LaunchedKernel &kernel : program.kernels)
    for (const TensorShape &output : kernel.spec.outputs)
      if (output.type == DType::I32 && output.dims.size() > 1 &&
          output.getNumElements() == rows && output.dims.back() < rows)
        choices = std::min(choices.value_or(rows), output.dims.back());
  return choices;
}

Expected<ExpertGroup> findExpertGroup(const Program &program) {
  const std::optional<RowsByExpert> rows = findRows(program);
  if (!rows)
    return llvm::createStringError(
        "the program has no experts that take all of their tokens, so routing "
        "changes nothing: expected experts without a capacity");
  const std::optional<ExpertExchange> exchange = findExpertExchange(program);
  if (!exchange || exchange->roomBytes == 0)
    return llvm::createStringError(
        "experts are not distributed over ranks, so all ranks have the same "
        "work however tokens are routed: expected experts over several ranks");
  ExpertGroup group;
  group.ranks = exchange->members;
  group.experts = rows->expertsOfRank * exchange->members;
  group.room = rows->room;
  const int64_t own = rows->room * exchange->ownBytes / exchange->roomBytes;
  std::optional<int64_t> choices = findChoices(program, own);
  if (!choices) {
    choices = findChoices(program, own - group.experts);
    group.safeRows = group.experts;
  }
  if (!choices)
    return llvm::createStringError(
        "the program does not say how many experts a token chooses: expected "
        "a kernel that numbers the experts of %lld rows",
        static_cast<long long>(own));
  group.choices = *choices;
  group.tokens = (own - group.safeRows) / *choices;
  return group;
}

/// Returns the sizes of buffers that have room for rows.
static std::set<int64_t> findRoomSizes(const Program &program, int64_t room) {
  std::set<int64_t> sizes;
  for (const LaunchedKernel &kernel : program.kernels)
    for (const auto &operands : {kernel.spec.inputs, kernel.spec.outputs})
      for (const TensorShape &shape : operands)
        if (shape.dims.size() == 4 && shape.dims[2] == room)
          sizes.insert(shape.getBytes());
  return sizes;
}

int64_t getPeakBytes(const Program &program, const StageProgram &stage,
                     const ExpertGroup &group, int64_t rows) {
  const std::set<int64_t> sizes = findRoomSizes(program, group.room);
  std::vector<Lifetime> lifetimes = computeLifetimes(stage);
  for (Lifetime &lifetime : lifetimes)
    if (lifetime.kind != BufferKind::Static && sizes.count(lifetime.bytes) > 0)
      lifetime.bytes = lifetime.bytes / group.room * rows;
  return findPeak(lifetimes, Space::Device).bytes;
}

int64_t getPeakBytes(const Program &program, const ExpertGroup &group,
                     int64_t rows) {
  int64_t most = 0;
  for (const StageProgram &stage : program.stages)
    most = std::max(most, getPeakBytes(program, stage, group, rows));
  return most;
}

} // namespace mf::simulator
