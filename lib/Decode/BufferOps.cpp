//===- BufferOps.cpp - Decoding of operations that denote memory ----------===//
// SPDX-License-Identifier: Apache-2.0

#include "ListDecoder.h"
#include "mf/Support/Alignment.h"

using namespace mlir;

namespace mf::program {

LogicalResult ListDecoder::decode(ascend::GlobalOp op) {
  auto found = context.statics.find(op.getBuffer());
  if (found == context.statics.end())
    return op.emitError("unknown static buffer ") << op.getBufferAttr();
  const Static &target = context.stage.statics[found->second];
  FailureOr<BufferShape> type = decodeType(op, op.getType());
  if (failed(type))
    return failure();
  if (type->shape != target.shape || type->space != target.space)
    return op.emitError("its type is not that of the static buffer ")
           << op.getBufferAttr();
  Buffer buffer;
  buffer.kind = BufferKind::Static;
  buffer.index = found->second;
  buffer.shape = target.shape;
  buffer.bytes = target.bytes;
  buffer.space = target.space;
  buffer.address = {target.space == Space::Device ? Base::Device : Base::Host,
                    0, target.offset};
  buffer.name = getName(target.role).str() + " '" +
                (target.of.empty() ? target.name : target.of) + "'";
  defineBuffer(op.getResult(), std::move(buffer));
  return success();
}

LogicalResult ListDecoder::decode(ascend::AllocOp op) {
  FailureOr<BufferShape> type = decodeType(op, op.getType());
  if (failed(type))
    return failure();
  if (type->space != Space::Device)
    return op.emitError("expected a buffer in device memory");
  if (!op.getRegion() &&
      failed(state.checkOffset(op, std::nullopt, 0, 1, 0, "")))
    return failure();
  const bool inFrame = op.getRegion() == ascend::Region::Frame;
  if (inFrame && !routine->layout)
    return op.emitError("lies in a frame, but its routine has none");
  const FrameLayout *layout =
      inFrame ? &context.stage.layouts[*routine->layout] : nullptr;
  const int64_t capacity = layout ? layout->bytes : context.stage.arenaBytes;
  if (failed(state.checkOffset(op, op.getOffset(), type->bytes,
                               mf::getBytes(type->shape.type), capacity,
                               inFrame ? "the frame" : "the arena")))
    return failure();
  auto offset = static_cast<int64_t>(op.getOffset().value_or(0));
  uint32_t part = 0;
  if (layout) {
    if (failed(checkPart(op, *layout, offset, type->bytes)))
      return failure();
    part = layout->getPart(offset);
    offset -= layout->parts[part];
  }
  Buffer buffer;
  buffer.kind = BufferKind::Temporary;
  buffer.index = numTemporaries++;
  buffer.shape = type->shape;
  buffer.bytes = type->bytes;
  buffer.address = {inFrame ? Base::Frame : Base::Scratch, part, offset};
  if (!inFrame)
    routine->scratchBytes =
        std::max(routine->scratchBytes, offset + type->bytes);
  defineBuffer(op.getResult(), std::move(buffer));
  return success();
}

LogicalResult ListDecoder::decode(ascend::SlotOp op) {
  const Frame *frame = nullptr;
  uint32_t frameNumber = 0;
  if (op.getFrame()) {
    frameNumber = frames.lookup(op.getFrame());
    frame = &context.stage.frames[frameNumber];
  } else if (!routine->layout) {
    return op.emitError("is in a routine without a frame");
  }
  const FrameLayout &layout =
      context.stage.layouts[frame ? frame->layout : *routine->layout];
  if (op.getIndex() >= layout.slots.size())
    return op.emitError("slot ")
           << static_cast<int64_t>(op.getIndex())
           << " does not exist: the frame '" << layout.name << "' has "
           << layout.slots.size();
  const Slot &slot = layout.slots[op.getIndex()];
  FailureOr<BufferShape> type = decodeType(op, op.getType());
  if (failed(type))
    return failure();
  if (type->shape != slot.shape || type->space != slot.space)
    return op.emitError("its type is not that of slot ")
           << op.getIndex() << " of the frame '" << layout.name << "'";
  Buffer buffer;
  buffer.kind = BufferKind::Slot;
  buffer.index = op.getIndex();
  buffer.shape = slot.shape;
  buffer.bytes = slot.bytes;
  buffer.space = slot.space;
  buffer.frame = frameNumber;
  const bool onDevice = slot.space == Space::Device;
  if (frame)
    buffer.address = {onDevice ? Base::Device : Base::Host, 0,
                      frame->getOffset(slot)};
  else
    buffer.address = {onDevice ? Base::Frame : Base::HostFrame, slot.part,
                      slot.offset};
  buffer.name = "residual '" + slot.name + "'";
  defineBuffer(op.getResult(), std::move(buffer));
  return success();
}

LogicalResult ListDecoder::decode(ascend::ViewOp op) {
  FailureOr<Operand> source = getOperand(op, op.getSource());
  FailureOr<BufferShape> type = decodeType(op, op.getType());
  if (failed(source) || failed(type))
    return failure();
  const Buffer &buffer = list.buffers[source->buffer];
  const auto begin = static_cast<int64_t>(op.getByteOffset());
  if (type->space != buffer.space || begin < 0 || begin > source->bytes ||
      type->bytes > source->bytes - begin)
    return op.emitError("reaches outside of the buffer it views");
  if (begin % mf::getBytes(type->shape.type) != 0)
    return op.emitError("byte_offset ")
           << begin << " is not a multiple of the element size";
  operands[op.getResult()] = {source->buffer, source->offset + begin,
                              type->bytes};
  return success();
}

LogicalResult ListDecoder::decode(ascend::MessageOp op) {
  FailureOr<BufferShape> type = decodeType(op, op.getType());
  if (failed(type))
    return failure();
  if (failed(checkPlace(op, op.getOffset(), *type, state, context)))
    return failure();
  Buffer buffer;
  const auto offset = static_cast<int64_t>(op.getOffset().value_or(0));
  buffer.kind = BufferKind::Message;
  buffer.index = numMessages++;
  buffer.shape = type->shape;
  buffer.bytes = type->bytes;
  buffer.space = type->space;
  buffer.address = {type->space == Space::Device ? Base::Device : Base::Host, 0,
                    offset};
  buffer.name = "message " + std::to_string(buffer.index);
  defineBuffer(op.getResult(), std::move(buffer));
  return success();
}

LogicalResult ListDecoder::decode(ascend::FrameOp op) {
  auto found = context.layouts.find(op.getLayout());
  if (found == context.layouts.end())
    return op.emitError("unknown frame layout ") << op.getLayoutAttr();
  if (cast<ascend::FrameType>(op.getType()).getLayout() != op.getLayoutAttr())
    return op.emitError("its type is not a frame of ") << op.getLayoutAttr();
  const FrameLayout &layout = context.stage.layouts[found->second];
  std::vector<int64_t> offsets =
      op.getOffsets().value_or(llvm::ArrayRef<int64_t>()).vec();
  if (!op.getOffsets() &&
      failed(state.checkOffset(op, std::nullopt, 0, 1, 0, "")))
    return failure();
  if (!op.getOffsets() || !state.isPlanned)
    offsets.assign(layout.parts.size(), 0);
  if (offsets.size() != layout.parts.size())
    return op.emitError("has ")
           << offsets.size() << " offsets, but the parts of '" << layout.name
           << "' are " << layout.parts.size();
  for (auto [part, offset] : llvm::enumerate(offsets))
    if (failed(state.checkOffset(op, offset, layout.getPartBytes(part),
                                 mf::addressAlignment, context.stage.arenaBytes,
                                 "the arena")))
      return failure();
  const int64_t hostBytes = layout.hostBytes;
  if (hostBytes > 0 &&
      failed(state.checkOffset(op, op.getHostOffset(), hostBytes,
                               mf::addressAlignment, context.stage.hostBytes,
                               "host memory")))
    return failure();
  frames[op.getResult()] = context.stage.frames.size();
  context.stage.frames.push_back(
      {found->second, static_cast<int64_t>(op.getMicroBatch()),
       std::move(offsets), static_cast<int64_t>(op.getHostOffset().value_or(0)),
       location});
  return success();
}

} // namespace mf::program
