//===- MfVocabularyOps.cpp - Embedding and loss ---------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/MfOps.h"
#include "mf/Program/Signatures/KernelSignature.h"

using namespace mlir;
using mf::Engine;
using mf::Reduction;
using namespace mf::ir;

static RankedTensorType getTensor(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static RankedTensorType getFloats(MLIRContext *context,
                                  ArrayRef<int64_t> shape) {
  return RankedTensorType::get(shape, Float32Type::get(context));
}

/// Returns the attributes of a kernel that takes `ignore_index` and, for a part
/// of a vocabulary, the number of `classes` of the whole.
static DictionaryAttr getLossAttributes(Operation *op, Attribute ignoreIndex,
                                        std::optional<int64_t> classes) {
  Builder builder(op->getContext());
  NamedAttrList attributes;
  attributes.set("ignore_index", ignoreIndex);
  if (classes)
    attributes.set("classes", builder.getI64IntegerAttr(*classes));
  return attributes.getDictionary(op->getContext());
}

/// Returns the number of columns of the whole vocabulary if `logits` are a
/// rank's part, or none if they are whole.
template <typename Op> static std::optional<int64_t> getClasses(Op op) {
  if (!op.getFirstRow())
    return std::nullopt;
  return getTensor(op.getLogits()).getDimSize(1) *
         getGroupSize(op, *op.getVocabAxes());
}

/// Checks that a part of a vocabulary has axes and a first row, and that the
/// whole has neither.
template <typename Op> static LogicalResult verifyVocabulary(Op op) {
  if (op.getVocabAxes().has_value() != (op.getFirstRow() != nullptr))
    return op.emitOpError("expected both vocab_axes and the number of the "
                          "first row, or neither");
  if (!op.getFirstRow())
    return success();
  if (failed(verifyGroup(op, *op.getVocabAxes())))
    return failure();
  return verifyPosition(op, op.getFirstRow());
}

//===----------------------------------------------------------------------===//
// EmbeddingOp
//===----------------------------------------------------------------------===//

StringRef EmbeddingOp::getKernelName() {
  return getFirstRow() ? "mfEmbeddingPart" : "aclnnEmbedding";
}
StringRef EmbeddingGradOp::getKernelName() {
  return getFirstRow() ? "mfEmbeddingPartBackward"
                       : "aclnnEmbeddingDenseBackward";
}
bool EmbeddingOp::isView() { return false; }
bool EmbeddingGradOp::isView() { return false; }
DictionaryAttr EmbeddingOp::getKernelAttributes() {
  return DictionaryAttr::get(getContext());
}
DictionaryAttr EmbeddingGradOp::getKernelAttributes() {
  return DictionaryAttr::get(getContext());
}

LogicalResult EmbeddingOp::verify() {
  RankedTensorType table = getTensor(getTable());
  if (table.getRank() != 2)
    return emitOpError("expected a table of rank 2, but got ") << table;
  SmallVector<int64_t> shape(getTensor(getIndices()).getShape());
  shape.push_back(table.getDimSize(1));
  auto expected = RankedTensorType::get(shape, table.getElementType());
  if (getTensor(getResult()).dropEncoding() != expected)
    return emitOpError("expected a result of type ")
           << expected << ", but got " << getType();
  return verifyVocabulary(*this);
}

LogicalResult EmbeddingGradOp::verify() { return verifyVocabulary(*this); }

void EmbeddingOp::buildGradient(OpBuilder &builder, ValueRange resultGradients,
                                ArrayRef<bool> needed,
                                MutableArrayRef<Value> operandGradients) {
  operandGradients[0] = EmbeddingGradOp::create(
      builder, getLoc(), getTable().getType(), resultGradients.front(),
      getIndices(), getFirstRow(), getVocabAxesAttr(), nullptr, nullptr,
      nullptr);
}

//===----------------------------------------------------------------------===//
// CrossEntropyOp
//===----------------------------------------------------------------------===//

void CrossEntropyOp::build(OpBuilder &builder, OperationState &state,
                           Value logits, Value labels, int64_t ignoreIndex) {
  RankedTensorType rows =
      getFloats(builder.getContext(), getTensor(labels).getShape());
  RankedTensorType scalar = getFloats(builder.getContext(), {});
  build(builder, state, scalar, rows, scalar, logits, labels, Value(), Value(),
        builder.getI64IntegerAttr(ignoreIndex), nullptr, nullptr, nullptr,
        nullptr, nullptr, nullptr);
}

/// Returns whether the loss is a mean of the means of several ranks.
static bool hasOwnMeans(CrossEntropyOp op) {
  return op.getOwnMeans() && op.getTokenAxes();
}

LogicalResult CrossEntropyOp::verify() {
  RankedTensorType logits = getTensor(getLogits()),
                   labels = getTensor(getLabels());
  if (logits.getRank() != 2 || labels.getRank() != 1 ||
      logits.getDimSize(0) != labels.getDimSize(0))
    return emitOpError("expected [rows, classes] logits and [rows] labels, but "
                       "got ")
           << logits << " and " << labels;
  RankedTensorType scalar = getFloats(getContext(), {});
  RankedTensorType rows = getFloats(getContext(), labels.getShape());
  RankedTensorType count =
      hasOwnMeans(*this) ? getFloats(getContext(), {1}) : scalar;
  if (getTensor(getLoss()).dropEncoding() != scalar ||
      getTensor(getCount()).dropEncoding() != count ||
      getTensor(getLogsumexp()).dropEncoding() != rows)
    return emitOpError("expected a scalar loss, ")
           << count << " count and " << rows << " logsumexp, in fp32";
  if (Value counted = getCounted())
    if (getTensor(counted).getRank() != 1 ||
        getTensor(counted).getDimSize(0) % labels.getDimSize(0) != 0)
      return emitOpError("expected counted labels of which ")
             << labels << " is a piece, but got " << counted.getType();
  if (getTokenAxes() && failed(verifyGroup(*this, *getTokenAxes())))
    return failure();
  return verifyVocabulary(*this);
}

bool CrossEntropyOp::isView() { return false; }

/// If ranks share rows or classes, several kernels are emitted.
StringRef CrossEntropyOp::getKernelName() {
  return getFirstRow() || getTokenAxes() || getCounted()
             ? ""
             : "aclnnCrossEntropyLoss";
}
DictionaryAttr CrossEntropyOp::getKernelAttributes() {
  return getLossAttributes(*this, getIgnoreIndexAttr(), std::nullopt);
}
Engine CrossEntropyOp::getEngine() { return Engine::Vector; }

/// Counts the kernels that read the logits: one operation per element for each
/// row's maximum, three for its sum of exponentials.
int64_t CrossEntropyOp::getFlops() {
  StringRef kernel = getKernelName();
  return kernel.empty() ? 4 * getTensor(getLogits()).getNumElements()
                        : getKernelFlops(*this, kernel, getKernelAttributes());
}

namespace {

/// Emits a rank's work for a loss whose rows or classes are sharded over ranks.
class LossEmitter {
public:
  LossEmitter(CrossEntropyOp op, LaunchEmitter &emitter)
      : op(op), emitter(emitter), logits(emitter.getBuffer(op.getLogits())),
        labels(emitter.getBuffer(op.getLabels())) {}

  void emit() {
    const bool ownMeans = hasOwnMeans(op);
    // With own means, the shape is that of one rank's part of the sums of all
    // ranks.
    EmittedBuffer sums =
        emitter.createTemporary(ownMeans ? getFloats(op.getContext(), {1, 2})
                                         : getFloats(op.getContext(), {2}));
    EmittedBuffer logSumExp = emitter.createBuffer(op.getLogsumexp());
    if (op.getFirstRow())
      emitRows(sums, logSumExp);
    else
      emitter.launch("mfCrossEntropySum", {logits, labels}, {sums, logSumExp},
                     getAttributes());
    if (op.getCounted())
      emitter.launch(
          "mfCountLabels", emitter.getBuffer(op.getCounted()), sums,
          getLossAttributes(op, op.getIgnoreIndexAttr(),
                            getClasses(op).value_or(
                                getTensor(op.getLogits()).getDimSize(1))));
    ArrayAttr axes = op.getTokenAxesAttr();
    if (axes && !ownMeans)
      reduce(sums, axes, Reduction::Sum);
    EmittedBuffer loss = emitter.createBuffer(op.getLoss());
    emitter.launch("mfMeanLoss", sums,
                   {loss, emitter.createBuffer(op.getCount())},
                   getMeanAttributes(ownMeans));
    if (ownMeans)
      reduce(loss, axes, Reduction::Sum);
  }

private:
  DictionaryAttr getAttributes() {
    return getLossAttributes(op, op.getIgnoreIndexAttr(), getClasses(op));
  }

  /// Returns the number of ranks over which a mean of means is taken.
  DictionaryAttr getMeanAttributes(bool ownMeans) {
    Builder builder(op.getContext());
    if (!ownMeans)
      return builder.getDictionaryAttr({});
    const int64_t ranks = getGroupSize(op, op.getTokenAxesAttr());
    return builder.getDictionaryAttr(
        builder.getNamedAttr("ranks", builder.getI64IntegerAttr(ranks)));
  }

  void reduce(EmittedBuffer buffer, ArrayAttr axes, Reduction reduction) {
    EmittedCollective collective;
    collective.reduction = reduction;
    collective.input = collective.output = buffer;
    setAxes(collective, axes);
    emitter.communicate(collective);
  }

  /// The ranks exchange only three vectors with a number per row.
  void emitRows(EmittedBuffer sums, EmittedBuffer logSumExp) {
    RankedTensorType rows =
        getFloats(op.getContext(), getTensor(op.getLabels()).getShape());
    ArrayAttr axes = op.getVocabAxesAttr();
    // The labels' logits do not need the maximum, so that their sum over ranks
    // runs concurrently.
    EmittedBuffer picked = emitter.createTemporary(rows);
    EmittedBuffer max = emitter.createTemporary(rows);
    EmittedBuffer exponentials = emitter.createTemporary(rows);
    emitter.launch("mfRowMax", logits, max);
    reduce(max, axes, Reduction::Max);
    emitter.launch("mfPickLogit",
                   {logits, labels, emitter.getBuffer(op.getFirstRow())},
                   picked);
    reduce(picked, axes, Reduction::Sum);
    emitter.launch("mfRowExponentialSum", {logits, max}, exponentials);
    reduce(exponentials, axes, Reduction::Sum);
    emitter.launch("mfCrossEntropyRows", {labels, max, exponentials, picked},
                   {sums, logSumExp}, getAttributes());
  }

  CrossEntropyOp op;
  LaunchEmitter &emitter;
  EmittedBuffer logits, labels;
};

} // namespace

void CrossEntropyOp::emitInstructions(LaunchEmitter &emitter) {
  if (getKernelName().empty())
    LossEmitter(*this, emitter).emit();
  else
    emitKernel(*this, emitter);
}

void CrossEntropyOp::buildGradient(OpBuilder &builder,
                                   ValueRange resultGradients,
                                   ArrayRef<bool> needed,
                                   MutableArrayRef<Value> operandGradients) {
  operandGradients[0] = CrossEntropyGradOp::create(
      builder, getLoc(), getLogits().getType(), resultGradients.front(),
      getLogits(), getLabels(), getLogsumexp(), getCount(), getFirstRow(),
      getIgnoreIndexAttr(), getVocabAxesAttr(), nullptr, nullptr, nullptr);
}

StringRef CrossEntropyGradOp::getKernelName() {
  return getFirstRow() ? "mfCrossEntropyPartGrad" : "aclnnCrossEntropyLossGrad";
}
bool CrossEntropyGradOp::isView() { return false; }
DictionaryAttr CrossEntropyGradOp::getKernelAttributes() {
  return getLossAttributes(*this, getIgnoreIndexAttr(), getClasses(*this));
}
LogicalResult CrossEntropyGradOp::verify() { return verifyVocabulary(*this); }
