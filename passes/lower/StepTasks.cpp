//===- StepTasks.cpp - Tasks of a schedule to calls -----------------------===//

#include "passes/lower/LowerFunctions.h"
#include "passes/lower/StepBuilder.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mf;
using namespace mf::passes;

Value StepBuilder::createMessage(Type tensor) {
  return ascend::MessageOp::create(builder, loc, program.getBufferType(tensor),
                                   IntegerAttr());
}

Value StepBuilder::getGlobal(ascend::StaticOp buffer) {
  Value &global = globals[buffer.getSymName()];
  if (!global)
    global = ascend::GlobalOp::create(builder, loc, buffer.getType(),
                                      buffer.getSymName());
  return global;
}

void StepBuilder::addMessages(Call &call, ValueRange tensors) {
  for (Value tensor : tensors) {
    values[tensor] = createMessage(tensor.getType());
    call.buffers.push_back(values[tensor]);
  }
}

void StepBuilder::addInput(Call &call, Value input) {
  Value &buffer = values[input];
  if (!buffer) {
    buffer = createMessage(input.getType());
    call.incoming.push_back(input.getDefiningOp());
  }
  call.buffers.push_back(buffer);
}

void StepBuilder::collectForward(ir::RunForwardOp run) {
  Call &call = calls.emplace_back(Call{run.getForward().str(), run.getLoc()});
  call.microBatch = run.getMicroBatchAttr();
  call.isPaired = run.getPaired();
  auto layout = FlatSymbolRefAttr::get(program.getContext(),
                                       getLayoutName(run.getForward()));
  call.frame = ascend::FrameOp::create(
      builder, run.getLoc(),
      ascend::FrameType::get(program.getContext(), layout), layout,
      run.getMicroBatchAttr(), DenseI64ArrayAttr(), IntegerAttr());
  values[run.getFrame()] = call.frame;
  for (Value input : run.getInputs())
    addInput(call, input);
  for (Value output : run.getOutputs())
    if (ir::isLoss(output.getType()))
      hasLoss = true;
    else
      addMessages(call, output);
}

void StepBuilder::addLossGradient(ir::LossGradientOp loss) {
  if (loss.getScaled()) {
    scaledGradient = loss.getValueAttr();
    values[loss.getResult()] = getGlobal(getScaledGradient(program));
    return;
  }
  auto init = ir::InitAttr::get(program.getContext(), ir::InitKind::Constant,
                                loss.getValue().convertToDouble());
  values[loss.getResult()] = getGlobal(
      program.getStatic("loss_gradient", program.getBufferType(loss.getType()),
                        Role::Constant, {}, init));
}

void StepBuilder::collectBackward(StringRef routine, Operation *run,
                                  IntegerAttr microBatch, Value frame,
                                  ValueRange arguments) {
  Call &call = calls.emplace_back(Call{routine.str(), run->getLoc()});
  call.microBatch = microBatch;
  call.frame = values.lookup(frame);
  for (Value argument : arguments)
    addInput(call, argument);
  addMessages(call, run->getResults());
}

void StepBuilder::collectUpdate(ir::RunUpdateOp run) {
  ascend::BufferType type = program.getScalarType();
  auto update = cast<ir::UpdateOp>(SymbolTable::lookupSymbolIn(
      program.getModel(), run.getUpdateAttr().getAttr()));
  if (program.hasRoutine(names::reduce))
    calls.emplace_back(Call{names::reduce.str(), run.getLoc()});
  Call &call = calls.emplace_back(Call{names::update.str(), run.getLoc()});
  call.isUpdate = true;
  // The rates are a scalar, or have an element for each group of parameters.
  auto rates = cast<RankedTensorType>(update.getArgument(0).getType());
  call.buffers = {
      getGlobal(program.getStatic("learning_rate", program.getBufferType(rates),
                                  Role::LearningRate)),
      getGlobal(program.getStatic("step_number", type, Role::StepNumber))};
  if (update.getNumArguments() > call.buffers.size())
    call.buffers.push_back(getGlobal(getLossScale(program)));
}

LogicalResult StepBuilder::collectTask(Operation *task) {
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
        calls.back().isPaired = run.getPaired();
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
        calls.back().outgoing.push_back(send);
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

LogicalResult StepBuilder::collect() {
  for (Operation &task : schedule.getBody().front())
    if (failed(collectTask(&task)))
      return failure();
  return success();
}
