//===- ExpandSteps.cpp - Kernels that run as one, one by one --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/cann/ExpandSteps.h"
#include "dialects/ascend/LaunchNumbers.h"
#include "mf/Program/Signatures/KernelSignature.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mf;

namespace mf::passes {

/// Returns the steps of a launch, or null if its kernel has none.
static ascend::StepsAttr getSteps(ascend::LaunchOp launch) {
  for (NamedAttribute named : launch.getKernelAttributes())
    if (auto steps = dyn_cast<ascend::StepsAttr>(named.getValue()))
      return steps;
  return {};
}

/// Returns the buffer that a value is a view of, if the view has the whole
/// buffer in another shape. Returns the value itself if it is a part of a
/// buffer.
static Value getWhole(Value value) {
  while (auto view = value.getDefiningOp<ascend::ViewOp>()) {
    if (view.getByteOffset() != 0)
      break;
    value = view.getSource();
  }
  return value;
}

namespace {

/// Replaces one launch by launches of its steps.
class StepsExpander {
public:
  StepsExpander(ascend::LaunchOp launch, ascend::StepsAttr steps)
      : launch(launch), steps(steps), last(steps.getKernels().size() - 1) {}

  /// Returns true if the last step may write to the output of the launch. A
  /// step that reads the same memory may not, unless its kernel lets the two
  /// share it.
  bool isPossible() {
    const KernelSignature *signature =
        findKernelSignature(steps.getKernels()[last]);
    const Value output = getWhole(launch.getOutputs().front());
    for (auto [position, operand] :
         llvm::enumerate(steps.getOperands()[last].asArrayRef()))
      if (operand >= 0 && getWhole(launch.getInputs()[operand]) == output &&
          !(signature && signature->mayShareMemory(0, position)))
        return false;
    return true;
  }

  void run(ExpandedSteps &expanded) {
    OpBuilder builder(launch);
    SmallVector<Value> results;
    for (size_t step = 0; step <= last; ++step) {
      SmallVector<Value> inputs;
      for (const int64_t operand : steps.getOperands()[step].asArrayRef())
        inputs.push_back(operand < 0 ? results[~operand]
                                     : launch.getInputs()[operand]);
      results.push_back(
          step == last ? launch.getOutputs().front()
                       : makeBuffer(builder, steps.getTypes()[step], expanded));
      ascend::LaunchOp::create(builder, launch.getLoc(),
                               steps.getKernels()[step], inputs, results.back(),
                               Value(), steps.getAttributes()[step],
                               launch.getCellAttr());
    }
    ++expanded.launches;
    expanded.steps += static_cast<int64_t>(last) + 1;
    launch.erase();
  }

private:
  Value makeBuffer(OpBuilder &builder, RankedTensorType tensor,
                   ExpandedSteps &expanded) {
    auto type = ascend::BufferType::get(builder.getContext(), tensor,
                                        ascend::Space::Hbm);
    expanded.bufferBytes += type.getBytes();
    return ascend::AllocOp::create(builder, launch.getLoc(), type,
                                   ascend::RegionAttr(), IntegerAttr());
  }

  ascend::LaunchOp launch;
  ascend::StepsAttr steps;
  size_t last;
};

} // namespace

ExpandedSteps expandSteps(ascend::ProgramOp program) {
  ExpandedSteps expanded;
  llvm::StringMap<SmallVector<int64_t>> numbers;
  for (auto routine : program.getBody().getOps<ascend::RoutineOp>()) {
    SmallVector<int64_t> &ofRoutine = numbers[routine.getSymName()];
    ofRoutine.push_back(0);
    for (auto launch : llvm::make_early_inc_range(
             routine.getBody().getOps<ascend::LaunchOp>())) {
      const int64_t before = expanded.steps;
      if (ascend::StepsAttr steps = getSteps(launch)) {
        StepsExpander expander(launch, steps);
        if (expander.isPossible())
          expander.run(expanded);
      }
      ofRoutine.push_back(ofRoutine.back() +
                          std::max<int64_t>(expanded.steps - before, 1));
    }
  }
  if (expanded.launches > 0)
    program.walk([&](ascend::CallOp call) {
      ascend::renumberRecords(call, numbers[call.getRoutine()]);
    });
  return expanded;
}

} // namespace mf::passes
