//===- PlainReduction.cpp - Gradient sums without launches ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/lower/PlainReduction.h"

using namespace mlir;
using namespace mf;
using namespace mf::passes;

namespace {

/// Records collectives between states, and whether anything else is emitted.
class ReductionRecorder : public ir::LaunchEmitter {
public:
  explicit ReductionRecorder(const ProgramBuilder &program)
      : program(program) {}

  ir::ParamOp getParam(StringRef parameter) override {
    return program.getParam(parameter);
  }
  ir::EmittedBuffer getState(ir::State state, StringRef) override {
    return ir::EmittedBuffer(&states[static_cast<size_t>(state)]);
  }
  void communicate(const ir::EmittedCollective &collective) override {
    std::optional<ir::State> input = findState(collective.input);
    std::optional<ir::State> output = findState(collective.output);
    isPlain &= input && output;
    if (isPlain)
      collectives.push_back({collective, *input, *output});
  }
  void launch(StringRef, ArrayRef<ir::EmittedBuffer>,
              ArrayRef<ir::EmittedBuffer>, DictionaryAttr) override {
    isPlain = false;
  }
  ir::EmittedBuffer getBuffer(Value) override { return {}; }
  ir::EmittedBuffer createBuffer(Value) override { return {}; }
  ir::EmittedBuffer createTemporary(RankedTensorType) override { return {}; }
  ir::EmittedBuffer getCoordinate(ArrayAttr) override { return {}; }
  ir::EmittedBuffer getReport(StringRef, RankedTensorType) override {
    return {};
  }
  ir::EmittedBuffer getPart(ir::EmittedBuffer, int64_t,
                            RankedTensorType) override {
    return {};
  }

  bool isPlain = true;
  SmallVector<StateCollective> collectives;

private:
  const ProgramBuilder &program;

  /// Returns the state that a buffer represents. Such a buffer has a handle to
  /// the state's index.
  std::optional<ir::State> findState(ir::EmittedBuffer buffer) const {
    for (const auto &[number, state] : llvm::enumerate(states))
      if (buffer.getHandle() == &state)
        return static_cast<ir::State>(number);
    return std::nullopt;
  }

  std::array<char, static_cast<size_t>(ir::State::Gathered) + 1> states{};
};

} // namespace

std::optional<SmallVector<StateCollective>>
mf::passes::findPlainReduction(const ProgramBuilder &program,
                               ir::ReduceGradientOp reduction) {
  if (program.getGradientPlaces(reduction.getParam()).empty())
    return std::nullopt;
  ReductionRecorder recorder(program);
  reduction.emitLaunches(recorder);
  if (!recorder.isPlain || recorder.collectives.empty())
    return std::nullopt;
  return std::move(recorder.collectives);
}
