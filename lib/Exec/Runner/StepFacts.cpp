//===- StepFacts.cpp - Properties of a program's step ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "StepFacts.h"
#include "mf/Exec/Ranks/SliceRuns.h"

using namespace mf::program;

namespace mf::runner {

bool hasStatic(const Program &program, Role role) {
  for (const StageProgram &stage : program.stages)
    for (const Static &buffer : stage.statics)
      if (buffer.role == role)
        return true;
  return false;
}

bool usesHostStatic(const Program &program, Role role) {
  for (const StageProgram &stage : program.stages)
    for (const Static &buffer : stage.statics)
      if (buffer.role == role && buffer.space == Space::Host)
        return true;
  return false;
}

int64_t countBatchRows(const Program &program) {
  for (const StageProgram &stage : program.stages) {
    int64_t elements = 0;
    for (const Static &buffer : stage.statics)
      if (buffer.role == Role::Tokens && buffer.space == Space::Host)
        elements += ranks::getWholeShape(buffer).getNumElements();
    if (elements > 0)
      return elements / std::max<int64_t>(1, program.microBatches *
                                                 program.sequenceLength);
  }
  return program.microBatchSize;
}

double countFlops(const Program &program) {
  double flops = 0;
  for (const StageProgram &stage : program.stages) {
    std::vector<double> ofRoutine;
    auto count = [&](const InstructionList &list) {
      double sum = 0;
      for (const Instruction &instruction : list.instructions)
        if (instruction.work == Work::Kernel)
          sum += static_cast<double>(program.kernels[instruction.index].flops);
        else if (const Call *call = list.getCall(instruction))
          sum += ofRoutine[call->routine];
      return sum;
    };
    for (const Routine &routine : stage.routines)
      ofRoutine.push_back(count(routine.body));
    flops += count(stage.step);
  }
  return flops * static_cast<double>(program.mesh.getRanksPerStage());
}

} // namespace mf::runner
