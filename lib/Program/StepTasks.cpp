//===- StepTasks.cpp - The tasks among a step's calls ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/StepTasks.h"
#include "mf/Program/LocatedError.h"
#include "llvm/ADT/STLExtras.h"

namespace mf::program {

using schedule::Phase;

llvm::Expected<std::vector<StepTask>> findTasks(const StageProgram &stage) {
  std::vector<StepTask> tasks;
  std::vector<std::vector<size_t>> tasksOfFrame(stage.frames.size());
  for (auto [position, instruction] :
       llvm::enumerate(stage.step.instructions)) {
    const Call *call = stage.step.getCall(instruction);
    if (!call || !call->frame)
      continue;
    const Frame &frame = stage.frames[*call->frame];
    const Routine &routine = stage.routines[call->routine];
    std::vector<size_t> &ofFrame = tasksOfFrame[*call->frame];
    if (!routine.continues) {
      ofFrame.push_back(tasks.size());
      tasks.push_back({stage.layouts[frame.layout].chunk, frame.microBatch,
                       routine.recomputes ? Phase::Recompute : Phase::Forward});
    } else if (ofFrame.empty()) {
      return llvm::make_error<LocatedError>(
          instruction.location, "'" + routine.name +
                                    "' continues what no call before it on "
                                    "its frame has begun");
    }
    tasks[ofFrame.back()].calls.push_back(static_cast<uint32_t>(position));
  }
  for (auto [frame, numbers] : llvm::zip_equal(stage.frames, tasksOfFrame)) {
    llvm::erase_if(numbers, [&](size_t number) {
      return tasks[number].phase == Phase::Recompute;
    });
    if (numbers.size() > 3)
      return llvm::make_error<LocatedError>(
          frame.location,
          "a frame of '" + stage.layouts[frame.layout].name + "' is used by " +
              llvm::Twine(numbers.size()) +
              " calls, expected a forward, and a backward or its two halves");
    if (numbers.size() == 2)
      tasks[numbers[1]].phase = Phase::Backward;
    if (numbers.size() == 3) {
      tasks[numbers[1]].phase = Phase::InputGradient;
      tasks[numbers[2]].phase = Phase::WeightGradient;
    }
  }
  return tasks;
}

std::vector<int32_t> getTasksOfCalls(const StageProgram &stage,
                                     llvm::ArrayRef<StepTask> tasks) {
  std::vector<int32_t> numbers(stage.step.instructions.size(), -1);
  for (auto [number, task] : llvm::enumerate(tasks))
    for (uint32_t position : task.calls)
      numbers[position] = static_cast<int32_t>(number);
  return numbers;
}

} // namespace mf::program
