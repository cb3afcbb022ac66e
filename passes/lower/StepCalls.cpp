//===- StepCalls.cpp - Tasks of a schedule to calls -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/lower/StepCalls.h"
#include "passes/lower/LowerFunctions.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mf;
using namespace mf::passes;
using ascend::Role;

namespace {

class CallCollector {
public:
  explicit CallCollector(StepBlock &step)
      : step(step), program(step.getProgram()) {}

  LogicalResult collect(ir::ScheduleOp schedule);
  StepCalls take() { return std::move(made); }

private:
  StepCall &addCall(StringRef routine, Location loc) {
    return made.calls.emplace_back(StepCall{routine.str(), loc});
  }
  LogicalResult collectTask(Operation *task);
  void collectForward(ir::RunForwardOp run);
  /// Collects a backward, one of its halves, or the recompute task for it.
  void collectBackward(StringRef routine, Operation *run,
                       IntegerAttr microBatch, Value frame,
                       ValueRange arguments);
  void collectUpdate(ir::RunUpdateOp run);
  void addLossGradient(ir::LossGradientOp loss);
  /// Passes a buffer that a call reads: that of the call which made `input`, or
  /// a message for a received value.
  void addInput(StepCall &call, Value input);
  /// Passes new messages that a call writes.
  void addMessages(StepCall &call, ValueRange tensors);
  Value createMessage(Value tensor) {
    return step.createMessage(program.getBufferType(tensor.getType()));
  }

  StepBlock &step;
  ProgramBuilder &program;
  StepCalls made;
};

} // namespace

void CallCollector::addMessages(StepCall &call, ValueRange tensors) {
  for (Value tensor : tensors) {
    made.values[tensor] = createMessage(tensor);
    call.buffers.push_back(made.values[tensor]);
  }
}

void CallCollector::addInput(StepCall &call, Value input) {
  Value &buffer = made.values[input];
  if (!buffer) {
    buffer = createMessage(input);
    call.incoming.push_back(input.getDefiningOp());
  }
  call.buffers.push_back(buffer);
}

void CallCollector::collectForward(ir::RunForwardOp run) {
  StepCall &call = addCall(run.getForward(), run.getLoc());
  call.microBatch = run.getMicroBatchAttr();
  call.isPaired = run.getPaired();
  auto layout = FlatSymbolRefAttr::get(program.getContext(),
                                       getLayoutName(run.getForward()));
  call.frame = ascend::FrameOp::create(
      step, run.getLoc(), ascend::FrameType::get(program.getContext(), layout),
      layout, run.getMicroBatchAttr(), DenseI64ArrayAttr(), IntegerAttr());
  made.values[run.getFrame()] = call.frame;
  for (Value input : run.getInputs())
    addInput(call, input);
  for (Value output : run.getOutputs())
    if (ir::isLoss(output.getType()))
      made.hasLoss = true;
    else
      addMessages(call, output);
}

void CallCollector::addLossGradient(ir::LossGradientOp loss) {
  if (loss.getScaled()) {
    made.scaledGradient = loss.getValueAttr();
    made.values[loss.getResult()] = step.getGlobal(getScaledGradient(program));
    return;
  }
  auto init = ir::InitAttr::get(program.getContext(), ir::InitKind::Constant,
                                loss.getValue().convertToDouble());
  made.values[loss.getResult()] = step.getGlobal(
      program.getStatic("loss_gradient", program.getBufferType(loss.getType()),
                        Role::Constant, {}, init));
}

void CallCollector::collectBackward(StringRef routine, Operation *run,
                                    IntegerAttr microBatch, Value frame,
                                    ValueRange arguments) {
  StepCall &call = addCall(routine, run->getLoc());
  call.microBatch = microBatch;
  call.frame = made.values.lookup(frame);
  for (Value argument : arguments)
    addInput(call, argument);
  addMessages(call, run->getResults());
}

void CallCollector::collectUpdate(ir::RunUpdateOp run) {
  ascend::BufferType type = program.getScalarType();
  auto update = cast<ir::UpdateOp>(SymbolTable::lookupSymbolIn(
      program.getModel(), run.getUpdateAttr().getAttr()));
  if (program.hasRoutine(names::reduce))
    addCall(names::reduce, run.getLoc());
  StepCall &call = addCall(names::update, run.getLoc());
  call.isUpdate = true;
  // The rates are a scalar, or have an element for each group of parameters.
  auto rates = cast<RankedTensorType>(update.getArgument(0).getType());
  call.buffers = {
      step.getGlobal(program.getStatic(
          "learning_rate", program.getBufferType(rates), Role::LearningRate)),
      step.getGlobal(program.getStatic("step_number", type, Role::StepNumber))};
  if (update.getNumArguments() > call.buffers.size())
    call.buffers.push_back(step.getGlobal(getLossScale(program)));
}

