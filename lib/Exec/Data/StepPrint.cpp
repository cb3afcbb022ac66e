//===- StepPrint.cpp - Prints a training run's lines for a step -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Data/StepPrint.h"
#include "mf/Exec/Data/LossMonitor.h"

namespace mf {

void printStep(const StepMeasurement &step, const StepPrintOptions &options,
               llvm::raw_ostream &os) {
  StepReport line;
  line.step = step.step;
  line.stepsPerEpoch = options.steps;
  line.loss = step.loss;
  line.lossParts = step.lossParts;
  line.stepMilliseconds = step.seconds * 1e3;
  line.learningRate = step.learningRate;
  line.lossScale = step.lossScale;
  line.globalNorm = step.globalNorm;
  line.overflow = step.overflow;
  line.teraflopsPerRank = options.teraflopsPerRank;
  os << formatStepLine(line) << '\n';
  for (const std::string &text : formatDropRates(step.dropRates))
    os << text << '\n';
  if (options.sequencesPerStep)
    os << formatProgressLine(line, *options.sequencesPerStep) << '\n';
  os.flush();
}

} // namespace mf
