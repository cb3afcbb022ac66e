//===- StageDecoder.cpp - One ascend.program to one stage -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ListDecoder.h"
#include "mf/Support/Alignment.h"

using namespace mlir;

namespace mf::program {

static StreamKind decodeStreamKind(ascend::StreamKind kind) {
  switch (kind) {
  case ascend::StreamKind::Compute:
    return StreamKind::Compute;
  case ascend::StreamKind::HostToDevice:
    return StreamKind::HostToDevice;
  case ascend::StreamKind::DeviceToHost:
    return StreamKind::DeviceToHost;
  case ascend::StreamKind::Communication:
    return StreamKind::Communication;
  }
  llvm_unreachable("covers all of them");
}

static LogicalResult checkParts(ascend::FrameLayoutOp op,
                                const FrameLayout &layout) {
  int64_t last = -1;
  for (int64_t begin : layout.parts) {
    if (begin <= last || begin > layout.bytes ||
        begin % mf::addressAlignment != 0)
      return op.emitError("a part begins at ")
             << begin << "; expected ascending multiples of "
             << mf::addressAlignment << ", the last at most " << layout.bytes;
    last = begin;
  }
  if (layout.parts.empty() || layout.parts.front() != 0)
    return op.emitError("expected its first part to begin at 0");
  return success();
}

namespace {

/// Decodes one program. Symbols may be used before their declaration in the
/// file, so each kind of declaration is decoded for the whole program before
/// the next kind.
class StageDecoder {
public:
  StageDecoder(ascend::ProgramOp program, DecoderState &state)
      : program(program), state(state) {}

  FailureOr<StageProgram> decode() {
    StageProgram &stage = context.stage;
    stage.name = program.getSymName().str();
    stage.location = state.addLocation(program);
    stage.stage = static_cast<int64_t>(program.getStage());
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
      Routine &routine = stage.routines[number++];
      FailureOr<InstructionList> body =
          ListDecoder(state, context, &routine).decode(op.getBody());
      if (failed(body))
        return failure();
      routine.body = std::move(*body);
    }
    if (failed(decodeStep()))
      return failure();
    return std::move(stage);
  }

private:
  LogicalResult decodeSizes() {
    if (DictionaryAttr memory = program.getTrainerMemoryAttr()) {
      FailureOr<trainer::TrainerPeak> peak =
          decodeTrainerMemory(program, memory);
      if (failed(peak))
        return failure();
      context.stage.trainerPeak = std::move(*peak);
    }
    if (!state.isPlanned)
      return success();
    if (!program.getArenaBytes())
      return program.emitError("has no arena_bytes: its memory is not planned; "
                               "run mf-opt --ascend-plan-memory on it");
    context.stage.arenaBytes = static_cast<int64_t>(*program.getArenaBytes());
    context.stage.hostBytes =
        static_cast<int64_t>(program.getHostBytes().value_or(0));
    for (int64_t bytes : {context.stage.arenaBytes, context.stage.hostBytes})
      if (bytes < 0 || bytes > maximumBytes)
        return program.emitError("cannot have ") << bytes << " bytes of memory";
    context.stage.maxLiveBytes = program.getMaxLiveBytes();
    context.stage.hbmLimitBytes = program.getHbmLimitBytes();
    return success();
  }

  LogicalResult checkOperations() {
    for (Operation &op : program.getBody().getOps())
      if (!isa<ascend::StreamOp, ascend::StaticOp, ascend::FrameLayoutOp,
               ascend::RoutineOp, ascend::StepOp>(op))
        return op.emitError(
            "cannot stand in a program outside of a routine or the step");
    return success();
  }

  LogicalResult decodeStreams() {
    std::optional<uint32_t> compute;
    for (auto op : program.getBody().getOps<ascend::StreamOp>()) {
      ProgramStream stream;
      stream.name = op.getSymName().str();
      stream.kind = decodeStreamKind(op.getKind());
      const uint32_t number = context.stage.streams.size();
      if (stream.kind == StreamKind::Compute) {
        if (compute)
          return op.emitError("the program has a compute stream already: '")
                 << context.stage.streams[*compute].name << "'";
        compute = number;
      }
      context.streams[stream.name] = number;
      context.stage.streams.push_back(std::move(stream));
    }
    if (!compute)
      return program.emitError("has no compute stream");
    context.stage.computeStream = *compute;
    return success();
  }

