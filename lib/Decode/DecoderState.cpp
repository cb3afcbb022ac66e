//===- DecoderState.cpp - State of decoding -------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "DecoderState.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace mf::program {

/// Decodes the kernel of a launch. The operation's verifier has checked it
/// against the kernel's signature.
static FailureOr<LaunchedKernel> decodeKernel(ascend::LaunchOp op,
                                              uint32_t location) {
  LaunchedKernel kernel;
  kernel.location = location;
  kernel.signature = findKernelSignature(op.getKernel());
  std::optional<KernelSpec> spec = op.getKernelSpec();
  if (!spec || !kernel.signature)
    return op.emitError(
        "has elements or attributes that no kernel computes with");
  kernel.spec = std::move(*spec);
  const ascend::Cost cost = op.getCost();
  kernel.flops = cost.flops;
  kernel.bytes = cost.bytes;
  return kernel;
}

FailureOr<uint32_t> DecoderState::getKernel(ascend::LaunchOp op,
                                            uint32_t location) {
  // MLIR has one object for each distinct attribute and type, so equal launches
  // have equal keys.
  llvm::SmallVector<const void *, 8> key = {
      op.getKernelAttr().getAsOpaquePointer(),
      op.getKernelAttributesAttr().getAsOpaquePointer()};
  for (Type type : op.getInputs().getTypes())
    key.push_back(type.getAsOpaquePointer());
  key.push_back(nullptr);
  for (Type type : op.getOutputs().getTypes())
    key.push_back(type.getAsOpaquePointer());
  auto [entry, isNew] =
      kernels.try_emplace(std::move(key), result.program.kernels.size());
  if (!isNew)
    return entry->second;
  FailureOr<LaunchedKernel> kernel = decodeKernel(op, location);
  if (failed(kernel))
    return failure();
  result.program.kernels.push_back(std::move(*kernel));
  return entry->second;
}

uint32_t DecoderState::getChannel(Channel channel) {
  std::vector<Channel> &table = result.program.channels;
  auto [entry, isNew] = channels.try_emplace(
      ChannelKey(channel.name, channel.isTransfer, channel.group,
                 channel.fromStage, channel.toStage, channel.axis,
                 channel.shift),
      table.size());
  if (isNew)
    table.push_back(std::move(channel));
  return entry->second;
}

LogicalResult DecoderState::checkOffset(Operation *op,
                                        std::optional<int64_t> offset,
                                        int64_t bytes, int64_t alignment,
                                        int64_t capacity,
                                        llvm::StringRef memory) const {
  if (!isPlanned)
    return success();
  if (!offset)
    return op->emitError("has no offset: the program's memory is not planned; "
                         "run mf-opt --ascend-plan-memory on it");
  if (*offset < 0 || *offset % alignment != 0)
    return op->emitError("offset ")
           << *offset << " is negative or not a multiple of " << alignment;
  if (*offset > capacity || bytes > capacity - *offset)
    return op->emitError() << bytes << " bytes at offset " << *offset
                           << " are outside of " << memory << ", which has "
                           << capacity << " bytes";
  return success();
}

LogicalResult checkPart(Operation *op, const FrameLayout &layout,
                        int64_t offset, int64_t bytes) {
  const uint32_t part = layout.getPart(offset);
  const int64_t end = layout.parts[part] + layout.getPartBytes(part);
  if (part + 1 < layout.parts.size() && bytes > end - offset)
    return op->emitError()
           << bytes << " bytes at offset " << offset
           << " lie in two parts of the frame, of which one ends at " << end;
  return success();
}

LogicalResult checkPlace(Operation *op, std::optional<int64_t> offset,
                         const BufferShape &buffer, const DecoderState &state,
                         const StageContext &context) {
  return state.checkOffset(
      op, offset, buffer.bytes, mf::getBytes(buffer.shape.type),
      context.getCapacity(buffer.space),
      buffer.space == Space::Device ? "the arena" : "host memory");
}

} // namespace mf::program
