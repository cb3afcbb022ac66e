//===- StepReductions.cpp - Gradient sums during the last backward --------===//
//
// A sum over ranks that needs only collectives is issued by the step, after the
// launch of the last backward that completes the gradient. The update waits for
// it.
//
//===----------------------------------------------------------------------===//

#include "passes/lower/PlainReduction.h"
#include "passes/lower/StepBuilder.h"

using namespace mlir;
using namespace mf;
using namespace mf::passes;

/// The reduction follows the last call that adds to the gradient, and within it
/// the last launch that does.
void StepBuilder::placeReduction(ir::ReduceGradientOp op) {
  ArrayRef<GradientPlace> places = program.getGradientPlaces(op.getParam());
  for (size_t index = calls.size(); index-- > 0;) {
    std::optional<int64_t> launches;
    for (const GradientPlace &place : places)
      if (place.routine == calls[index].routine)
        launches = std::max(launches.value_or(0), place.launches);
    if (!launches)
      continue;
    // Reductions after the same launch stay in the order of the update.
    std::vector<StepReduction> &list = reductions[index];
    auto next = llvm::find_if(list, [&](const StepReduction &other) {
      return other.launches > *launches;
    });
    list.insert(next, {*launches, op});
    return;
  }
}

void StepBuilder::placeReductions() {
  reductions.resize(calls.size());
  for (auto update : program.getModel().getBody().getOps<ir::UpdateOp>()) {
    if (static_cast<int64_t>(update.getStage()) != program.getStage())
      continue;
    for (auto op : update.getBody().getOps<ir::ReduceGradientOp>())
      if (findPlainReduction(program, op))
        placeReduction(op);
  }
}

SmallVector<int64_t> StepBuilder::getRecords(size_t index) const {
  SmallVector<int64_t> records = getEarlyKernels(index);
  for (const StepReduction &reduction : reductions[index])
    records.push_back(reduction.launches);
  llvm::sort(records);
  records.erase(llvm::unique(records), records.end());
  return records;
}

void StepBuilder::emitReduction(ir::ReduceGradientOp reduction, Value ready) {
  loc = reduction.getLoc();
  MLIRContext *context = program.getContext();
  auto steps = findPlainReduction(program, reduction);
  for (const StateCollective &step : *steps) {
    const ir::EmittedCollective &collective = step.collective;
    StringRef stream =
        program.getStream((names::collective + "." + collective.channel).str(),
                          ascend::StreamKind::Communication);
    auto axes = llvm::map_to_vector(collective.axes, [&](StringRef axis) {
      return StringAttr::get(context, axis);
    });
    Value input = getGlobal(program.getState(step.input, reduction.getParam()));
    Value output =
        getGlobal(program.getState(step.output, reduction.getParam()));
    auto op = ascend::CollectiveOp::create(
        builder, loc, ascend::EventType::get(context),
        static_cast<ascend::CollectiveKind>(collective.kind), input, output,
        /*send=*/Value(), /*receive=*/Value(),
        ascend::GroupAttr::get(context, axes, collective.stages),
        static_cast<ascend::Reduction>(collective.reduction),
        /*fill=*/FloatAttr(), collective.channel, StringAttr(), stream, ready);
    ready = op.getDone();
    // A stream works in order, so its last work ends last.
    reduced[stream] = ready;
  }
}

void StepBuilder::emitReductionsIn(size_t index, ValueRange recorded) {
  SmallVector<int64_t> records = getRecords(index);
  for (const StepReduction &reduction : reductions[index])
    emitReduction(reduction.op,
                  recorded[llvm::lower_bound(records, reduction.launches) -
                           records.begin()]);
}
