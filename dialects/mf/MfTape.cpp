//===- MfTape.cpp - What a trainer keeps of composed operators ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/DiscardableAttributes.h"
#include "dialects/mf/MfOps.h"
#include "dialects/mf/Tape.h"

using namespace mlir;
using namespace mf;
using namespace mf::ir;

static int64_t countElements(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}

/// Gathers a weight for its layer, or makes a value.
void mf::ir::recordOnTape(AllGatherOp op, Tape &tape) {
  // A weight that is not gathered again has no mark.
  if (!tape.gatherWeight(op.getResult(), op.getInput(),
                         op.getRecompute().has_value()))
    tape.make(op.getResult());
}

/// Returns the part of a value that all of its readers take, possibly after a
/// conversion, as numbers of elements; none if a reader takes something else.
static std::optional<std::pair<int64_t, int64_t>> findPart(Value value,
                                                           Tape &tape) {
  std::optional<std::pair<int64_t, int64_t>> part;
  for (Operation *reader : tape.getReaders(value)) {
    std::optional<std::pair<int64_t, int64_t>> own;
    if (auto taken = dyn_cast<OwnPartOp>(reader))
      own = {countElements(taken.getResult()), countElements(taken.getInput())};
    else if (isa<CastOp>(reader))
      own = findPart(reader->getResult(0), tape);
    if (!own || (part && *part != *own))
      return std::nullopt;
    part = own;
  }
  return part;
}

/// A sum of which each rank takes its own part is a reduce-scatter of the
/// trainer, whose result stays until backward.
void mf::ir::recordOnTape(AllReduceOp op, Tape &tape) {
  std::optional<std::pair<int64_t, int64_t>> part =
      findPart(op.getResult(), tape);
  if (!part)
    return tape.make(op.getResult());
  tape.makePart(op.getResult(), part->first, part->second);
  tape.keep(op.getResult());
}

/// The trainer computes the loss in several operators on planes of logits in
/// fp32. With the classes on one rank it keeps the logits and their
/// log-softmax. With the classes on several ranks it keeps the exponentials,
/// and the frame of the model's function holds the logits. Backward makes the
/// probabilities and scatters the labels into the gradient, before the gradient
/// of the narrower logits exists.
void mf::ir::recordOnTape(CrossEntropyOp op, Tape &tape) {
  const bool isCut = op.getVocabAxes().has_value();
  Value logits = tape.readUncast(op.getLogits(), /*isKept=*/!isCut);
  const int64_t plane = countElements(logits) * 4;
  const int64_t workspace =
      4 * countElements(op.getLabels()) + scatterWorkspace;
  // Without the plane that is kept: the converted logits and, where both exist
  // beside the exponentials, the shifted ones.
  tape.addMoment(false, "exp", isCut ? 2 * plane : plane);
  tape.keepBytes(plane);
  if (isCut)
    tape.holdToEnd(logits);
  const int64_t gradient = tape.getBytes(logits);
  tape.addMoment(true, "scatter_add", 2 * plane - gradient, workspace);
  tape.addMoment(true, "times upstream", 2 * plane - gradient);
}

/// Returns whether the value leads to a product through views.
static bool isMultiplied(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    return isa<MulOp>(user) ||
           (isa<ReshapeOp>(user) && isMultiplied(user->getResult(0)));
  });
}

/// Rows by index. Without an exchange between ranks, the trainer multiplies the
/// rows that experts return in the order of experts, and scatters the products
/// into the order of tokens, of which it keeps a copy.
void mf::ir::recordOnTape(GatherRowsOp op, Tape &tape) {
  tape.keep(op.getIndices());
  if (!isMultiplied(op.getResult()))
    return;
  Value source = op.getInput();
  while (Operation *producer = source.getDefiningOp()) {
    // Adapters add to the rows.
    if (!isa<GatherRowsOp, ReshapeOp, SliceOp, AddOp>(producer))
      break;
    source = producer->getOperand(0);
  }
  if (isa_and_nonnull<GroupedMatmulOp, ExpertMatmulOp>(source.getDefiningOp()))
    tape.keepBytes(tape.getBytes(op.getResult()));
}
