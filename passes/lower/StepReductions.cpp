//===- StepReductions.cpp - Gradient sums during the last backward --------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/lower/StepReductions.h"
#include "passes/lower/PlainReduction.h"

using namespace mlir;
using namespace mf;
using namespace mf::passes;

/// The reduction follows the last call that adds to the gradient, and within it
/// the last launch that does.
void StepReductions::placeOne(const ProgramBuilder &program,
                              ArrayRef<StepCall> calls,
                              ir::ReduceGradientOp op) {
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

void StepReductions::place(ProgramBuilder &program, ArrayRef<StepCall> calls) {
  reductions.resize(calls.size());
  for (auto update : program.getModel().getBody().getOps<ir::UpdateOp>()) {
    if (static_cast<int64_t>(update.getStage()) != program.getStage())
      continue;
    for (auto op : update.getBody().getOps<ir::ReduceGradientOp>())
      if (findPlainReduction(program, op))
        placeOne(program, calls, op);
  }
}

SmallVector<int64_t> StepReductions::getLaunches(size_t call) const {
  return llvm::map_to_vector(
      reductions[call],
      [](const StepReduction &reduction) { return reduction.launches; });
}

void StepReductions::emitOne(StepBlock &step, ir::ReduceGradientOp reduction,
                             Value ready) {
  ProgramBuilder &program = step.getProgram();
  step.setLoc(reduction.getLoc());
  MLIRContext *context = step.getContext();
  auto sums = findPlainReduction(program, reduction);
  for (const StateCollective &sum : *sums) {
    const ir::EmittedCollective &collective = sum.collective;
    StringRef stream =
        program.getStream((names::collective + "." + collective.channel).str(),
                          ascend::StreamKind::Communication);
    auto axes = llvm::map_to_vector(collective.axes, [&](StringRef axis) {
      return StringAttr::get(context, axis);
    });
    Value input =
        step.getGlobal(program.getState(sum.input, reduction.getParam()));
    Value output =
        step.getGlobal(program.getState(sum.output, reduction.getParam()));
    auto op = ascend::CollectiveOp::create(
        step, step.getEventType(), ascend::getDialectKind(collective.kind),
        input, output,
        /*send=*/Value(), /*receive=*/Value(),
        ascend::GroupAttr::get(context, axes, collective.stages),
        ascend::getDialectReduction(collective.reduction),
        /*fill=*/FloatAttr(), collective.channel, StringAttr(), stream, ready);
    ready = op.getDone();
    // A stream works in order, so its last work ends last.
    ends[stream] = ready;
  }
}

void StepReductions::emitBeside(StepBlock &step, size_t call,
                                const LaunchEvents &events) {
  for (const StepReduction &reduction : reductions[call])
    emitOne(step, reduction.op, events.getAfter(reduction.launches));
}
