//===- Channels.cpp - Do sends and receives match? ------------------------===//

#include "DecoderState.h"

using namespace mlir;

namespace mf::program {

namespace {

/// One use of a channel, in the order in which its rank issues them.
struct Use {
  const Operand *buffer = nullptr;
  uint32_t stream = 0;
  uint32_t location = 0;
};

/// The uses of each channel by one rank.
using ChannelUses = std::vector<std::vector<Use>>;

void addUses(const InstructionList &list, const Rank &rank, ChannelUses &uses) {
  for (const Instruction &instruction : list.instructions) {
    if (const auto *call = std::get_if<Call>(&instruction.action))
      addUses(rank.routines[call->routine].body, rank, uses);
    else if (const auto *transfer = std::get_if<Transfer>(&instruction.action))
      uses[transfer->channel].push_back(
          {&transfer->buffer, transfer->stream, instruction.location});
    else if (const auto *reduce = std::get_if<AllReduce>(&instruction.action))
      uses[reduce->channel].push_back(
          {&reduce->buffer, reduce->stream, instruction.location});
  }
}

class ChannelChecker {
public:
  explicit ChannelChecker(const DecodedProgram &decoded) : decoded(decoded) {
    for (const Rank &rank : decoded.program.ranks) {
      uses.emplace_back(decoded.program.channels.size());
      addUses(rank.step, rank, uses.back());
    }
  }

  LogicalResult check() {
    for (uint32_t number = 0; number < decoded.program.channels.size();
         ++number)
      if (failed(checkStreams(number)) || failed(checkMembers(number)))
        return failure();
    return success();
  }

private:
  LogicalResult checkStreams(uint32_t number);
  LogicalResult checkMembers(uint32_t number);
  LogicalResult checkPair(const Channel &channel, int64_t rank, const Use &use,
                          int64_t otherRank, const Use &other);

  InFlightDiagnostic report(const Use &use, const Channel &channel) {
    return emitError(decoded.locations[use.location])
           << "channel '" << channel.name << "': ";
  }

  const DecodedProgram &decoded;
  std::vector<ChannelUses> uses;
};

// On two streams the order of a channel's messages would be left to chance.
LogicalResult ChannelChecker::checkStreams(uint32_t number) {
  const Channel &channel = decoded.program.channels[number];
  for (int64_t rank : channel.ranks) {
    llvm::ArrayRef<Use> list = uses[rank][number];
    for (const Use &use : list)
      if (use.stream != list.front().stream) {
        InFlightDiagnostic error = report(use, channel)
                                   << "used on a second stream";
        error.attachNote(decoded.locations[list.front().location])
            << "the first is used here";
        return error;
      }
  }
  return success();
}

LogicalResult ChannelChecker::checkMembers(uint32_t number) {
  const Channel &channel = decoded.program.channels[number];
  const int64_t first = channel.ranks.front();
  llvm::ArrayRef<Use> expected = uses[first][number];
  for (int64_t rank : llvm::drop_begin(channel.ranks)) {
    llvm::ArrayRef<Use> list = uses[rank][number];
    for (size_t i = 0; i < std::min(expected.size(), list.size()); ++i)
      if (failed(checkPair(channel, rank, list[i], first, expected[i])))
        return failure();
    if (list.size() == expected.size())
      continue;
    const bool isMissing = list.size() < expected.size();
    const Use &lonely =
        isMissing ? expected[list.size()] : list[expected.size()];
    llvm::StringRef what = channel.isAllReduce ? "part of the reduction"
                           : isMissing         ? "receive"
                                               : "send";
    return report(lonely, channel)
           << "rank " << (isMissing ? rank : first) << " has no " << what
           << " that matches (" << expected.size() << " on rank " << first
           << ", " << list.size() << " on rank " << rank << ")";
  }
  return success();
}

LogicalResult ChannelChecker::checkPair(const Channel &channel, int64_t rank,
                                        const Use &use, int64_t otherRank,
                                        const Use &other) {
  const bool agrees =
      channel.isAllReduce
          ? use.buffer->shape.type == other.buffer->shape.type &&
                use.buffer->bytes == other.buffer->bytes
          : use.buffer->bytes == other.buffer->bytes;
  if (agrees)
    return success();
  InFlightDiagnostic error =
      report(use, channel) << use.buffer->bytes << " bytes of "
                           << getName(use.buffer->shape.type) << " on rank "
                           << rank << " do not match " << other.buffer->bytes
                           << " bytes of " << getName(other.buffer->shape.type)
                           << " on rank " << otherRank;
  error.attachNote(decoded.locations[other.location]) << "the other is here";
  return error;
}

} // namespace

LogicalResult checkChannels(const DecodedProgram &decoded) {
  return ChannelChecker(decoded).check();
}

} // namespace mf::program
