//===- RankDecoder.cpp - One ascend.program to one rank -------------------===//

#include "ListDecoder.h"

using namespace mlir;

namespace mf::program {

namespace {

/// Symbols may be used before they stand in the file, so each kind of
/// declaration is decoded for the whole program before the next kind.
class RankDecoder {
public:
  RankDecoder(ascend::ProgramOp program, DecoderState &state)
      : program(program), state(state) {}

  FailureOr<Rank> decode();

private:
  LogicalResult decodeSizes();
  LogicalResult checkOperations();
  LogicalResult decodeStreams();
  LogicalResult decodeStatic(ascend::StaticOp op);
  LogicalResult decodeLayout(ascend::FrameLayoutOp op);
  LogicalResult declareRoutine(ascend::RoutineOp op);
  LogicalResult decodeStep();

  template <typename OpType, typename Function>
  LogicalResult forEach(Function decodeOne) {
    for (OpType op : program.getBody().getOps<OpType>())
      if (failed(decodeOne(op)))
        return failure();
    return success();
  }

  ascend::ProgramOp program;
  DecoderState &state;
  RankContext context;
};

} // namespace

FailureOr<Rank> RankDecoder::decode() {
  Rank &rank = context.rank;
  rank.name = program.getSymName().str();
  rank.location = state.addLocation(program);
  context.number = program.getRank();
  context.numRanks = program.getRanks();
  if (failed(decodeSizes()) || failed(checkOperations()) ||
      failed(decodeStreams()) ||
      failed(forEach<ascend::StaticOp>(
          [&](ascend::StaticOp op) { return decodeStatic(op); })) ||
      failed(forEach<ascend::FrameLayoutOp>(
          [&](ascend::FrameLayoutOp op) { return decodeLayout(op); })) ||
      failed(forEach<ascend::RoutineOp>(
          [&](ascend::RoutineOp op) { return declareRoutine(op); })))
    return failure();
  uint32_t number = 0;
  for (auto op : program.getBody().getOps<ascend::RoutineOp>()) {
    Routine &routine = rank.routines[number++];
    FailureOr<InstructionList> body =
        ListDecoder(state, context, &routine).decode(op.getBody());
    if (failed(body))
      return failure();
    routine.body = std::move(*body);
  }
  if (failed(decodeStep()))
    return failure();
  return std::move(rank);
}

LogicalResult RankDecoder::decodeSizes() {
  if (!program.getArenaBytes())
    return program.emitError("has no arena_bytes: its memory is not planned; "
                             "run mf-opt --ascend-plan-memory on it");
  context.rank.arenaBytes = *program.getArenaBytes();
  context.rank.hostBytes = program.getHostBytes().value_or(0);
  for (int64_t bytes : {context.rank.arenaBytes, context.rank.hostBytes})
    if (bytes < 0 || bytes > maximumBytes)
      return program.emitError("cannot have ") << bytes << " bytes of memory";
  context.rank.maxLiveBytes = program.getMaxLiveBytes();
  context.rank.hbmLimitBytes = program.getHbmLimitBytes();
  return success();
}

LogicalResult RankDecoder::checkOperations() {
  for (Operation &op : program.getBody().getOps())
    if (!isa<ascend::StreamOp, ascend::StaticOp, ascend::FrameLayoutOp,
             ascend::RoutineOp, ascend::StepOp>(op))
      return op.emitError("cannot stand in a program outside of a routine or "
                          "the step");
  return success();
}

LogicalResult RankDecoder::decodeStreams() {
  std::optional<uint32_t> compute;
  for (auto op : program.getBody().getOps<ascend::StreamOp>()) {
    Stream stream;
    stream.name = op.getSymName().str();
    stream.kind = static_cast<StreamKind>(op.getKind());
    const uint32_t number = context.rank.streams.size();
    if (stream.kind == StreamKind::Compute) {
      if (compute)
        return op.emitError("the program has a compute stream already: '")
               << context.rank.streams[*compute].name << "'";
      compute = number;
    }
    context.streams[stream.name] = number;
    context.rank.streams.push_back(std::move(stream));
  }
  if (!compute)
    return program.emitError("has no compute stream");
  context.rank.computeStream = *compute;
  return success();
}

LogicalResult RankDecoder::decodeStatic(ascend::StaticOp op) {
  FailureOr<BufferShape> type = decodeType(op, op.getType());
  if (failed(type))
    return failure();
  const bool onDevice = type->space == Space::Device;
  if (failed(checkOffset(op, op.getOffset(), type->bytes,
                         mf::getBytes(type->shape.type),
                         context.getCapacity(type->space),
                         onDevice ? "the arena" : "host memory")))
    return failure();
  Static result;
  result.name = op.getSymName().str();
  result.role = static_cast<Role>(op.getRole());
  result.of = op.getOf().value_or("").str();
  result.shape = type->shape;
  result.bytes = type->bytes;
  result.space = type->space;
  result.offset = *op.getOffset();
  result.tied = op.getTied().value_or("").str();
  result.location = state.addLocation(op);
  if (std::optional<Attribute> init = op.getInit()) {
    FailureOr<InitialValue> value = decodeInitialValue(op, *init);
    if (failed(value))
      return failure();
    result.init = *value;
  }
  context.statics[result.name] = context.rank.statics.size();
  context.rank.statics.push_back(std::move(result));
  return success();
}

LogicalResult RankDecoder::decodeLayout(ascend::FrameLayoutOp op) {
  if (!op.getOffsets() || !op.getBytes())
    return checkOffset(op, std::nullopt, 0, 1, 0, "");
  FrameLayout layout;
  layout.name = op.getSymName().str();
  layout.bytes = *op.getBytes();
  if (layout.bytes < 0 || layout.bytes > context.rank.arenaBytes)
    return op.emitError("a frame of ")
           << layout.bytes << " bytes does not fit the arena, which has "
           << context.rank.arenaBytes;
  layout.hostBytes = op.getHostBytes().value_or(0);
  if (layout.hostBytes < 0 || layout.hostBytes > context.rank.hostBytes)
    return op.emitError("a frame of ")
           << layout.hostBytes << " bytes does not fit host memory, which has "
           << context.rank.hostBytes;
  for (auto [type, name, offset] :
       llvm::zip_equal(op.getTypes(), op.getNames(), *op.getOffsets())) {
    FailureOr<BufferShape> shape =
        decodeType(op, cast<TypeAttr>(type).getValue());
    if (failed(shape))
      return failure();
    const bool onDevice = shape->space == Space::Device;
    if (failed(checkOffset(op, offset, shape->bytes,
                           mf::getBytes(shape->shape.type),
                           onDevice ? layout.bytes : layout.hostBytes,
                           onDevice ? "the frame" : "the frame's host part")))
      return failure();
    layout.slots.push_back({cast<StringAttr>(name).str(), shape->shape,
                            shape->bytes, offset, shape->space});
  }
  context.layouts[layout.name] = context.rank.layouts.size();
  context.rank.layouts.push_back(std::move(layout));
  return success();
}

LogicalResult RankDecoder::declareRoutine(ascend::RoutineOp op) {
  Routine routine;
  routine.name = op.getSymName().str();
  for (Type type : op.getFunctionType().getInputs()) {
    if (isa<ascend::EventType>(type)) {
      ++routine.numEventArguments;
      continue;
    }
    if (routine.numEventArguments > 0)
      return op.emitError("expected its buffers before its events");
    ++routine.numArguments;
  }
  if (op.getFunctionType().getNumResults() != 0)
    return op.emitError("a routine has no results; it writes to its arguments");
  if (op.getBody().empty())
    return op.emitError("has no body");
  if (std::optional<llvm::StringRef> layout = op.getLayout()) {
    auto found = context.layouts.find(*layout);
    if (found == context.layouts.end())
      return op.emitError("unknown frame layout ") << op.getLayoutAttr();
    routine.layout = found->second;
  }
  context.routines[routine.name] = context.rank.routines.size();
  context.rank.routines.push_back(std::move(routine));
  return success();
}

LogicalResult RankDecoder::decodeStep() {
  auto steps = program.getBody().getOps<ascend::StepOp>();
  if (!llvm::hasSingleElement(steps))
    return program.emitError("expected one ascend.step, but got ")
           << std::distance(steps.begin(), steps.end());
  FailureOr<InstructionList> list =
      ListDecoder(state, context, nullptr).decode((*steps.begin()).getBody());
  if (failed(list))
    return failure();
  context.rank.step = std::move(*list);
  return success();
}

FailureOr<Rank> decodeRank(ascend::ProgramOp op, DecoderState &state) {
  return RankDecoder(op, state).decode();
}

} // namespace mf::program
