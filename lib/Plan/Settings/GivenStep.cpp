//===- GivenStep.cpp - The step of an unchanged YAML ----------------------===//

#include "lib/Plan/Settings/GivenStep.h"
#include "lib/Plan/Settings/PipelineShape.h"

using namespace mf::planner;
using llvm::Expected;

Expected<GivenStep> mf::planner::compileGiven(const PlanRequest &request) {
  if (request.progress)
    request.progress("compiling the given settings");
  Expected<CompiledStep> step =
      compileStep(request.input, request.yaml, PlanEffort::Quick);
  if (!step)
    return step.takeError();
  Expected<PipelineShape> shape =
      readShape(request.input, request.yaml, step->layers.size());
  if (!shape)
    return shape.takeError();
  GivenStep given;
  given.limitBytes = request.limitBytes.value_or(shape->memoryLimit);
  given.step = std::move(*step);
  return given;
}
