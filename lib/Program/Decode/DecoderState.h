//===- DecoderState.h - What decoding one module gathers -------*- C++ -*-===//

#ifndef MF_LIB_PROGRAM_DECODE_DECODERSTATE_H
#define MF_LIB_PROGRAM_DECODE_DECODERSTATE_H

#include "Attributes.h"
#include "mf/Program/Decoder.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace mf::program {

/// The tables that all ranks share.
class DecoderState {
public:
  DecodedProgram result;

  uint32_t addLocation(mlir::Operation *op) {
    result.locations.push_back(op->getLoc());
    return result.locations.size() - 1;
  }

  /// The kernel of a launch; equal ones are shared. `inputs` and `outputs` are
  /// what its operands decoded to.
  mlir::FailureOr<uint32_t> getKernel(ascend::LaunchOp op, uint32_t location,
                                      llvm::ArrayRef<Operand> inputs,
                                      llvm::ArrayRef<Operand> outputs);

  uint32_t getChannel(llvm::StringRef name, bool isAllReduce,
                      llvm::ArrayRef<int64_t> ranks);

private:
  llvm::DenseMap<mlir::Attribute, uint32_t> kernels;
  std::map<std::tuple<std::string, bool, std::vector<int64_t>>, uint32_t>
      channels;
};

/// The symbols of one program and the rank they are decoded into.
struct RankContext {
  Rank rank;
  int64_t number = 0;
  int64_t numRanks = 0;
  llvm::StringMap<uint32_t> streams;
  llvm::StringMap<uint32_t> statics;
  llvm::StringMap<uint32_t> layouts;
  llvm::StringMap<uint32_t> routines;

  /// Bytes of the arena or of the host memory.
  int64_t getCapacity(Space space) const {
    return space == Space::Device ? rank.arenaBytes : rank.hostBytes;
  }
};

/// Reports an offset that is absent, not a multiple of `alignment`, or that
/// puts `bytes` bytes outside of `capacity` bytes of `memory`.
mlir::LogicalResult checkOffset(mlir::Operation *op,
                                std::optional<int64_t> offset, int64_t bytes,
                                int64_t alignment, int64_t capacity,
                                llvm::StringRef memory);

/// Decodes one `ascend.program`.
mlir::FailureOr<Rank> decodeRank(ascend::ProgramOp op, DecoderState &state);

/// Reports channels whose sends and receives, or whose parts of a reduction,
/// do not match.
mlir::LogicalResult checkChannels(const DecodedProgram &decoded);

} // namespace mf::program

#endif // MF_LIB_PROGRAM_DECODE_DECODERSTATE_H
