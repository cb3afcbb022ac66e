//===- PlanTraining.cpp - mf-plan train.yaml ------------------------------===//

#include "PlanTraining.h"

namespace mf::tools {

llvm::Error planTraining(const PlanOptions &options,
                         const std::atomic<bool> &stop) {
  return llvm::createStringError("'" + options.input +
                                 "': training YAMLs cannot be planned yet");
}

} // namespace mf::tools
