//===- ListDecoder.h - One block to an instruction list --------*- C++ -*-===//

#ifndef MF_LIB_PROGRAM_DECODE_LISTDECODER_H
#define MF_LIB_PROGRAM_DECODE_LISTDECODER_H

#include "DecoderState.h"

namespace mf::program {

/// Decodes the body of a routine, or of the step if `routine` is null.
class ListDecoder {
public:
  ListDecoder(DecoderState &state, RankContext &context, Routine *routine)
      : state(state), context(context), routine(routine) {}

  /// Reports the first operation that cannot be decoded. What fails midway
  /// leaves the rank unusable.
  mlir::FailureOr<InstructionList> decode(mlir::Region &body);

private:
  mlir::LogicalResult decodeOperation(mlir::Operation *op);

  mlir::LogicalResult decode(ascend::GlobalOp op);
  mlir::LogicalResult decode(ascend::AllocOp op);
  mlir::LogicalResult decode(ascend::SlotOp op);
  mlir::LogicalResult decode(ascend::ViewOp op);
  mlir::LogicalResult decode(ascend::MessageOp op);
  mlir::LogicalResult decode(ascend::FrameOp op);
  mlir::LogicalResult decode(ascend::LaunchOp op);
  mlir::LogicalResult decode(ascend::CallOp op);
  mlir::LogicalResult decode(ascend::RecordOp op);
  mlir::LogicalResult decode(ascend::WaitOp op);
  mlir::LogicalResult decode(ascend::CopyOp op);
  mlir::LogicalResult decode(ascend::SendOp op);
  mlir::LogicalResult decode(ascend::ReceiveOp op);
  mlir::LogicalResult decode(ascend::AllReduceOp op);

  mlir::LogicalResult decodeArguments(mlir::Block &block);
  mlir::LogicalResult decodeArguments(ascend::CallOp op, const Routine &callee,
                                      Call &call);
  mlir::LogicalResult decodeRecords(ascend::CallOp op, const Routine &callee,
                                    Call &call);
  mlir::LogicalResult decodeTransfer(mlir::Operation *op, mlir::Value buffer,
                                     mlir::FlatSymbolRefAttr stream,
                                     llvm::StringRef channel, int64_t peer,
                                     bool isSend, mlir::ValueRange after,
                                     mlir::Value done);
  mlir::LogicalResult addWaits(mlir::Operation *op, uint32_t stream,
                               mlir::ValueRange after);
  /// Adds `action` on a stream behind waits for `after`, and the record `done`
  /// if it is not null.
  mlir::LogicalResult addTransfer(mlir::Operation *op, uint32_t stream,
                                  mlir::ValueRange after, mlir::Value done,
                                  decltype(Instruction::action) action);

  /// Makes `value` the buffer of this kind and number, which is shared with
  /// earlier values of the same one.
  void defineBuffer(mlir::Value value, Buffer buffer);
  mlir::FailureOr<Operand> getOperand(mlir::Operation *op, mlir::Value value);
  /// As getOperand, and reports a buffer that is not in device memory.
  mlir::FailureOr<Operand> getDeviceOperand(mlir::Operation *op,
                                            mlir::Value value);
  mlir::FailureOr<std::vector<Operand>>
  getOperands(mlir::Operation *op, mlir::ValueRange values, bool onDevice);
  mlir::FailureOr<uint32_t> getStream(mlir::Operation *op,
                                      mlir::FlatSymbolRefAttr stream);
  mlir::FailureOr<uint32_t> getEvent(mlir::Operation *op, mlir::Value event);

  void addInstruction(decltype(Instruction::action) action);
  void nameTemporaries();

  DecoderState &state;
  RankContext &context;
  Routine *routine;
  InstructionList list;
  /// Of the operation being decoded.
  uint32_t location = 0;
  uint32_t numTemporaries = 0;
  uint32_t numMessages = 0;
  llvm::DenseMap<mlir::Value, Operand> operands;
  llvm::DenseMap<mlir::Value, uint32_t> events;
  llvm::DenseMap<mlir::Value, uint32_t> frames;
  /// By kind, index and frame.
  std::map<std::tuple<BufferKind, uint32_t, uint32_t>, uint32_t> buffers;
};

} // namespace mf::program

#endif // MF_LIB_PROGRAM_DECODE_LISTDECODER_H
