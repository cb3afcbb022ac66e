//===- DecoderState.h - State of decoding -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_DECODE_DECODERSTATE_H
#define MF_LIB_DECODE_DECODERSTATE_H

#include "dialects/ascend/AscendDialect.h"
#include "mf/Decode/Attributes.h"
#include "mf/Decode/Decoder.h"
#include "mf/Program/Certificate.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include <map>

namespace mf::program {

/// A limit on the bytes of any single buffer, arena or host memory, so that
/// sums of a few of them cannot overflow.
constexpr int64_t maximumBytes = int64_t{1} << 56;

/// The contents of a buffer type.
struct BufferShape {
  TensorShape shape;
  int64_t bytes = 0;
  Space space = Space::Device;
};

/// Decodes a buffer type. Reports an element type that kernels do not support,
/// and a size beyond `maximumBytes`, at `op`.
mlir::FailureOr<BufferShape> decodeType(mlir::Operation *op, mlir::Type type);

/// Decodes a loss scale: `value`, and either both or none of `factor` and
/// `window`.
mlir::FailureOr<LossScale> decodeLossScale(mlir::Operation *op,
                                           mlir::DictionaryAttr attribute);

mlir::FailureOr<StepCertificate>
decodeStepCertificate(mlir::Operation *op, mlir::DictionaryAttr attribute);

/// Decodes the certificate of a chunk, whose results are lists of [name, term].
mlir::FailureOr<Certificate> decodeCertificate(mlir::Operation *op,
                                               mlir::DictionaryAttr attribute);

/// The tables that all stages share.
class DecoderState {
public:
  /// Before planning, offsets are neither present nor required.
  explicit DecoderState(bool isPlanned) : isPlanned(isPlanned) {}

  DecodedProgram result;
  /// The operations by location index.
  std::vector<mlir::Operation *> operations;
  const bool isPlanned;

  uint32_t addLocation(mlir::Operation *op) {
    result.locations.push_back(op->getLoc());
    operations.push_back(op);
    return result.locations.size() - 1;
  }

  /// Returns the index of a launch's kernel. Equal kernels share an entry.
  mlir::FailureOr<uint32_t> getKernel(ascend::LaunchOp op, uint32_t location);

  /// Returns the index of a channel. Equal channels share an entry.
  uint32_t getChannel(Channel channel);

  /// Reports an offset that is missing, that is not a multiple of `alignment`,
  /// or with which `bytes` bytes are outside of the `capacity` bytes of
  /// `memory`. Does nothing before planning.
  mlir::LogicalResult checkOffset(mlir::Operation *op,
                                  std::optional<int64_t> offset, int64_t bytes,
                                  int64_t alignment, int64_t capacity,
                                  llvm::StringRef memory) const;

private:
  std::map<llvm::SmallVector<const void *, 8>, uint32_t> kernels;
  using ChannelKey = std::tuple<std::string, bool, Group, int64_t, int64_t,
                                std::string, int64_t>;
  std::map<ChannelKey, uint32_t> channels;
};

/// The symbols of one program, and the stage into which they are decoded.
struct StageContext {
  StageProgram stage;
  llvm::StringMap<uint32_t> streams;
  llvm::StringMap<uint32_t> statics;
  llvm::StringMap<uint32_t> layouts;
  llvm::StringMap<uint32_t> routines;

  /// Returns the bytes of the arena or of host memory.
  int64_t getCapacity(Space space) const {
    return space == Space::Device ? stage.arenaBytes : stage.hostBytes;
  }
};

/// Checks that a buffer at `offset` of a frame is inside of one of the frame's
/// parts.
mlir::LogicalResult checkPart(mlir::Operation *op, const FrameLayout &layout,
                              int64_t offset, int64_t bytes);

/// Checks the offset of a buffer in the arena or in host memory.
mlir::LogicalResult checkPlace(mlir::Operation *op,
                               std::optional<int64_t> offset,
                               const BufferShape &buffer,
                               const DecoderState &state,
                               const StageContext &context);

/// Decodes one `ascend.program`.
mlir::FailureOr<StageProgram> decodeStage(ascend::ProgramOp op,
                                          DecoderState &state);

/// Reports channels whose sends and receives, or whose parts of a collective,
/// do not match.
mlir::LogicalResult checkChannels(const DecodedProgram &decoded);

} // namespace mf::program

#endif // MF_LIB_DECODE_DECODERSTATE_H
