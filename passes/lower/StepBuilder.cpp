//===- StepBuilder.cpp - Schedules to steps -------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/lower/StepBuilder.h"
#include "dialects/mf/CertificateAttribute.h"
#include "passes/lower/LowerFunctions.h"
#include "passes/lower/StepPrefetch.h"
#include "passes/lower/StepReductions.h"
#include "passes/lower/StepTransfers.h"

using namespace mlir;
using namespace mf;
using namespace mf::passes;
using ascend::Role;

namespace {

/// Emits the calls of a step in order, and with each call the work of other
/// streams that runs concurrently.
class StepBuilder {
public:
  StepBuilder(StepBlock &step, StepCalls made)
      : step(step), values(std::move(made.values)),
        calls(std::move(made.calls)) {}

  /// Determines when transfers, copies and sums are issued.
  LogicalResult place();
  void emit();

private:
  void emitInputsOf(size_t index);
  LaunchEvents emitCall(size_t index);
  void emitOutgoing(size_t index);

  StepBlock &step;
  /// The buffers of the schedule's tensors.
  DenseMap<Value, Value> values;
  std::vector<StepCall> calls;
  StepTransfers transfers;
  EarlyCopies copies;
  StepReductions reductions;
  /// For each call, the events that must be over before it.
  std::vector<SmallVector<Value>> before;
  /// The event that was recorded after the last call; null if none was.
  Value done;
};

} // namespace

LogicalResult StepBuilder::place() {
  if (failed(transfers.place(calls)))
    return failure();
  const std::vector<size_t> firsts = cutCalls(step, calls);
  transfers.renumber(firsts, calls.size());
  copies.place(step, calls);
  reductions.place(step.getProgram(), calls);
  before.resize(calls.size());
  return success();
}

/// Copies the values to the device that the update reads and that change with
/// every step.
void StepBuilder::emitInputsOf(size_t index) {
  if (index >= calls.size() || !calls[index].isUpdate)
    return;
  step.setLoc(calls[index].loc);
  // Both copies are on one stream, so the second one ends last.
  emitInputCopy(step, calls[index].buffers[0], Role::LearningRate);
  before[index].push_back(
      emitInputCopy(step, calls[index].buffers[1], Role::StepNumber));
}

LaunchEvents StepBuilder::emitCall(size_t index) {
  StepCall &call = calls[index];
  LaunchEvents recorded{copies.getKernels(index), {}};
  llvm::append_range(recorded.launches, reductions.getLaunches(index));
  llvm::sort(recorded.launches);
  recorded.launches.erase(llvm::unique(recorded.launches),
                          recorded.launches.end());
  SmallVector<Value> arguments;
  llvm::append_range(arguments, call.buffers);
  llvm::append_range(arguments, call.events);
  const SmallVector<Type> events(recorded.launches.size(), step.getEventType());
  auto op = ascend::CallOp::create(
      step, events, FlatSymbolRefAttr::get(step.getContext(), call.routine),
      arguments, call.frame, call.microBatch, IntegerAttr(),
      events.empty() ? DenseI64ArrayAttr()
                     : step.getDenseI64ArrayAttr(recorded.launches),
      before[index]);
  recorded.events = op.getEvents();
  return recorded;
}

/// Records the end of a call if a transfer waits for it, and sends what the
/// call has written.
void StepBuilder::emitOutgoing(size_t index) {
  const StepCall &call = calls[index];
  step.setLoc(call.loc);
  const bool isAwaited =
      index + 1 < calls.size() && transfers.areBefore(index + 1);
  done = isAwaited || !call.outgoing.empty() ? step.record(names::compute)
                                             : Value();
  for (Operation *task : call.outgoing) {
    auto send = cast<ir::SendOp>(task);
    const Value sent =
        emitSend(step, send, values.lookup(send.getValue()), done);
    if (std::optional<size_t> next = transfers.getCallAfter(send))
      before[*next].push_back(sent);
  }
  for (StringRef stream : call.streams)
    before[*call.next].push_back(step.record(stream));
}

void StepBuilder::emit() {
  // The first call reads the scale, and the update reads it again.
  if (Value scale = step.findGlobal("loss_scale"))
    before[0].push_back(emitInputCopy(step, scale, Role::LossScale));
  emitInputsOf(0);
  for (size_t index = 0; index < calls.size(); ++index) {
    const StepCall &call = calls[index];
    transfers.emitBefore(index, done, step, values);
    emitInputsOf(index + 1);
    step.setLoc(call.loc);
    for (Operation *task : call.incoming)
      before[index].push_back(transfers.getArrival(task));
    copies.emitBefore(step, calls, index);
    if (call.isUpdate)
      for (auto [stream, end] : reductions.getEnds())
        before[index].push_back(end);
    const LaunchEvents events = emitCall(index);
    copies.emitBeside(step, calls, index, events);
    reductions.emitBeside(step, index, events);
    emitOutgoing(index);
  }
  emitReports(step);
}

/// Returns the certificate of the stage's update; null if it has none.
static DictionaryAttr getUpdateCertificate(ProgramBuilder &program) {
  for (auto update : program.getModel().getBody().getOps<ir::UpdateOp>())
    if (static_cast<int64_t>(update.getStage()) == program.getStage())
      return update->getAttrOfType<DictionaryAttr>(ir::certificateAttribute);
  return {};
}

LogicalResult mf::passes::buildStep(ProgramBuilder &program,
                                    ir::ScheduleOp schedule) {
  StepBlock step(program, schedule.getLoc());
  Block &body = program.getProgram().getBody().front();
  step.setInsertionPointToEnd(&body);
  auto op = ascend::StepOp::create(step, getUpdateCertificate(program));
  step.createBlock(&op.getBody());
  FailureOr<StepCalls> made = collectCalls(step, schedule);
  if (failed(made))
    return failure();
  if (made->scaledGradient)
    step.getGlobal(getLossScale(program));
  std::vector<StepCall> &calls = made->calls;
  if (buildBegin(program, made->hasLoss, made->scaledGradient))
    calls.insert(calls.begin(), StepCall{names::begin.str(), step.getLoc()});
  if (made->hasLoss) {
    buildFinish(program);
    calls.push_back(StepCall{names::finish.str(), step.getLoc()});
  }
  StepBuilder builder(step, std::move(*made));
  if (failed(builder.place()))
    return failure();
  builder.emit();
  // Routines that were made last follow the step. They are easier to read
  // before it.
  op->moveBefore(&body, body.end());
  return success();
}
