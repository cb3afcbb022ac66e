//===- ListDecoder.h - Decodes a block to an instruction list ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_DECODE_LISTDECODER_H
#define MF_LIB_DECODE_LISTDECODER_H

#include "DecoderState.h"

namespace mf::program {

/// Decodes the body of a routine, or of the step if `routine` is null.
class ListDecoder {
public:
  ListDecoder(DecoderState &state, StageContext &context, Routine *routine)
      : state(state), context(context), routine(routine) {}

  /// Reports the first operation that cannot be decoded. If decoding fails, the
  /// stage must not be used.
  mlir::FailureOr<InstructionList> decode(mlir::Region &body);

private:
  mlir::LogicalResult decodeOperation(mlir::Operation *op);

  mlir::LogicalResult decode(ascend::GlobalOp op);
  mlir::LogicalResult decode(ascend::AllocOp op);
  mlir::LogicalResult decode(ascend::SlotOp op);
  mlir::LogicalResult decode(ascend::ViewOp op);
  mlir::LogicalResult decode(ascend::MessageOp op);
  mlir::LogicalResult decode(ascend::FrameOp op);
  mlir::LogicalResult decode(ascend::CallOp op);
  mlir::LogicalResult decode(ascend::InstructionOpInterface op);

  /// Reserves memory for the instructions of a block, because steps are long.
  void reserve(mlir::Block &block);
  mlir::LogicalResult decodeArguments(mlir::Block &block);
  mlir::LogicalResult decodeArguments(ascend::CallOp op, const Routine &callee,
                                      Call &call);
  mlir::LogicalResult decodeRecords(ascend::CallOp op, const Routine &callee,
                                    Call &call);
  mlir::LogicalResult decodeAccesses(ascend::InstructionOpInterface op,
                                     Instruction &instruction);
  /// Sets an instruction's work, and which of its accesses may share memory.
  mlir::LogicalResult decodeWork(ascend::InstructionOpInterface op,
                                 Instruction &instruction);
  mlir::LogicalResult decodeKernel(ascend::LaunchOp op,
                                   Instruction &instruction);
  mlir::LogicalResult decodeExchange(ascend::InstructionOpInterface op,
                                     const ascend::ExchangeRecord &exchange,
                                     Instruction &instruction);
  /// Returns the channel of a send or receive.
  mlir::FailureOr<uint32_t> getTransfer(mlir::Operation *op,
                                        const ascend::ExchangeRecord &exchange);
  mlir::FailureOr<Channel>
  decodePeer(mlir::Operation *op, const ascend::ExchangeRecord &exchange) const;
  mlir::FailureOr<Channel> decodeGroup(mlir::Operation *op,
                                       ascend::GroupAttr group) const;
  mlir::LogicalResult checkSizes(mlir::Operation *op, const Exchange &exchange,
                                 const Channel &channel,
                                 const Instruction &instruction) const;
  mlir::LogicalResult addAwaited(mlir::Operation *op, mlir::ValueRange events,
                                 Instruction &instruction);

  /// Maps `value` to the buffer of this kind and index, which it shares with
  /// earlier values of the same one.
  void defineBuffer(mlir::Value value, Buffer buffer);
  mlir::FailureOr<Operand> getOperand(mlir::Operation *op, mlir::Value value);
  /// Like getOperand, but reports a buffer that is not in device memory.
  mlir::FailureOr<Operand> getDeviceOperand(mlir::Operation *op,
                                            mlir::Value value);
  /// Returns a stream's index; that of the compute stream if `stream` is null.
  mlir::FailureOr<uint32_t> getStream(mlir::Operation *op,
                                      mlir::FlatSymbolRefAttr stream);
  mlir::FailureOr<uint32_t> getEvent(mlir::Operation *op, mlir::Value event);

  void nameTemporaries();

  DecoderState &state;
  StageContext &context;
  Routine *routine;
  InstructionList list;
  /// The location of the operation that is being decoded.
  uint32_t location = 0;
  uint32_t numTemporaries = 0;
  uint32_t numMessages = 0;
  llvm::DenseMap<mlir::Value, Operand> operands;
  llvm::DenseMap<mlir::Value, uint32_t> events;
  llvm::DenseMap<mlir::Value, uint32_t> frames;
  /// The numbers of buffers, by kind, index and frame.
  llvm::DenseMap<std::tuple<uint32_t, uint32_t, uint32_t>, uint32_t> buffers;
  /// The channels of transfers, by peer, name and side.
  llvm::DenseMap<std::tuple<const void *, const void *, unsigned>, uint32_t>
      transfers;
};

} // namespace mf::program

#endif // MF_LIB_DECODE_LISTDECODER_H
