//===- AscendInstructions.cpp - What each instruction does ----------------===//
//
// The operations' answers to InstructionOpInterface.
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
// Launches
//===----------------------------------------------------------------------===//

Work LaunchOp::getWork() { return Work::Kernel; }
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

Work RecordOp::getWork() { return Work::None; }
ValueRange RecordOp::getAwaitedEvents() { return {}; }
Value RecordOp::getRecordedEvent() { return getEvent(); }

Work WaitOp::getWork() { return Work::None; }
ValueRange WaitOp::getAwaitedEvents() { return getOperation()->getOperands(); }
Value WaitOp::getRecordedEvent() { return {}; }

//===----------------------------------------------------------------------===//
// Copies and exchanges
//===----------------------------------------------------------------------===//

Work CopyOp::getWork() { return Work::Copy; }

void CopyOp::getAccesses(SmallVectorImpl<BufferAccess> &accesses) {
  accesses.push_back({getSource(), Access::In});
  accesses.push_back({getTarget(), Access::Out});
}

static Exchange getTransfer(PeerAttr peer, bool isSend, StringAttr channel) {
  Exchange exchange;
  exchange.peer = peer;
  exchange.isSend = isSend;
  exchange.channel = channel;
  return exchange;
}

Work SendOp::getWork() { return Work::Exchange; }

void SendOp::getAccesses(SmallVectorImpl<BufferAccess> &accesses) {
  accesses.push_back({getBuffer(), Access::In});
}
std::optional<Exchange> SendOp::getExchange() {
  return getTransfer(getPeer(), /*isSend=*/true, getChannelAttr());
}
Engine SendOp::getEngine() { return Engine::Communication; }

Work ReceiveOp::getWork() { return Work::Exchange; }

void ReceiveOp::getAccesses(SmallVectorImpl<BufferAccess> &accesses) {
  accesses.push_back({getBuffer(), Access::Out});
}
std::optional<Exchange> ReceiveOp::getExchange() {
  return getTransfer(getPeer(), /*isSend=*/false, getChannelAttr());
}
Engine ReceiveOp::getEngine() { return Engine::Communication; }

Work CollectiveOp::getWork() { return Work::Exchange; }

StringRef CollectiveOp::getCellName() { return getCell().value_or(""); }

void CollectiveOp::getAccesses(SmallVectorImpl<BufferAccess> &accesses) {
  accesses.push_back({getInput(), Access::In});
  accesses.push_back({getOutput(), Access::Out});
}
std::optional<Exchange> CollectiveOp::getExchange() {
  Exchange exchange;
  exchange.group = getGroup();
  exchange.kind = getKind();
  exchange.reduction = getReduction();
  exchange.channel = getChannelAttr();
  return exchange;
}
Engine CollectiveOp::getEngine() { return Engine::Communication; }

LogicalResult CollectiveOp::verify() {
  auto input = cast<BufferType>(getInput().getType()).getTensor();
  auto output = cast<BufferType>(getOutput().getType()).getTensor();
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
  return success();
}
