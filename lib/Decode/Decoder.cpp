//===- Decoder.cpp - A module to a program --------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Decode/Decoder.h"
#include "DecoderState.h"
#include "dialects/mf/MfDialect.h"

using namespace mlir;

namespace mf::program {

/// A limit on the product of the step's sizes, which are the tokens of one
/// step.
static constexpr int64_t maximumTokens = int64_t{1} << 40;

void DecodedProgram::emit(const LocatedError &error) const {
  InFlightDiagnostic diagnostic = emitError(locations[error.getLocation()])
                                  << error.getMessage();
  for (const LocatedError::Note &note : error.getNotes())
    diagnostic.attachNote(locations[note.location]) << note.text;
}

static LogicalResult decodeHeader(ascend::ProgramOp op, Program &program) {
  int64_t tokens = 1;
  for (const uint64_t number :
       {op.getMicroBatches(), op.getMicroBatchSize(), op.getSequenceLength()}) {
    const auto size = static_cast<int64_t>(number);
    if (size < 1 || size > maximumTokens / tokens)
      return op.emitError("micro_batches, micro_batch_size and sequence_length "
                          "are not those of a training step");
    tokens *= size;
  }
  if (static_cast<int64_t>(op.getVocabSize()) < 1)
    return op.emitError("expected a positive vocab_size, but got ")
           << static_cast<int64_t>(op.getVocabSize());
  program.microBatches = static_cast<int64_t>(op.getMicroBatches());
  program.microBatchSize = static_cast<int64_t>(op.getMicroBatchSize());
  program.sequenceLength = static_cast<int64_t>(op.getSequenceLength());
  program.vocabSize = static_cast<int64_t>(op.getVocabSize());
  program.padTokenId = static_cast<int64_t>(op.getPadTokenId());
  program.ignoreIndex = static_cast<int64_t>(op.getIgnoreIndex());
  program.graphKernelFusion = op.getGraphKernelFusion();
  if (DictionaryAttr schedule = op.getLrScheduleAttr()) {
    FailureOr<LearningRateRule> decoded = decodeLrSchedule(op, schedule);
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

/// Returns the programs in the order of their stages.
static FailureOr<SmallVector<ascend::ProgramOp>> sortStages(ModuleOp module) {
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
    if (program.getStage() >= given.size())
      return program.emitError("stage ")
             << program.getStage() << " is not one of " << given.size()
             << ": the file has one program for each stage";
    ascend::ProgramOp &place = sorted[program.getStage()];
    if (place) {
      InFlightDiagnostic error = program.emitError("stage ")
                                 << program.getStage() << " is given twice";
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
                           op.getLrScheduleAttr(), op.getLossScaleAttr(),
                           op.getGraphKernelFusion());
  };
  if (key(a) == key(b))
    return success();
  InFlightDiagnostic error = b.emitError(
      "describes another step than stage 0: micro_batches, micro_batch_size, "
      "sequence_length, vocab_size, pad_token_id, ignore_index, lr_schedule, "
      "loss_scale and graph_kernel_fusion must agree");
  error.attachNote(a.getLoc()) << "stage 0 is here";
  return error;
}

FailureOr<DecodedProgram> decodeProgram(ModuleOp module) {
  FailureOr<SmallVector<ascend::ProgramOp>> programs = sortStages(module);
  if (failed(programs))
    return failure();
  FailureOr<Mesh> mesh =
      decodeMesh(module, static_cast<int64_t>(programs->size()));
  if (failed(mesh))
    return failure();
  DecoderState state(/*isPlanned=*/true);
  state.result.program.mesh = std::move(*mesh);
  if (failed(decodeSampleOrder(module, state.result.program.sampleOrder)))
    return failure();
  if (failed(decodeHeader(programs->front(), state.result.program)))
    return failure();
  for (ascend::ProgramOp op : *programs) {
    if (failed(checkSameStep(programs->front(), op)))
      return failure();
    FailureOr<StageProgram> stage = decodeStage(op, state);
    if (failed(stage))
      return failure();
    state.result.program.stages.push_back(std::move(*stage));
  }
  if (failed(checkChannels(state.result)))
    return failure();
  return std::move(state.result);
}

FailureOr<UnplannedStage> decodeUnplanned(ascend::ProgramOp op) {
  auto module = op->getParentOfType<ModuleOp>();
  if (!module)
    return op.emitError(
        "expected a module around it, whose mesh says what ranks there are");
  DecoderState state(/*isPlanned=*/false);
  auto programs = module.getBody()->getOps<ascend::ProgramOp>();
  FailureOr<Mesh> mesh =
      decodeMesh(module, std::distance(programs.begin(), programs.end()));
  if (failed(mesh))
    return failure();
  state.result.program.mesh = std::move(*mesh);
  FailureOr<StageProgram> stage = decodeStage(op, state);
  if (failed(stage))
    return failure();
  return UnplannedStage{std::move(*stage),
                        std::move(state.result.program.kernels),
                        std::move(state.operations)};
}

} // namespace mf::program
