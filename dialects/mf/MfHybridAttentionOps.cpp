//===- MfHybridAttentionOps.cpp - Window, entries and their indexer -------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/MfOps.h"

using namespace mlir;
using namespace mf::ir;

/// Checks that rows of the type of the queries are [batch, rows, width].
static LogicalResult verifyRows(Operation *op, Value rows,
                                RankedTensorType query, StringRef what) {
  RankedTensorType type = getGlobalType(rows);
  if (type.getRank() == 3 && type.getElementType() == query.getElementType() &&
      type.getDimSize(0) == query.getDimSize(0) &&
      type.getDimSize(2) == query.getDimSize(3))
    return success();
  return op->emitOpError("expected ")
         << what << " [batch, " << what << ", width] of queries " << query
         << ", but got " << type;
}

/// Checks that keys are [batch, keys, width], or those of blocks of tokens
/// behind the window's other keys. A rank that has a part of the queries has no
/// more of them than there are positions.
static LogicalResult verifyKeys(HybridAttentionOp op, RankedTensorType query) {
  RankedTensorType type = getGlobalType(op.getKeys());
  const int64_t queries = query.getDimSize(1);
  Value first = op.getFirstQuery();
  if (type.getRank() != 4) {
    if (failed(verifyRows(op, op.getKeys(), query, "keys")))
      return failure();
    if (!first || queries <= type.getDimSize(1))
      return success();
    return op->emitOpError("expected part of the ")
           << type.getDimSize(1) << " positions of the keys, but got "
           << queries << " queries";
  }
  const int64_t blocks = type.getDimSize(1),
                before = static_cast<int64_t>(op.getWindow()) - 1,
                tokens = type.getDimSize(2) - before;
  // Queries of more than one block are all of theirs, one after another.
  if (type.getElementType() == query.getElementType() &&
      type.getDimSize(0) == query.getDimSize(0) &&
      type.getDimSize(3) == query.getDimSize(3) && blocks > 0 && tokens > 0 &&
      (first && blocks == 1
           ? queries <= tokens
           : queries % blocks == 0 && queries / blocks == tokens))
    return success();
  return op->emitOpError("expected keys [batch, blocks, ")
         << before << " + tokens of a block, width], with a token for each "
         << "query, of queries " << query << ", but got " << type;
}

/// Checks that queries are [batch, queries, heads, width].
static LogicalResult verifyQuery(Operation *op, RankedTensorType query) {
  if (query.getRank() == 4)
    return success();
  return op->emitOpError("expected queries [batch, queries, heads, width], but "
                         "got ")
         << query;
}

/// Checks that indices are [batch, queries, chosen].
static LogicalResult verifyIndices(Operation *op, Value indices,
                                   RankedTensorType query) {
  ArrayRef<int64_t> shape = getGlobalType(indices).getShape();
  if (shape.size() == 3 &&
      shape.take_front(2) == query.getShape().take_front(2))
    return success();
  return op->emitOpError(
             "expected indices [batch, queries, chosen] for queries ")
         << query << ", but got " << indices.getType();
}

//===----------------------------------------------------------------------===//
// HybridAttentionOp
//===----------------------------------------------------------------------===//

void HybridAttentionOp::build(OpBuilder &builder, OperationState &state,
                              Value query, Value keys, Value sink,
                              Value entries, Value indices, int64_t window,
                              int64_t ratio, double scale) {
  build(builder, state, query.getType(), getRowType(getGlobalType(query)),
        query, keys, sink, /*firstQuery=*/Value(), entries, indices,
        builder.getI64IntegerAttr(window), builder.getI64IntegerAttr(ratio),
        builder.getF64FloatAttr(scale), nullptr, nullptr, nullptr);
}

LogicalResult HybridAttentionOp::verify() {
  RankedTensorType query = getGlobalType(getQuery());
  if (static_cast<int64_t>(getWindow()) < 1)
    return emitOpError("expected a window of at least 1 token");
  if (failed(verifyQuery(*this, query)) || failed(verifyKeys(*this, query)) ||
      failed(verifyType(*this, getSink(),
                        RankedTensorType::get({query.getDimSize(2)},
                                              Float32Type::get(getContext())),
                        "a sink", ", one number per head")))
    return failure();
  if (Value first = getFirstQuery())
    if (failed(verifyPosition(*this, first)))
      return failure();
  if (getEntries() ? static_cast<int64_t>(getRatio()) < 1 : getRatio() != 0)
    return emitOpError("expected a ratio of at least 1 with entries and 0 "
                       "without, but got ")
           << static_cast<int64_t>(getRatio());
  if (getEntries() && failed(verifyRows(*this, getEntries(), query, "entries")))
    return failure();
  if (getIndices()) {
    if (!getEntries())
      return emitOpError("expected entries with indices");
    if (failed(verifyIndices(*this, getIndices(), query)))
      return failure();
  }
  return verifyType(*this, getLogSum(), getRowType(query), "log_sum");
}

