//===- MessageLifetimes.cpp - When messages are in memory -----------------===//

#include "passes/plan-memory/MessageLifetimes.h"

using namespace mlir;
using namespace mf;
using namespace mf::passes;
using memory::StepMoment;

Value mf::passes::getRootBuffer(Value value) {
  while (auto view = value.getDefiningOp<ascend::ViewOp>())
    value = view.getSource();
  return value;
}

StringRef mf::passes::getComputeStream(ascend::ProgramOp program) {
  for (auto stream : program.getBody().getOps<ascend::StreamOp>())
    if (stream.getKind() == ascend::StreamKind::Compute)
      return stream.getSymName();
  return {};
}

MessageLifetimes::MessageLifetimes(ascend::ProgramOp program,
                                   const CallTable &calls, int64_t numCalls)
    : compute(clock.getStream(getComputeStream(program))), calls(calls),
      numCalls(numCalls) {
  int64_t count = 0;
  for (int64_t call = 0; call < numCalls; ++call) {
    firstInstructions.push_back(count);
    count += calls.getLength(call);
  }
}

void MessageLifetimes::extend(Value message, StepMoment begin, StepMoment end) {
  auto [entry, isNew] = ranges.insert({message, {begin, end}});
  if (isNew)
    return;
  entry->second.first = std::min(entry->second.first, begin);
  entry->second.second = std::max(entry->second.second, end);
}

void MessageLifetimes::settle(int64_t position) {
  for (auto &[stream, accesses] : pending) {
    int64_t known = clock.getKnown(compute, stream);
    auto firstOpen = llvm::find_if(
        accesses, [&](const auto &access) { return access.first > known; });
    for (auto access = accesses.begin(); access != firstOpen; ++access)
      extend(access->second, {position, 0}, {position, 0});
    accesses.erase(accesses.begin(), firstOpen);
  }
}

void MessageLifetimes::settleArguments(ascend::CallOp call) {
  DenseSet<Value> arguments;
  for (Value argument : call.getArguments()) {
    if (isa<ascend::EventType>(argument.getType()))
      clock.wait(compute, argument);
    else
      arguments.insert(getRootBuffer(argument));
  }
  for (auto &[stream, accesses] : pending) {
    int64_t known = clock.getKnown(compute, stream);
    llvm::erase_if(accesses, [&](const auto &access) {
      return access.first <= known && arguments.contains(access.second);
    });
  }
}

/// When a transfer that is issued now may start: beside the last instruction of
/// the compute stream that is known to be over. What a later one waits for
/// before it starts may still be going on.
StepMoment MessageLifetimes::getStart(unsigned stream) const {
  int64_t numDone = clock.getKnown(stream, compute);
  if (numDone == 0)
    return {0, 0};
  int64_t last = numDone - 1;
  int64_t call = llvm::upper_bound(firstInstructions, last) -
                 firstInstructions.begin() - 1;
  return {call, last - firstInstructions[call]};
}

void MessageLifetimes::visitTransfer(Operation &op, StringRef streamName) {
  unsigned stream = clock.getStream(streamName);
  StepMoment start = getStart(stream);
  int64_t number = clock.issue(stream);
  for (Value operand : op.getOperands()) {
    Value root = getRootBuffer(operand);
    if (!root.getDefiningOp<ascend::MessageOp>())
      continue;
    extend(root, start, start);
    pending[stream].push_back({number, root});
  }
}

/// A transfer with the events that it waits for and records itself.
template <typename TransferOp>
void MessageLifetimes::visitTransfer(TransferOp op) {
  unsigned stream = clock.getStream(op.getStream());
  for (Value event : op.getAfter())
    clock.wait(stream, event);
  visitTransfer(*op, op.getStream());
  if (op.getDone())
    clock.record(stream, op.getDone());
}

void MessageLifetimes::visitCall(ascend::CallOp call) {
  for (Value event : call.getAfter())
    clock.wait(compute, event);
  settle(position);
  for (auto [index, argument] : llvm::enumerate(call.getArguments()))
    if (Value root = getRootBuffer(argument);
        root.getDefiningOp<ascend::MessageOp>()) {
      auto [begin, end] = calls.getUse(position, index);
      extend(root, {position, begin}, {position, end});
    }
  int64_t before = firstInstructions[position];
  clock.advance(compute, before);
  ArrayRef<int64_t> records = call.getRecords().value_or(ArrayRef<int64_t>());
  for (auto [launches, event] : llvm::zip(records, call.getEvents())) {
    clock.advance(compute, before + calls.getLaunch(position, launches) + 1);
    clock.record(compute, event);
  }
  clock.advance(compute, before + calls.getLength(position));
  settleArguments(call);
  ++position;
}

void MessageLifetimes::visit(Operation &op) {
  if (auto call = dyn_cast<ascend::CallOp>(op))
    visitCall(call);
  else if (auto record = dyn_cast<ascend::RecordOp>(op))
    clock.record(clock.getStream(record.getStream()), record.getEvent());
  else if (auto wait = dyn_cast<ascend::WaitOp>(op))
    clock.wait(clock.getStream(wait.getStream()), wait.getEvent());
  else if (auto copy = dyn_cast<ascend::CopyOp>(op))
    visitTransfer(copy);
  else if (auto send = dyn_cast<ascend::SendOp>(op))
    visitTransfer(send);
  else if (auto receive = dyn_cast<ascend::ReceiveOp>(op))
    visitTransfer(receive);
  else if (auto reduce = dyn_cast<ascend::AllReduceOp>(op))
    visitTransfer(op, reduce.getStream());
}

void MessageLifetimes::run(ascend::StepOp step) {
  for (Operation &op : step.getBody().front())
    visit(op);
  for (auto &[stream, accesses] : pending)
    for (auto &[number, message] : accesses)
      extend(message, {numCalls, 0}, {numCalls, 0});
}
