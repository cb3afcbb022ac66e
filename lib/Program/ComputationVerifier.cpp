//===- ComputationVerifier.cpp - Checks that routines compute the model ---===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Compares what the routines of each chunk give to others with the chunk's
// certificate, frame by frame.
//
//===----------------------------------------------------------------------===//

#include "FrameVerifier.h"
#include "MessageVerifier.h"
#include "UpdateVerifier.h"
#include "mf/Program/Verifier.h"
#include "llvm/ADT/STLExtras.h"

using llvm::Error;

namespace mf::program {

static Error verifyStage(const Program &program, const StageProgram &stage) {
  if (!stage.computes &&
      llvm::none_of(stage.layouts, [](const FrameLayout &layout) {
        return layout.computes.has_value();
      }))
    return Error::success();
  const StaticTerms statics(program, stage);
  const std::vector<std::vector<FrameEvent>> events = findFrameEvents(stage);
  GradientCounts counts;
  for (const Frame &frame : stage.frames)
    if (const auto &computes = stage.layouts[frame.layout].computes)
      for (const auto *list : {&computes->gradients, &computes->largest})
        for (const CertifiedResult &result : *list)
          ++counts[result.name];
  // Frames with the same events hold the same terms, so one proof serves all of
  // them.
  std::vector<std::vector<const std::vector<FrameEvent> *>> proven(
      stage.layouts.size());
  for (auto [frame, ofFrame] : llvm::zip_equal(stage.frames, events)) {
    const FrameLayout &layout = stage.layouts[frame.layout];
    auto isAlike = [&, &ofFrame = ofFrame](const auto *other) {
      return *other == ofFrame;
    };
    if (!layout.computes || llvm::any_of(proven[frame.layout], isAlike))
      continue;
    if (Error error = verifyNamingMakers([&, &ofFrame = ofFrame] {
          return FrameVerifier(program, stage, statics, counts, layout,
                               ofFrame);
        }))
      return error;
    proven[frame.layout].push_back(&ofFrame);
  }
  return stage.computes ? verifyStep(program, stage, statics)
                        : Error::success();
}

Error verifyComputation(const Program &program) {
  for (const StageProgram &stage : program.stages)
    if (Error error = verifyStage(program, stage))
      return error;
  return verifyMessages(program);
}

} // namespace mf::program
