//===- DecoderState.h - State while a module is decoded ---------*- C++ -*-===//

#ifndef MF_LIB_PROGRAM_DECODE_DECODERSTATE_H
#define MF_LIB_PROGRAM_DECODE_DECODERSTATE_H

#include "DecodedTypes.h"
#include "mf/Program/Decoder.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include <map>

namespace mf::program {

/// The tables that all stages share.
class DecoderState {
public:
  /// Before planning nothing has an offset, and none is asked for.
  explicit DecoderState(bool isPlanned) : isPlanned(isPlanned) {}

  DecodedProgram result;
  /// By location.
  std::vector<mlir::Operation *> operations;
  const bool isPlanned;

  uint32_t addLocation(mlir::Operation *op) {
    result.locations.push_back(op->getLoc());
    operations.push_back(op);
    return result.locations.size() - 1;
  }

  /// The kernel of a launch; equal ones are shared.
  mlir::FailureOr<uint32_t> getKernel(ascend::LaunchOp op, uint32_t location);

  /// The entry of a channel; equal ones are shared.
  uint32_t getChannel(Channel channel);

  /// Reports an offset that is absent, not a multiple of `alignment`, or that
  /// puts `bytes` bytes outside of `capacity` bytes of `memory`. Before
  /// planning there is nothing to check.
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

/// The symbols of one program and the stage they are decoded into.
struct StageContext {
  StageProgram stage;
  llvm::StringMap<uint32_t> streams;
  llvm::StringMap<uint32_t> statics;
  llvm::StringMap<uint32_t> layouts;
  llvm::StringMap<uint32_t> routines;

  /// Bytes of the arena or of the host memory.
  int64_t getCapacity(Space space) const {
    return space == Space::Device ? stage.arenaBytes : stage.hostBytes;
  }
};

/// Checks that a buffer at `offset` of a frame lies in one of its parts.
mlir::LogicalResult checkPart(mlir::Operation *op, const FrameLayout &layout,
                              int64_t offset, int64_t bytes);

/// Checks the offset of a buffer that lies in the arena or in host memory.
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

#endif // MF_LIB_PROGRAM_DECODE_DECODERSTATE_H
