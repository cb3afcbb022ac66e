//===- ChunkLoss.cpp - Computes the loss by pieces of the sequence --------===//
// SPDX-License-Identifier: Apache-2.0

#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"
#include "llvm/Support/MathExtras.h"

namespace mf::passes {

#define GEN_PASS_DEF_CHUNKLOSS
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf::ir;

namespace {

Value stripReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getInput();
  return value;
}

RankedTensorType getTensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Replaces one loss by the losses of pieces of its sequence.
class LossChunker {
public:
  LossChunker(CrossEntropyOp loss, int64_t chunks)
      : loss(loss), chunks(chunks), builder(loss) {}

  void run() {
    if (!loss.getLogsumexp().use_empty() || !loss.getCount().use_empty())
      return emitRemark(
          "something reads its sums of exponentials or its count");
    if (!findOperands())
      return emitRemark(
          "its logits are not of a batch of sequences whose labels lie alike");
    chunks = std::min(chunks, getTensorType(logits).getDimSize(1));
    replaceLoss();
    emitRemark({});
    Operation *op = loss->getBlock()->getTerminator();
    loss.erase();
    // These values had no other readers than the whole loss.
    for (Operation &dead :
         llvm::make_early_inc_range(llvm::reverse(*op->getBlock())))
      if (isOpTriviallyDead(&dead))
        dead.erase();
  }

private:
  bool findOperands() {
    logits = getLogits();
    labels = stripReshapes(loss.getLabels());
    RankedTensorType type = getTensorType(logits);
    return type.getRank() == 3 &&
           getTensorType(labels).getShape() == type.getShape().drop_back() &&
           type.getDimSize(1) > 1;
  }

  /// Returns the logits as the head computes them, before the cast to fp32.
  /// If several losses share the logits, each reads a slice after the cast.
  /// This loss gets a slice before the cast.
  Value getLogits() {
    Value value = stripReshapes(loss.getLogits());
    auto slice = value.getDefiningOp<SliceOp>();
    Value wide = slice ? stripReshapes(slice.getInput()) : value;
    auto cast = wide.getDefiningOp<CastOp>();
    if (!cast)
      return value;
    Value narrow = cast.getInput();
    if (!slice)
      return stripReshapes(narrow);
    if (narrow.getType() != getTensorType(slice.getInput())
                                .clone(getTensorType(narrow).getElementType()))
      return value;
    auto copy = SliceOp::create(builder, loss.getLoc(), narrow,
                                slice.getStarts(), slice.getSizes());
    copy.setNameAttr(slice.getNameAttr());
    return copy;
  }

  void replaceLoss() {
    Location loc = loss.getLoc();
    RankedTensorType type = getTensorType(logits);
    const int64_t batch = type.getDimSize(0), whole = type.getDimSize(1),
                  classes = type.getDimSize(2), size = whole / chunks;
    SmallVector<Type> types(chunks, type.clone({batch, size, classes}));
    types.back() = type.clone({batch, whole - (chunks - 1) * size, classes});
    auto pieces = SplitOp::create(builder, loc, types, logits,
                                  builder.getI64IntegerAttr(1), nullptr,
                                  nullptr, nullptr);
    pieces.setName(getName("split"));
    Value sum;
    for (auto [index, piece] : llvm::enumerate(pieces.getParts())) {
      const int64_t length = getTensorType(piece).getDimSize(1);
      Value rows = piece;
      if (!type.getElementType().isF32()) {
        auto wide = CastOp::create(
            builder, loc, getTensorType(piece).clone(builder.getF32Type()),
            piece, nullptr, nullptr, nullptr);
        wide.setName(getName("cast"));
        // Backward computes it again, unless the YAML requires that it is kept.
        cast<ComputeOpInterface>(*wide).setRecomputeMark(RecomputeKind::Preset);
        rows = wide;
      }
      auto flat =
          ReshapeOp::create(builder, loc,
                            RankedTensorType::get({batch * length, classes},
                                                  builder.getF32Type()),
                            rows);
      flat.setName(getName("reshape"));
      Value own = cutLabels(static_cast<int64_t>(index) * size, length);
      Value counted = getCounted(length);
      auto part = cast<CrossEntropyOp>(builder.clone(*loss));
      part.getLogitsMutable().assign(flat.getResult());
      part.getLabelsMutable().assign(own);
      part.getCountedMutable().assign(counted);
      part.getLogsumexp().setType(
          RankedTensorType::get({batch * length}, builder.getF32Type()));
      if (sum) {
        auto add = AddOp::create(builder, loc, sum, part.getLoss());
        add.setName(getName("add"));
        sum = add;
      } else {
        sum = part.getLoss();
      }
    }
    loss.getLoss().replaceAllUsesWith(sum);
  }

