//===- IssueList.cpp - A stage's step in a form to issue ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "IssueList.h"
#include "IssuedWork.h"
#include "mf/Exec/Runner/Runner.h"
#include <set>

using namespace mf::program;

namespace mf::runner {

IssuedWork::~IssuedWork() = default;

/// Instructions of a list after which some call records an event.
using Cuts = std::set<uint32_t>;

/// Returns whether the stream runs the instruction right after the item.
static bool isDirectlyBehind(const IssueItem &item,
                             const Instruction &instruction, const Cuts &cuts) {
  return item.work && item.stream == instruction.stream && !item.recorded &&
         instruction.awaited.empty() && cuts.count(item.end - 1) == 0;
}

static IssueList prepareList(const WorkSource &source, const Cuts &cuts) {
  IssueList result;
  result.numEvents = source.list.numEvents;
  const std::vector<Instruction> &instructions = source.list.instructions;
  for (uint32_t i = 0; i < instructions.size(); ++i) {
    const Instruction &instruction = instructions[i];
    if (!result.items.empty()) {
      IssueItem &last = result.items.back();
      if (isDirectlyBehind(last, instruction, cuts) &&
          last.work->append(source, instruction, i)) {
        last.end = i + 1;
        last.recorded = instruction.recorded;
        continue;
      }
    }
    IssueItem item;
    item.begin = i;
    item.end = i + 1;
    item.stream = instruction.stream;
    item.awaited = instruction.awaited;
    item.recorded = instruction.recorded;
    item.work = makeWork(source, instruction, i);
    result.items.push_back(std::move(item));
  }
  return result;
}

PreparedStage prepareStage(const Program &program, const StageProgram &stage,
                           llvm::ArrayRef<std::unique_ptr<Kernel>> kernels,
                           bool debugsMemory) {
  PreparedStage result;
  result.program = &program;
  result.stage = &stage;
  std::vector<Cuts> cuts(stage.routines.size());
  for (const Call &call : stage.step.calls)
    for (const CallRecord &record : call.records)
      cuts[call.routine].insert(record.instruction);
  const InstanceTable table(stage);
  const StepWalker walker(stage, table);
  result.stepBases = walker.getStep().bases;
  for (uint32_t i = 0; i < stage.routines.size(); ++i) {
    const Routine &routine = stage.routines[i];
    result.routines.push_back(prepareList(
        {program, routine.body, routine.numArguments, walker, kernels},
        cuts[i]));
    result.routines.back().routine = i;
  }
  result.step = prepareList({program, stage.step, 0, walker, kernels}, {});
  const std::optional<uint32_t> update = findUpdate(stage);
  while (result.updateItem < result.step.items.size() &&
         result.step.items[result.updateItem].begin != update)
    ++result.updateItem;
  if (debugsMemory)
    result.poison = std::make_unique<PoisonPlan>(stage);
  return result;
}

} // namespace mf::runner
