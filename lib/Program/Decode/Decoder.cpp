//===- Decoder.cpp - A module to a program --------------------------------===//

#include "mf/Program/Decoder.h"
#include "DecoderState.h"

using namespace mlir;

namespace mf::program {

/// The largest product of the step's sizes: tokens of one step.
static constexpr int64_t maximumTokens = int64_t{1} << 40;

static LogicalResult decodeHeader(ascend::ProgramOp op, Program &program) {
  int64_t tokens = 1;
  for (int64_t size :
       {op.getMicroBatches(), op.getMicroBatchSize(), op.getSequenceLength()}) {
    if (size < 1 || size > maximumTokens / tokens)
      return op.emitError("micro_batches, micro_batch_size and sequence_length "
                          "are not those of a training step");
    tokens *= size;
  }
  if (static_cast<int64_t>(op.getVocabSize()) < 1)
    return op.emitError("expected a positive vocab_size, but got ")
           << static_cast<int64_t>(op.getVocabSize());
  program.microBatches = op.getMicroBatches();
  program.microBatchSize = op.getMicroBatchSize();
  program.sequenceLength = op.getSequenceLength();
  program.vocabSize = op.getVocabSize();
  program.padTokenId = op.getPadTokenId();
  program.ignoreIndex = op.getIgnoreIndex();
  if (DictionaryAttr schedule = op.getLrScheduleAttr()) {
    FailureOr<LrSchedule> decoded = decodeLrSchedule(op, schedule);
    if (failed(decoded))
      return failure();
    program.lrSchedule = std::move(*decoded);
  }
  if (DictionaryAttr scale = op.getLossScaleAttr()) {
    FailureOr<LossScale> decoded = decodeLossScale(op, scale);
    if (failed(decoded))
      return failure();
    program.lossScale = *decoded;
  }
  return success();
}

/// The programs in the order of their ranks.
static FailureOr<SmallVector<ascend::ProgramOp>> sortRanks(ModuleOp module) {
  SmallVector<ascend::ProgramOp> given;
  for (Operation &op : module.getBody()->getOperations()) {
    auto program = dyn_cast<ascend::ProgramOp>(op);
    if (!program)
      return op.emitError("is not lowered: expected only ascend.program; run "
                          "mf-opt --recompute-config=FILE on the model");
    given.push_back(program);
  }
  if (given.empty())
    return module.emitError("has no ascend.program");
  SmallVector<ascend::ProgramOp> sorted(given.size());
  for (ascend::ProgramOp program : given) {
    if (program.getRanks() != given.size())
      return program.emitError("is one of ")
             << program.getRanks() << " ranks, but the file has "
             << given.size();
    if (program.getRank() >= given.size())
      return program.emitError("rank ")
             << program.getRank() << " is not one of " << given.size();
    ascend::ProgramOp &place = sorted[program.getRank()];
    if (place) {
      InFlightDiagnostic error = program.emitError("rank ")
                                 << program.getRank() << " is given twice";
      error.attachNote(place.getLoc()) << "it is here already";
      return error;
    }
    place = program;
  }
  return sorted;
}

static LogicalResult checkSameStep(ascend::ProgramOp a, ascend::ProgramOp b) {
  auto key = [](ascend::ProgramOp op) {
    return std::make_tuple(op.getMicroBatches(), op.getMicroBatchSize(),
                           op.getSequenceLength(), op.getVocabSize(),
                           op.getPadTokenId(), op.getIgnoreIndex(),
                           op.getLrScheduleAttr(), op.getLossScaleAttr());
  };
  if (key(a) == key(b))
    return success();
  InFlightDiagnostic error =
      b.emitError("describes another step than rank 0: micro_batches, "
                  "micro_batch_size, sequence_length, vocab_size, "
                  "pad_token_id, ignore_index, lr_schedule and loss_scale must "
                  "agree");
  error.attachNote(a.getLoc()) << "rank 0 is here";
  return error;
}

FailureOr<DecodedProgram> decodeProgram(ModuleOp module) {
  FailureOr<SmallVector<ascend::ProgramOp>> programs = sortRanks(module);
  if (failed(programs))
    return failure();
  DecoderState state;
  if (failed(decodeHeader(programs->front(), state.result.program)))
    return failure();
  for (ascend::ProgramOp op : *programs) {
    if (failed(checkSameStep(programs->front(), op)))
      return failure();
    FailureOr<Rank> rank = decodeRank(op, state);
    if (failed(rank))
      return failure();
    state.result.program.ranks.push_back(std::move(*rank));
  }
  if (failed(checkChannels(state.result)))
    return failure();
  return std::move(state.result);
}

} // namespace mf::program