  Value cutLabels(int64_t start, int64_t size) {
    RankedTensorType type = getTensorType(labels);
    const int64_t batch = type.getDimSize(0);
    auto piece = SliceOp::create(builder, loss.getLoc(), labels,
                                 ArrayRef<int64_t>{0, start},
                                 ArrayRef<int64_t>{batch, size});
    piece.setName(getName("labels"));
    auto rows = ReshapeOp::create(
        builder, loss.getLoc(), type.clone({batch * size}), piece.getResult());
    rows.setName(getName("labels"));
    return rows;
  }

  /// Returns the labels of the whole sequence, of which the labels of each
  /// piece of `size` tokens are a part. They are padded to a multiple of `size`
  /// with ignored labels.
  Value getCounted(int64_t size) {
    if (loss.getCounted())
      return loss.getCounted();
    RankedTensorType type = getTensorType(labels);
    const int64_t batch = type.getDimSize(0), length = type.getDimSize(1);
    const auto missing =
        static_cast<int64_t>(llvm::alignTo(length, size) - length);
    if (missing == 0)
      return loss.getLabels();
    auto padded =
        PadOp::create(builder, loss.getLoc(), labels, ArrayRef<int64_t>{0, 0},
                      ArrayRef<int64_t>{0, missing},
                      static_cast<int64_t>(loss.getIgnoreIndex()));
    padded.setName(getName("labels"));
    auto rows = ReshapeOp::create(builder, loss.getLoc(),
                                  type.clone({batch * (length + missing)}),
                                  padded.getResult());
    rows.setName(getName("labels"));
    return rows;
  }

  void emitRemark(StringRef obstacle) {
    remark::RemarkOpts options =
        remark::RemarkOpts::name("ChunkLoss")
            .category("sequence")
            .function(loss->getParentOfType<LayerOp>().getSymName());
    if (!obstacle.empty()) {
      remark::missed(loss.getLoc(), options) << remark::add(
          "'{0}' stays whole: {1}", loss.getCellName(), obstacle);
      return;
    }
    RankedTensorType type = getTensorType(logits);
    const int64_t whole = type.getNumElements() * int64_t(sizeof(float));
    const int64_t length = type.getDimSize(1);
    const int64_t longest = length - (chunks - 1) * (length / chunks);
    remark::passed(loss.getLoc(), options)
        << remark::add(
               "'{0}' is the sum of those of {1} pieces of the sequence",
               loss.getCellName(), chunks)
        << remark::metric("bytes of logits in fp32 before", whole)
        << remark::metric("bytes of logits in fp32", whole / length * longest);
  }

  std::string getName(StringRef what) {
    return (loss.getCellName() + "." + what).str();
  }

  CrossEntropyOp loss;
  int64_t chunks;
  OpBuilder builder;
  /// [batch, sequence, classes] and [batch, sequence].
  Value logits, labels;
};

struct ChunkLossPass : mf::passes::impl::ChunkLossBase<ChunkLossPass> {
  using ChunkLossBase::ChunkLossBase;

  void runOnOperation() override {
    ModelOp model = getOperation();
    TrainingAttr training = model.getTrainingAttr();
    if (chunks < 0) {
      model.emitError("expected at least 1 for loss-chunks, or 0 for the "
                      "YAML's chunk_loss_num, but got ")
          << chunks.getValue();
      return signalPassFailure();
    }
    const int64_t count = chunks > 0 ? int64_t(chunks)
                          : training ? training.getLossChunks()
                                     : 1;
    if (count <= 1)
      return;
    SmallVector<CrossEntropyOp> losses;
    model.walk([&](CrossEntropyOp loss) { losses.push_back(loss); });
    for (CrossEntropyOp loss : losses)
      LossChunker(loss, count).run();
  }
};

} // namespace
