//===- AscendInstructions.cpp - Effects and checks of instructions --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The implementations of InstructionOpInterface.
//
//===----------------------------------------------------------------------===//

#include "dialects/ascend/AscendDialect.h"

using namespace mlir;
using namespace mf;
using namespace mf::ascend;

Cost mf::ascend::getAccessCost(InstructionOpInterface op) {
  SmallVector<BufferAccess> accesses;
  op.getAccesses(accesses);
  Cost cost;
  for (const BufferAccess &access : accesses)
    cost.bytes += cast<BufferType>(access.buffer.getType()).getBytes();
  return cost;
}

//===----------------------------------------------------------------------===//
// MLIR's memory effects
//===----------------------------------------------------------------------===//

namespace {

/// The streams of a device. The host issues instructions to them in the order
/// of the program, so no two instructions may change places.
struct StreamResource : SideEffects::Resource::Base<StreamResource> {
  StringRef getName() final { return "ascend.stream"; }
};

} // namespace

using Effects = SmallVectorImpl<MemoryEffects::EffectInstance>;

/// Adds the effects of an instruction's accesses to its operands, and that on
/// the streams.
static void addEffects(InstructionOpInterface op, Effects &effects) {
  SmallVector<BufferAccess> accesses;
  op.getAccesses(accesses);
  for (const BufferAccess &access : accesses) {
    OpOperand *operand =
        llvm::find_if(op->getOpOperands(), [&](OpOperand &candidate) {
          return candidate.get() == access.buffer;
        });
    if (readsMemory(access.access))
      effects.emplace_back(MemoryEffects::Read::get(), operand);
    if (writesMemory(access.access))
      effects.emplace_back(MemoryEffects::Write::get(), operand);
  }
  effects.emplace_back(MemoryEffects::Write::get(), StreamResource::get());
}

void LaunchOp::getEffects(Effects &effects) { addEffects(*this, effects); }
void RecordOp::getEffects(Effects &effects) { addEffects(*this, effects); }
void WaitOp::getEffects(Effects &effects) { addEffects(*this, effects); }
void CopyOp::getEffects(Effects &effects) { addEffects(*this, effects); }
void SendOp::getEffects(Effects &effects) { addEffects(*this, effects); }
void ReceiveOp::getEffects(Effects &effects) { addEffects(*this, effects); }
void CollectiveOp::getEffects(Effects &effects) { addEffects(*this, effects); }

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

WorkKind LaunchOp::getWork() { return WorkKind::Kernel; }
StringRef LaunchOp::getCellName() { return getCell().value_or(""); }
FlatSymbolRefAttr LaunchOp::getIssueStream() { return {}; }
ValueRange LaunchOp::getAwaitedEvents() { return {}; }
Value LaunchOp::getRecordedEvent() { return {}; }

void LaunchOp::getAccesses(SmallVectorImpl<BufferAccess> &accesses) {
  const KernelSignature *signature = findKernelSignature(getKernel());
  for (auto [index, input] : llvm::enumerate(getInputs()))
    accesses.push_back(
        {input, signature ? signature->getInput(index).access : Access::In});
  for (auto [index, output] : llvm::enumerate(getOutputs()))
    accesses.push_back({output, signature ? signature->getOutput(index).access
                                          : Access::Updated});
  if (getWorkspace())
    accesses.push_back({getWorkspace(), Access::Out});
}

Cost LaunchOp::getCost() {
  const KernelSignature *signature = findKernelSignature(getKernel());
  std::optional<KernelSpec> spec = getKernelSpec();
  if (!signature || !spec)
    return {};
  return {signature->getFlops(*spec), signature->getBytes(*spec)};
}

