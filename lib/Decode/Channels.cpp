//===- Channels.cpp - Checks that exchanges match -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The parties of a channel are the stages that use it and, for a transfer,
// their sides. All ranks of a stage do the same, so parties match if their
// programs do.
//
//===----------------------------------------------------------------------===//

#include "DecoderState.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace mf::program {

namespace {

/// One use of a channel. Uses are in the order in which a stage issues them.
struct ChannelUse {
  const Instruction *instruction = nullptr;
  const Exchange *exchange = nullptr;
  /// The bytes that are sent or received, or the bytes of a collective's input.
  int64_t bytes = 0;
};

/// A stage's side of a channel.
struct Party {
  int64_t stage = 0;
  llvm::StringRef side;
  std::vector<ChannelUse> uses;
};

} // namespace

static int64_t getOutputBytes(const ChannelUse &use) {
  return use.instruction->accesses.back().operand.bytes;
}

/// Returns whether two members of an all_to_all_v have the same room for rows,
/// as they must.
static bool haveSameRows(const ChannelUse &use, const ChannelUse &other) {
  const RowExchange &a = use.exchange->rows, &b = other.exchange->rows;
  return a.rowBytes == b.rowBytes && a.experts == b.experts &&
         a.fill == b.fill && getOutputBytes(use) == getOutputBytes(other);
}

static std::string describeRows(const ChannelUse &use) {
  const RowExchange &rows = use.exchange->rows;
  return llvm::formatv(" to {0} bytes, in rows of {1} bytes for {2} experts, "
                       "filled up with {3}",
                       getOutputBytes(use), rows.rowBytes, rows.experts,
                       llvm::format("%g", rows.fill))
      .str();
}

namespace {

class ChannelChecker {
public:
  explicit ChannelChecker(const DecodedProgram &decoded) : decoded(decoded) {
    for (const Channel &channel : decoded.program.channels)
      addParties(channel);
    for (const StageProgram &stage : decoded.program.stages)
      addUses(stage, stage.step);
  }

  LogicalResult check() {
    for (auto [channel, list] : llvm::zip(decoded.program.channels, parties))
      if (failed(checkStreams(channel, list)) ||
          failed(checkParties(channel, list)))
        return failure();
    return success();
  }

private:
  void addParties(const Channel &channel) {
    std::vector<Party> &list = parties.emplace_back();
    if (channel.isTransfer) {
      list.push_back({channel.fromStage, "send", {}});
      list.push_back({channel.toStage, "receive", {}});
      return;
    }
    if (!channel.group.crossesStages()) {
      list.push_back({channel.fromStage, "collective", {}});
      return;
    }
    std::vector<int64_t> stages = channel.group.stages;
    if (stages.empty())
      llvm::append_range(
          stages, llvm::seq<int64_t>(0, decoded.program.mesh.getNumStages()));
    for (int64_t stage : stages)
      list.push_back({stage, "collective", {}});
  }

  void addUses(const StageProgram &stage, const InstructionList &list) {
    for (const Instruction &instruction : list.instructions) {
      if (const Call *call = list.getCall(instruction)) {
        const InstructionList &body = stage.routines[call->routine].body;
        if (!body.exchanges.empty())
          addUses(stage, body);
      }
      if (const Exchange *exchange = list.getExchange(instruction))
        addUse(stage, {&instruction, exchange,
                       instruction.accesses.front().operand.bytes});
    }
  }

  void addUse(const StageProgram &stage, const ChannelUse &use) {
    const Channel &channel = decoded.program.channels[use.exchange->channel];
    for (Party &party : parties[use.exchange->channel])
      if (party.stage == stage.stage &&
          (!channel.isTransfer ||
           use.exchange->isSend == (party.side == "send")))
        party.uses.push_back(use);
  }

  // On two streams, the order of a channel's messages would be undefined.
  LogicalResult checkStreams(const Channel &channel,
                             llvm::ArrayRef<Party> list) {
    for (const Party &party : list)
      for (const ChannelUse &use : party.uses)
        if (use.instruction->stream != party.uses.front().instruction->stream) {
          InFlightDiagnostic error = report(use, channel)
                                     << "used on a second stream";
          error.attachNote(
              decoded.locations[party.uses.front().instruction->location])
              << "the first is used here";
          return error;
        }
    return success();
  }

  LogicalResult checkParties(const Channel &channel,
                             llvm::ArrayRef<Party> list) {
    const Party &first = list.front();
    for (const Party &party : list.drop_front()) {
      for (auto [use, other] : llvm::zip(party.uses, first.uses))
        if (failed(checkPair(channel, party, use, first, other)))
          return failure();
      if (party.uses.size() == first.uses.size())
        continue;
      const bool isMissing = party.uses.size() < first.uses.size();
      const Party &shorter = isMissing ? party : first;
      const Party &longer = isMissing ? first : party;
      return report(longer.uses[shorter.uses.size()], channel)
             << "stage " << shorter.stage << " has no " << shorter.side
             << " that matches (" << first.uses.size() << " on stage "
             << first.stage << ", " << party.uses.size() << " on stage "
             << party.stage << ")";
    }
    return success();
  }

  LogicalResult checkPair(const Channel &channel, const Party &party,
                          const ChannelUse &use, const Party &other,
                          const ChannelUse &otherUse) {
    const Exchange &a = *use.exchange, &b = *otherUse.exchange;
    auto describe = [&](const Party &of, const ChannelUse &what) {
      std::string text = channel.isTransfer
                             ? std::string()
                             : getName(what.exchange->kind).str() + " of ";
      text += std::to_string(what.bytes) + " bytes of " +
              getName(what.exchange->type).str();
      if (!channel.isTransfer &&
          what.exchange->kind == CollectiveKind::AllToAllV)
        text += describeRows(what);
      if (!what.instruction->cell.empty())
        text += " ('" + what.instruction->cell + "')";
      return text + " on stage " + std::to_string(of.stage);
    };
    const bool agrees =
        use.bytes == otherUse.bytes &&
        (channel.isTransfer ||
         (a.kind == b.kind && a.type == b.type && a.reduction == b.reduction &&
          use.instruction->cell == otherUse.instruction->cell &&
          (a.kind != CollectiveKind::AllToAllV ||
           haveSameRows(use, otherUse))));
    if (agrees)
      return success();
    InFlightDiagnostic error =
        report(use, channel)
        << describe(party, use)
        << (channel.isTransfer ? " do not match " : " does not match ")
        << describe(other, otherUse);
    error.attachNote(decoded.locations[otherUse.instruction->location])
        << "the other is here";
    return error;
  }

  InFlightDiagnostic report(const ChannelUse &use, const Channel &channel) {
    return emitError(decoded.locations[use.instruction->location])
           << "channel '" << channel.name << "': ";
  }

  const DecodedProgram &decoded;
  /// The parties of each channel.
  std::vector<std::vector<Party>> parties;
};

} // namespace

LogicalResult checkChannels(const DecodedProgram &decoded) {
  return ChannelChecker(decoded).check();
}

} // namespace mf::program