  LogicalResult decodeStatic(ascend::StaticOp op) {
    FailureOr<BufferShape> type = decodeType(op, op.getType());
    if (failed(type))
      return failure();
    if (failed(checkPlace(op, op.getOffset(), *type, state, context)))
      return failure();
    Static result;
    result.name = op.getSymName().str();
    result.role = *parseRole(ascend::stringifyRole(op.getRole()));
    result.of = op.getOf().value_or("").str();
    result.shape = type->shape;
    result.bytes = type->bytes;
    result.space = type->space;
    result.offset = static_cast<int64_t>(op.getOffset().value_or(0));
    if (std::optional<ascend::SliceAttr> slice = op.getSlice())
      if (failed(decodeSlice(op, *slice, result)))
        return failure();
    result.tied = op.getTied().value_or("").str();
    result.location = state.addLocation(op);
    if (std::optional<Attribute> init = op.getInit()) {
      FailureOr<InitialValue> value = decodeInitialValue(op, *init);
      if (failed(value))
        return failure();
      result.init = *value;
    }
    context.statics[result.name] = context.stage.statics.size();
    context.stage.statics.push_back(std::move(result));
    return success();
  }

  /// The operation's verifier has checked that the parts are even.
  LogicalResult decodeSlice(ascend::StaticOp op, ascend::SliceAttr attribute,
                            Static &target) {
    const Mesh &mesh = state.result.program.mesh;
    Slice slice;
    int64_t wholeBytes = target.bytes;
    for (auto [index, extent] : llvm::enumerate(attribute.getShape())) {
      std::vector<std::string> &axes = slice.axes.emplace_back();
      for (auto axis : attribute.getAxes()[index].getAsRange<StringAttr>()) {
        if (!mesh.hasAxis(axis.getValue()))
          return op.emitError("is cut over axis '")
                 << axis.getValue() << "', which the mesh does not have";
        axes.push_back(axis.str());
      }
      const int64_t parts = mesh.getNumParts(axes);
      if (extent % parts != 0 || extent / parts != target.shape.dims[index])
        return op.emitError("expected 1/")
               << parts << " of dimension " << index << ", which is " << extent
               << " long, but holds " << target.shape.dims[index];
      if (wholeBytes > maximumBytes / parts)
        return op.emitError("is part of a tensor that is too large");
      wholeBytes *= parts;
      slice.dims.push_back(extent);
    }
    target.slice = std::move(slice);
    return success();
  }

  LogicalResult decodeLayout(ascend::FrameLayoutOp op) {
    if (!op.getOffsets() || !op.getBytes())
      if (failed(state.checkOffset(op, std::nullopt, 0, 1, 0, "")))
        return failure();
    FrameLayout layout;
    layout.name = op.getSymName().str();
    layout.location = state.addLocation(op);
    // A new plan ignores the existing one.
    layout.bytes =
        state.isPlanned ? static_cast<int64_t>(op.getBytes().value_or(0)) : 0;
    if (layout.bytes < 0 || layout.bytes > context.stage.arenaBytes)
      return op.emitError("a frame of ")
             << layout.bytes << " bytes does not fit the arena, which has "
             << context.stage.arenaBytes;
    layout.hostBytes = state.isPlanned
                           ? static_cast<int64_t>(op.getHostBytes().value_or(0))
                           : 0;
    if (layout.hostBytes < 0 || layout.hostBytes > context.stage.hostBytes)
      return op.emitError("a frame of ")
             << layout.hostBytes
             << " bytes does not fit host memory, which has "
             << context.stage.hostBytes;
    if (state.isPlanned && op.getParts())
      layout.parts = op.getParts()->vec();
    if (failed(checkParts(op, layout)))
      return failure();
    if (failed(decodeChunk(op, layout)))
      return failure();
    for (auto [index, type] : llvm::enumerate(op.getTypes())) {
      int64_t offset = op.getOffsets() ? (*op.getOffsets())[index] : 0;
      FailureOr<BufferShape> shape =
          decodeType(op, cast<TypeAttr>(type).getValue());
      if (failed(shape))
        return failure();
      const bool onDevice = shape->space == Space::Device;
      if (failed(state.checkOffset(
              op, offset, shape->bytes, mf::getBytes(shape->shape.type),
              onDevice ? layout.bytes : layout.hostBytes,
              onDevice ? "the frame" : "the frame's host part")))
        return failure();
      uint32_t part = 0;
      if (onDevice && state.isPlanned) {
        if (failed(checkPart(op, layout, offset, shape->bytes)))
          return failure();
        part = layout.getPart(offset);
        offset -= layout.parts[part];
      }
      layout.slots.push_back({cast<StringAttr>(op.getNames()[index]).str(),
                              shape->shape, shape->bytes, offset, shape->space,
                              part});
    }
    context.layouts[layout.name] = context.stage.layouts.size();
    context.stage.layouts.push_back(std::move(layout));
    return success();
  }