Engine LaunchOp::getEngine() {
  const KernelSignature *signature = findKernelSignature(getKernel());
  return signature ? signature->engine : Engine::Vector;
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

WorkKind RecordOp::getWork() { return WorkKind::None; }
ValueRange RecordOp::getAwaitedEvents() { return {}; }
Value RecordOp::getRecordedEvent() { return getEvent(); }

WorkKind WaitOp::getWork() { return WorkKind::None; }
ValueRange WaitOp::getAwaitedEvents() { return getOperation()->getOperands(); }
Value WaitOp::getRecordedEvent() { return {}; }

//===----------------------------------------------------------------------===//
// Copies and exchanges
//===----------------------------------------------------------------------===//

WorkKind CopyOp::getWork() { return WorkKind::Copy; }

void CopyOp::getAccesses(SmallVectorImpl<BufferAccess> &accesses) {
  accesses.push_back({getSource(), Access::In});
  accesses.push_back({getTarget(), Access::Out});
}

static ExchangeRecord getTransfer(PeerAttr peer, bool isSend,
                                  StringAttr channel) {
  ExchangeRecord exchange;
  exchange.peer = peer;
  exchange.isSend = isSend;
  exchange.channel = channel;
  return exchange;
}

WorkKind SendOp::getWork() { return WorkKind::Exchange; }

void SendOp::getAccesses(SmallVectorImpl<BufferAccess> &accesses) {
  accesses.push_back({getBuffer(), Access::In});
}
std::optional<ExchangeRecord> SendOp::getExchange() {
  return getTransfer(getPeer(), /*isSend=*/true, getChannelAttr());
}
Engine SendOp::getEngine() { return Engine::Communication; }

WorkKind ReceiveOp::getWork() { return WorkKind::Exchange; }

void ReceiveOp::getAccesses(SmallVectorImpl<BufferAccess> &accesses) {
  accesses.push_back({getBuffer(), Access::Out});
}
std::optional<ExchangeRecord> ReceiveOp::getExchange() {
  return getTransfer(getPeer(), /*isSend=*/false, getChannelAttr());
}
Engine ReceiveOp::getEngine() { return Engine::Communication; }

WorkKind CollectiveOp::getWork() { return WorkKind::Exchange; }

StringRef CollectiveOp::getCellName() { return getCell().value_or(""); }

void CollectiveOp::getAccesses(SmallVectorImpl<BufferAccess> &accesses) {
  accesses.push_back({getInput(), Access::In});
  for (Value counts : {getSend(), getReceive()})
    if (counts)
      accesses.push_back({counts, Access::In});
  accesses.push_back({getOutput(), Access::Out});
}

static RankedTensorType getTensor(Value buffer) {
  return cast<BufferType>(buffer.getType()).getTensor();
}

std::optional<ExchangeRecord> CollectiveOp::getExchange() {
  ExchangeRecord exchange;
  exchange.group = getGroup();
  exchange.kind = getKind();
  exchange.reduction = getReduction();
  exchange.channel = getChannelAttr();
  if (getKind() == CollectiveKind::AllToAllV)
    exchange.rowElements = getTensor(getInput()).getShape().back();
  exchange.fill = getFill() ? getFill()->convertToDouble() : 0;
  return exchange;
}
Engine CollectiveOp::getEngine() { return Engine::Communication; }

/// Checks the input of an all_to_all_v. It must be a matrix, whose rows are
/// sent.
static LogicalResult verifyMatrix(CollectiveOp op, StringRef name,
                                  RankedTensorType type) {
  ArrayRef<int64_t> shape = type.getShape();
  if (isa<FloatType>(type.getElementType()) && shape.size() >= 2 &&
      shape.back() > 0 &&
      llvm::all_of(shape.drop_back(2), [](int64_t size) { return size == 1; }))
    return success();
  return op.emitOpError("expected rows of floating-point numbers, ..x1xTxC, as "
                        "its ")
         << name << ", but got " << type;
}

static LogicalResult verifyRowExchange(CollectiveOp op) {
  RankedTensorType input = getTensor(op.getInput()),
                   output = getTensor(op.getOutput());
  if (failed(verifyMatrix(op, "input", input)) ||
      failed(verifyMatrix(op, "output", output)))
    return failure();
  if (input.getShape().back() != output.getShape().back())
    return op.emitOpError("expected rows of one size, but got ")
           << input.getShape().back() << " and " << output.getShape().back()
           << " elements";
  if (!op.getSend() || !op.getReceive())
    return op.emitOpError("expected counts of the rows that it sends and "
                          "receives");
  for (Value counts : {op.getSend(), op.getReceive()})
    if (!getTensor(counts).getElementType().isF32())
      return op.emitOpError("expected counts in f32, but got ")
             << getTensor(counts);
  const int64_t sent = getTensor(op.getSend()).getNumElements(),
                received = getTensor(op.getReceive()).getNumElements();
  if (sent != received || sent == 0)
    return op.emitOpError("expected as many counts to receive as to send, but "
                          "got ")
           << received << " and " << sent;
  return success();
}

LogicalResult CollectiveOp::verify() {
  RankedTensorType input = getTensor(getInput()),
                   output = getTensor(getOutput());
  if (input.getElementType() != output.getElementType())
    return emitOpError("expected elements of one type, but got ")
           << input.getElementType() << " and " << output.getElementType();
  bool keepsSize = getKind() == CollectiveKind::AllReduce ||
                   getKind() == CollectiveKind::AllToAll ||
                   getKind() == CollectiveKind::Broadcast;
  if (keepsSize && input.getNumElements() != output.getNumElements())
    return emitOpError("expected an input and an output of one size, but got ")
           << input.getNumElements() << " and " << output.getNumElements()
           << " elements";
  bool mayShare = getKind() == CollectiveKind::AllReduce ||
                  getKind() == CollectiveKind::Broadcast;
  if (!mayShare && getInput() == getOutput())
    return emitOpError("expected another buffer as output: ")
           << stringifyCollectiveKind(getKind()) << " does not work in place";
  if (getKind() == CollectiveKind::AllToAllV)
    return verifyRowExchange(*this);
  if (getSend() || getReceive() || getFillAttr())
    return emitOpError("expected no counts and no fill: the sizes of ")
           << stringifyCollectiveKind(getKind()) << " are those of its buffers";
  return success();
}

void mf::ascend::renumberRecords(CallOp call, ArrayRef<int64_t> numbers) {
  const ArrayRef<int64_t> old = call.getRecords().value_or(ArrayRef<int64_t>());
  SmallVector<int64_t> records;
  SmallVector<size_t> places;
  for (int64_t record : old) {
    const int64_t number =
        numbers[std::min<size_t>(record, numbers.size() - 1)];
    if (records.empty() || records.back() != number)
      records.push_back(number);
    places.push_back(records.size() - 1);
  }
  if (records.size() == old.size()) {
    if (!old.empty())
      call.setRecords(records);
    return;
  }
  OpBuilder builder(call);
  const SmallVector<Type> types(records.size(),
                                EventType::get(call.getContext()));
  auto merged = CallOp::create(
      builder, call.getLoc(), types, call.getRoutineAttr(), call.getArguments(),
      call.getFrame(), call.getMicroBatchAttr(), call.getScratchOffsetAttr(),
      builder.getDenseI64ArrayAttr(records), call.getAfter());
  for (auto [event, place] : llvm::zip_equal(call.getEvents(), places))
    event.replaceAllUsesWith(merged.getEvents()[place]);
  call.erase();
}