void HybridAttentionOp::buildGradient(OpBuilder &builder,
                                      ValueRange resultGradients,
                                      ArrayRef<bool> needed,
                                      MutableArrayRef<Value> operandGradients) {
  Value entries = getEntries();
  auto gradient = HybridAttentionGradOp::create(
      builder, getLoc(), getQuery().getType(), getKeys().getType(),
      getSink().getType(), entries ? entries.getType() : Type(),
      resultGradients.front(), getQuery(), getKeys(), getSink(), getResult(),
      getLogSum(), getFirstQuery(), entries, getIndices(), getWindowAttr(),
      getRatioAttr(), getScaleAttr(), nullptr, nullptr, nullptr);
  operandGradients[0] = gradient.getQueryGradient();
  operandGradients[1] = gradient.getKeysGradient();
  operandGradients[2] = gradient.getSinkGradient();
  if (entries)
    operandGradients[getFirstQuery() ? 4 : 3] = gradient.getEntriesGradient();
}

//===----------------------------------------------------------------------===//
// EntrySharesOp
//===----------------------------------------------------------------------===//

void EntrySharesOp::build(OpBuilder &builder, OperationState &state,
                          Value query, Value entries, Value indices,
                          Value logSum, double scale) {
  build(builder, state,
        RankedTensorType::get(getGlobalType(indices).getShape(),
                              builder.getF32Type()),
        query, entries, indices, logSum, builder.getF64FloatAttr(scale),
        nullptr, nullptr, nullptr);
}

LogicalResult EntrySharesOp::verify() {
  RankedTensorType query = getGlobalType(getQuery());
  if (failed(verifyQuery(*this, query)) ||
      failed(verifyRows(*this, getEntries(), query, "entries")) ||
      failed(verifyIndices(*this, getIndices(), query)) ||
      failed(verifyType(*this, getLogSum(), getRowType(query), "log_sum")))
    return failure();
  return verifyType(
      *this, getResult(),
      RankedTensorType::get(getGlobalType(getIndices()).getShape(),
                            Float32Type::get(getContext())));
}

//===----------------------------------------------------------------------===//
// LightningIndexerOp
//===----------------------------------------------------------------------===//

void LightningIndexerOp::build(OpBuilder &builder, OperationState &state,
                               Value query, Value keys, Value weights,
                               int64_t ratio, int64_t k, double unseen) {
  SmallVector<int64_t> shape(getGlobalType(query).getShape().take_front(2));
  shape.push_back(k);
  build(builder, state, RankedTensorType::get(shape, builder.getF32Type()),
        RankedTensorType::get(shape, builder.getI32Type()), query, keys,
        weights, /*firstQuery=*/Value(), builder.getI64IntegerAttr(ratio),
        builder.getI64IntegerAttr(k), builder.getF64FloatAttr(unseen), nullptr,
        nullptr, nullptr);
}

LogicalResult LightningIndexerOp::verify() {
  RankedTensorType query = getGlobalType(getQuery());
  if (failed(verifyQuery(*this, query)) ||
      failed(verifyRows(*this, getKeys(), query, "keys")) ||
      failed(verifyType(*this, getWeights(),
                        query.clone(query.getShape().drop_back()), "weights",
                        ", one per query and head")))
    return failure();
  if (Value first = getFirstQuery())
    if (failed(verifyPosition(*this, first)))
      return failure();
  const auto k = static_cast<int64_t>(getK()),
             numEntries = getGlobalType(getKeys()).getDimSize(1);
  if (k < 1 || k > numEntries)
    return emitOpError("expected k from 1 to ")
           << numEntries << ", but got " << k;
  if (static_cast<int64_t>(getRatio()) < 1)
    return emitOpError("expected a ratio of at least 1, but got ")
           << static_cast<int64_t>(getRatio());
  SmallVector<int64_t> shape(query.getShape().take_front(2));
  shape.push_back(k);
  if (failed(verifyType(
          *this, getValues(),
          RankedTensorType::get(shape, Float32Type::get(getContext())))))
    return failure();
  return verifyType(
      *this, getIndices(),
      RankedTensorType::get(shape, IntegerType::get(getContext(), 32)));
}

void LightningIndexerOp::buildGradient(
    OpBuilder &builder, ValueRange resultGradients, ArrayRef<bool> needed,
    MutableArrayRef<Value> operandGradients) {
  auto gradient = LightningIndexerGradOp::create(
      builder, getLoc(), getQuery().getType(), getKeys().getType(),
      getWeights().getType(), resultGradients.front(), getQuery(), getKeys(),
      getWeights(), getIndices(), nullptr, nullptr, nullptr);
  llvm::copy(gradient.getResults(), operandGradients.begin());
}
