//===- StepFacts.cpp - What a program says about its step -----------------===//

#include "StepFacts.h"

using namespace mf::program;

namespace mf::runner {

bool usesHostStatic(const Program &program, Role role) {
  for (const Rank &rank : program.ranks)
    for (const Static &buffer : rank.statics)
      if (buffer.role == role && buffer.space == Space::Host)
        return true;
  return false;
}

double countFlops(const Program &program) {
  double flops = 0;
  for (const Rank &rank : program.ranks) {
    std::vector<double> ofRoutine;
    auto count = [](const InstructionList &list) {
      double sum = 0;
      for (const Instruction &instruction : list.instructions)
        if (const auto *launch = std::get_if<Launch>(&instruction.action))
          sum += static_cast<double>(launch->flops);
      return sum;
    };
    ofRoutine.reserve(rank.routines.size());
    for (const Routine &routine : rank.routines)
      ofRoutine.push_back(count(routine.body));
    flops += count(rank.step);
    for (const Instruction &instruction : rank.step.instructions)
      if (const auto *call = std::get_if<Call>(&instruction.action))
        flops += ofRoutine[call->routine];
  }
  return flops;
}

} // namespace mf::runner