LogicalResult CallCollector::collectTask(Operation *task) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(task)
      .Case([&](ir::RunForwardOp run) {
        collectForward(run);
        return success();
      })
      .Case([&](ir::RunRecomputeOp run) {
        collectBackward(run.getRecompute(), run, run.getMicroBatchAttr(),
                        run.getFrame(), run.getArguments());
        return success();
      })
      .Case([&](ir::RunBackwardOp run) {
        collectBackward(run.getBackward(), run, run.getMicroBatchAttr(),
                        run.getFrame(), run.getArguments());
        made.calls.back().isPaired = run.getPaired();
        return success();
      })
      .Case([&](ir::RunBackwardWeightsOp run) {
        collectBackward(run.getWeights(), run, run.getMicroBatchAttr(),
                        run.getFrame(), run.getArguments());
        return success();
      })
      .Case([&](ir::RunUpdateOp run) {
        collectUpdate(run);
        return success();
      })
      .Case([&](ir::SendOp send) {
        made.calls.back().outgoing.push_back(send);
        return success();
      })
      .Case([&](ir::LossGradientOp loss) {
        addLossGradient(loss);
        return success();
      })
      .Case<ir::LoadOp, ir::ReceiveOp, ir::AccumulateLossOp>(
          [](Operation *) { return success(); })
      .Default([](Operation *op) {
        return op->emitOpError("is not a task of a schedule");
      });
}

LogicalResult CallCollector::collect(ir::ScheduleOp schedule) {
  for (Operation &task : schedule.getBody().front())
    if (failed(collectTask(&task)))
      return failure();
  return success();
}

FailureOr<StepCalls> mf::passes::collectCalls(StepBlock &step,
                                              ir::ScheduleOp schedule) {
  CallCollector collector(step);
  if (failed(collector.collect(schedule)))
    return failure();
  return collector.take();
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// Returns the calls of the parts of a call's routine. Their `next` counts from
/// the first of them.
static std::vector<StepCall> cutCall(StepBlock &step, const StepCall &call) {
  const RoutineParts *parts = step.getProgram().getParts(call.routine);
  if (!parts)
    return {call};
  step.setLoc(call.loc);
  const auto passed =
      llvm::map_to_vector(parts->passed, [&](Type type) -> Value {
        return step.createMessage(type);
      });
  std::vector<StepCall> made;
  for (const RoutinePart &part : parts->parts) {
    StepCall &ofPart = made.emplace_back(call);
    ofPart.routine = part.name;
    for (int64_t number : part.passed)
      ofPart.buffers.push_back(passed[number]);
    ofPart.streams = part.streams;
    if (made.size() > 1)
      ofPart.incoming.clear();
    if (made.size() < parts->parts.size()) {
      ofPart.outgoing.clear();
      ofPart.next = made.size();
    }
  }
  return made;
}

std::vector<size_t> mf::passes::cutCalls(StepBlock &step,
                                         std::vector<StepCall> &calls) {
  std::vector<StepCall> cut;
  // For each original call, the index of the first call that replaces it.
  std::vector<size_t> firsts(calls.size());
  // Appends the next part of a call. The indices of the parts that follow are
  // only known when these are appended.
  struct Turn {
    size_t call;
    std::vector<StepCall> parts;
    size_t taken = 0;
    size_t last = 0;
  };
  auto takeTurn = [&](Turn &turn) {
    if (turn.taken == turn.parts.size())
      return false;
    if (turn.taken == 0)
      firsts[turn.call] = cut.size();
    else
      cut[turn.last].next = cut.size();
    turn.last = cut.size();
    cut.push_back(std::move(turn.parts[turn.taken++]));
    return true;
  };
  for (size_t index = 0; index < calls.size();) {
    Turn first{index, cutCall(step, calls[index])};
    std::vector<Turn> others;
    for (; calls[index].isPaired; ++index)
      others.push_back({index + 1, cutCall(step, calls[index + 1])});
    ++index;
    // The halves of a backward follow one another.
    while (takeTurn(first))
      for (Turn &other : others)
        if (takeTurn(other))
          break;
    for (Turn &other : others)
      while (takeTurn(other)) {
      }
  }
  calls = std::move(cut);
  return firsts;
}
