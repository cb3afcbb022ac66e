//===- Exchanges.cpp - Decoding of transfers and collectives --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ListDecoder.h"

using namespace mlir;

namespace mf::program {

// The dialect's alternatives are those of the tables, number for number.
#define MF_SAME_NUMBER(ENUM, NAME)                                             \
  static_assert(static_cast<int>(ascend::ENUM::NAME) ==                        \
                static_cast<int>(ENUM::NAME))
MF_SAME_NUMBER(CollectiveKind, AllReduce);
MF_SAME_NUMBER(CollectiveKind, AllGather);
MF_SAME_NUMBER(CollectiveKind, ReduceScatter);
MF_SAME_NUMBER(CollectiveKind, AllToAll);
MF_SAME_NUMBER(CollectiveKind, Broadcast);
MF_SAME_NUMBER(CollectiveKind, AllToAllV);
MF_SAME_NUMBER(Reduction, Sum);
MF_SAME_NUMBER(Reduction, Max);
#undef MF_SAME_NUMBER

/// Returns the same shift along an axis of `size` ranks, forward.
static int64_t getForwardShift(int64_t shift, int64_t size) {
  return (shift % size + size) % size;
}

FailureOr<Channel>
ListDecoder::decodePeer(Operation *op,
                        const ascend::ExchangeRecord &exchange) const {
  const Mesh &mesh = state.result.program.mesh;
  ascend::PeerAttr peer = exchange.peer;
  llvm::StringRef axis = peer.getAxis().getValue();
  if (!mesh.hasAxis(axis))
    return op->emitError("its peer is on axis '")
           << axis << "', which the mesh does not have";
  Channel channel;
  channel.isTransfer = true;
  channel.axis = axis.str();
  const int64_t stage = context.stage.stage;
  if (axis == stageAxis) {
    const int64_t stages = mesh.getNumStages();
    int64_t other = peer.getCoordinate();
    if (peer.getRelative())
      other = (stage + getForwardShift(other, stages)) % stages;
    if (other < 0 || other >= stages || other == stage)
      return op->emitError("expected another stage of ")
             << stages << " as peer of stage " << stage << ", but got "
             << other;
    channel.fromStage = exchange.isSend ? stage : other;
    channel.toStage = exchange.isSend ? other : stage;
    return channel;
  }
  const int64_t size = mesh.getSize(axis);
  if (!peer.getRelative() || peer.getCoordinate() % size == 0)
    return op->emitError("expected a shift along '")
           << axis << "' to another rank, such as " << axis
           << " + 1: all ranks of a stage run this program";
  const int64_t shift = getForwardShift(peer.getCoordinate(), size);
  channel.shift = exchange.isSend ? shift : size - shift;
  channel.fromStage = channel.toStage = stage;
  return channel;
}

FailureOr<uint32_t>
ListDecoder::getTransfer(Operation *op,
                         const ascend::ExchangeRecord &exchange) {
  // Equal attributes are one object. A step has many messages and few channels.
  const std::tuple key(exchange.peer.getAsOpaquePointer(),
                       exchange.channel.getAsOpaquePointer(),
                       static_cast<unsigned>(exchange.isSend));
  if (auto known = transfers.find(key); known != transfers.end())
    return known->second;
  FailureOr<Channel> channel = decodePeer(op, exchange);
  if (failed(channel))
    return failure();
  channel->name = exchange.channel.str();
  return transfers[key] = state.getChannel(std::move(*channel));
}

FailureOr<Channel> ListDecoder::decodeGroup(Operation *op,
                                            ascend::GroupAttr group) const {
  const Mesh &mesh = state.result.program.mesh;
  Channel channel;
  for (StringAttr axis : group.getAxes()) {
    if (!mesh.hasAxis(axis.getValue()))
      return op->emitError("its group is over axis '")
             << axis.getValue() << "', which the mesh does not have";
    channel.group.axes.push_back(axis.str());
  }
  for (int64_t stage : group.getStages()) {
    if (stage >= mesh.getNumStages())
      return op->emitError("its group has stage ")
             << stage << ", but the mesh has " << mesh.getNumStages();
    channel.group.stages.push_back(stage);
  }
  if (!group.getStages().empty() &&
      !llvm::is_contained(group.getStages(), context.stage.stage))
    return op->emitError("its group does not include stage ")
           << context.stage.stage;
  // Groups inside of different stages have nothing to do with each other.
  if (!channel.group.crossesStages())
    channel.fromStage = channel.toStage = context.stage.stage;
  return channel;
}

/// Returns the ratio of the output's length to the input's, as numerator and
/// denominator.
static std::pair<int64_t, int64_t> getRatio(CollectiveKind kind,
                                            int64_t members) {
  switch (kind) {
  case CollectiveKind::AllGather:
    return {members, 1};
  case CollectiveKind::ReduceScatter:
    return {1, members};
  case CollectiveKind::AllReduce:
  case CollectiveKind::AllToAll:
  case CollectiveKind::Broadcast:
  case CollectiveKind::AllToAllV:
    break;
  }
  return {1, 1};
}

/// Reads an all_to_all_v, of whose operands the counts alone are bound to the
/// group's size.
static LogicalResult decodeRows(Operation *op,
                                const ascend::ExchangeRecord &exchange,
                                int64_t members, const Instruction &instruction,
                                RowExchange &rows, DType type) {
  rows.rowBytes = exchange.rowElements * getBytes(type);
  rows.fill = exchange.fill;
  rows.cell = instruction.cell;
  const int64_t counts =
      instruction.accesses[1].operand.bytes / getBytes(DType::F32);
  rows.experts = counts / members;
  if (counts % members == 0)
    return success();
  return op->emitError("expected as many counts for each of ")
         << members << " ranks, but got " << counts;
}

LogicalResult ListDecoder::checkSizes(Operation *op, const Exchange &exchange,
                                      const Channel &channel,
                                      const Instruction &instruction) const {
  const int64_t members =
      state.result.program.mesh.getNumMembers(channel.group);
  const int64_t input = instruction.accesses.front().operand.bytes;
  const int64_t output = instruction.accesses.back().operand.bytes;
  auto [longer, shorter] = getRatio(exchange.kind, members);
  if (input % shorter != 0 || output % longer != 0 ||
      input / shorter != output / longer)
    return op->emitError("expected ")
           << getName(exchange.kind) << " over " << members << " ranks to make "
           << longer << "/" << shorter << " of its input of " << input
           << " bytes, but got " << output;
  const int64_t elementBytes = mf::getBytes(exchange.type);
  if (exchange.kind == CollectiveKind::AllToAll &&
      input / elementBytes % members != 0)
    return op->emitError("expected one part for each of ")
           << members << " ranks, but got " << input / elementBytes
           << " elements";
  return success();
}

LogicalResult
ListDecoder::decodeExchange(ascend::InstructionOpInterface op,
                            const ascend::ExchangeRecord &exchange,
                            Instruction &instruction) {
  Exchange result;
  result.isSend = exchange.isSend;
  result.kind = ascend::getTableKind(exchange.kind);
  result.reduction = ascend::getTableReduction(exchange.reduction);
  llvm::SmallVector<ascend::BufferAccess, 4> accesses;
  op.getAccesses(accesses);
  FailureOr<BufferShape> type =
      decodeType(op, accesses.front().buffer.getType());
  if (failed(type))
    return failure();
  result.type = type->shape.type;
  instruction.index = list.exchanges.size();
  if (exchange.peer) {
    FailureOr<uint32_t> channel = getTransfer(op, exchange);
    if (failed(channel))
      return failure();
    result.channel = *channel;
    list.exchanges.push_back(std::move(result));
    return success();
  }
  FailureOr<Channel> channel = decodeGroup(op, exchange.group);
  if (failed(channel))
    return failure();
  channel->name = exchange.channel.str();
  if (result.kind == CollectiveKind::AllToAllV) {
    const int64_t members =
        state.result.program.mesh.getNumMembers(channel->group);
    if (failed(decodeRows(op, exchange, members, instruction, result.rows,
                          result.type)))
      return failure();
  } else if (failed(checkSizes(op, result, *channel, instruction))) {
    return failure();
  }
  // A tensor that is reduced or broadcast in place is one buffer.
  if (result.kind == CollectiveKind::AllReduce ||
      result.kind == CollectiveKind::Broadcast)
    instruction.accesses.back().sharedAccesses = 1;
  result.channel = state.getChannel(std::move(*channel));
  list.exchanges.push_back(std::move(result));
  return success();
}

} // namespace mf::program
