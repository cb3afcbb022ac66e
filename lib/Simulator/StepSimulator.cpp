//===- StepSimulator.cpp ---===//

#include "mf/Simulator/StepSimulator.h"

namespace mf::simulator {

llvm::Expected<timeline::StepTimeline>
simulate(const program::Program &program, const target::Target &target,
         const SimulationOptions &options) {
  return llvm::createStringError("not there yet");
}

} // namespace mf::simulator