  /// Decodes the certificate of a layout's chunk, and finds the chunk's first
  /// layout.
  LogicalResult decodeChunk(ascend::FrameLayoutOp op, FrameLayout &layout) {
    if (std::optional<DictionaryAttr> computes = op.getComputes()) {
      FailureOr<Certificate> certificate = decodeCertificate(op, *computes);
      if (failed(certificate))
        return failure();
      layout.computes = std::move(*certificate);
    }
    layout.chunk = context.stage.layouts.size();
    if (!op.getVersionOf())
      return success();
    auto found = context.layouts.find(*op.getVersionOf());
    if (found == context.layouts.end() ||
        context.stage.layouts[found->second].chunk != found->second)
      return op.emitError("is a version of '")
             << *op.getVersionOf()
             << "', which is not the layout of a chunk before it";
    layout.chunk = found->second;
    const FrameLayout &first = context.stage.layouts[layout.chunk];
    if (first.computes.has_value() != layout.computes.has_value() ||
        (first.computes && !first.computes->givesSame(*layout.computes)))
      return op.emitError("is a version of '")
             << first.name << "', but does not compute the same";
    return success();
  }

  LogicalResult declareRoutine(ascend::RoutineOp op) {
    Routine routine;
    routine.name = op.getSymName().str();
    routine.updatesParameters = op.getUpdatesParameters();
    routine.recomputes = op.getRecomputes();
    routine.continues = op.getContinues();
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
      return op.emitError(
          "a routine has no results; it writes to its arguments");
    if (op.getBody().empty())
      return op.emitError("has no body");
    if (std::optional<llvm::StringRef> layout = op.getLayout()) {
      auto found = context.layouts.find(*layout);
      if (found == context.layouts.end())
        return op.emitError("unknown frame layout ") << op.getLayoutAttr();
      routine.layout = found->second;
    }
    context.routines[routine.name] = context.stage.routines.size();
    context.stage.routines.push_back(std::move(routine));
    return success();
  }

  LogicalResult decodeStep() {
    auto steps = program.getBody().getOps<ascend::StepOp>();
    if (!llvm::hasSingleElement(steps))
      return program.emitError("expected one ascend.step, but got ")
             << std::distance(steps.begin(), steps.end());
    FailureOr<InstructionList> list =
        ListDecoder(state, context, nullptr).decode((*steps.begin()).getBody());
    if (failed(list))
      return failure();
    context.stage.step = std::move(*list);
    ascend::StepOp step = *steps.begin();
    if (std::optional<DictionaryAttr> computes = step.getComputes()) {
      FailureOr<StepCertificate> certificate =
          decodeStepCertificate(step, *computes);
      if (failed(certificate))
        return failure();
      context.stage.computes = std::move(*certificate);
    }
    return success();
  }

  template <typename OpType, typename Function>
  LogicalResult forEach(Function decodeOne) {
    for (OpType op : program.getBody().getOps<OpType>())
      if (failed(decodeOne(op)))
        return failure();
    return success();
  }

  ascend::ProgramOp program;
  DecoderState &state;
  StageContext context;
};

} // namespace

FailureOr<StageProgram> decodeStage(ascend::ProgramOp op, DecoderState &state) {
  return StageDecoder(op, state).decode();
}

} // namespace mf::program
