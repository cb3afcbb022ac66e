//===- AscendCannCalls.td - Calls that programs share ------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Part of AscendKernels.td: statements of several records' `cannBody`, for
// programs that are written against CANN, and the headers of what they call.
//
//===----------------------------------------------------------------------===//

#ifndef ASCEND_CANN_CALLS_TD
#define ASCEND_CANN_CALLS_TD

// Computes `local`, the indices minus `firstRow`, and `outside`, which is true
// where another rank has the row. `local` is 0 there, because CANN's result is
// undefined for an index outside of the table.
class LocalIndices<string indices, string count> {
  string text = !subst("COUNT", count, !subst("INDICES", indices, [{
    const CannTensor local = stream.makeScratch(INDICES.dims, ACL_INT32);
    const CannTensor outside = stream.makeScratch(INDICES.dims, ACL_BOOL);
    const CannTensor above = stream.makeScratch(INDICES.dims, ACL_BOOL);
    stream.call(MF_CANN(aclnnSub), tensor(INDICES), tensor(firstRow), integer(1),
                tensor(local));
    stream.call(MF_CANN(aclnnLtScalar), tensor(local), integer(0), tensor(outside));
    stream.call(MF_CANN(aclnnGeScalar), tensor(local), integer(COUNT), tensor(above));
    stream.call(MF_CANN(aclnnInplaceLogicalOr), tensor(outside), tensor(above));
    stream.call(MF_CANN(aclnnInplaceMaskedFillScalar), tensor(local),
                tensor(outside), integer(0));
}]));
  list<string> headers = ["sub", "lt_scalar", "ge_scalar", "logical_or",
                          "masked_fill_scalar"];
}

// Computes `excluded`, which is true for rows that the loss does not count: those
// whose label is `ignore_index` or no class.
class ExcludedRows {
  string text = [{
    const CannTensor excluded = stream.makeScratch(target.dims, ACL_BOOL);
    const CannTensor beyond = stream.makeScratch(target.dims, ACL_BOOL);
    stream.call(MF_CANN(aclnnEqScalar), tensor(target), integer(ignore_index),
                tensor(excluded));
    stream.call(MF_CANN(aclnnLtScalar), tensor(target), integer(0), tensor(beyond));
    stream.call(MF_CANN(aclnnInplaceLogicalOr), tensor(excluded), tensor(beyond));
    stream.call(MF_CANN(aclnnGeScalar), tensor(target), integer(classes),
                tensor(beyond));
    stream.call(MF_CANN(aclnnInplaceLogicalOr), tensor(excluded), tensor(beyond));
}];
  list<string> headers = ["eq_scalar", "lt_scalar", "ge_scalar", "logical_or",
                          "masked_fill_scalar"];
}

// Computes `local` and `outside` of LocalIndices for the tensor `indices` into the
// rows of the tensor `rows`, all of which this rank has.
class RowsOf<string rows, string indices = "index"> {
  string text = !subst("ROWS", rows, !subst("INDICES", indices, [{
    const int64_t numRows = ROWS.dims[ROWS.dims.size() - 2];
    const CannTensor local = stream.makeScratch(INDICES.dims, ACL_INT32);
    const CannTensor outside = stream.makeScratch(INDICES.dims, ACL_BOOL);
    const CannTensor above = stream.makeScratch(INDICES.dims, ACL_BOOL);
    stream.call(MF_CANN(aclnnLtScalar), tensor(INDICES), integer(0), tensor(outside));
    stream.call(MF_CANN(aclnnGeScalar), tensor(INDICES), integer(numRows), tensor(above));
    stream.call(MF_CANN(aclnnInplaceLogicalOr), tensor(outside), tensor(above));
    stream.call(MF_CANN(aclnnInplaceCopy), tensor(local), tensor(INDICES));
    stream.call(MF_CANN(aclnnInplaceMaskedFillScalar), tensor(local),
                tensor(outside), integer(0));
}]));
  list<string> headers = ["lt_scalar", "ge_scalar", "logical_or", "copy",
                          "masked_fill_scalar"];
}

// Computes the sum of the losses of the rows that count, and their number. CANN's
// loss gives the logarithms of all probabilities, `logProb`, instead of logSumExp.
// Backward computes them again, so that nothing reads logSumExp.
class SummedLoss<string sum, string count> {
  string text = !subst("SUM", sum, !subst("COUNT", count, [{
    const CannTensor labels = stream.makeScratch(target.dims, ACL_INT64);
    const CannTensor logProb = stream.makeScratch(input.dims, input.type);
    const CannTensor counting = stream.makeScratch(target.dims, ACL_BOOL);
    const CannTensor ones = stream.makeScratch(target.dims, ACL_FLOAT);
    stream.call(MF_CANN(aclnnCast), tensor(target), ACL_INT64, tensor(labels));
    char reduction[] = "sum";
    stream.call(MF_CANN(aclnnCrossEntropyLoss), tensor(input), tensor(labels),
                nullptr, reduction, ignore_index, 0.0, 0.0, false, tensor(SUM),
                tensor(logProb), tensor(empty(input.type)),
                tensor(empty(input.type)));
    stream.call(MF_CANN(aclnnEqScalar), tensor(target), integer(ignore_index),
                tensor(counting));
    stream.call(MF_CANN(aclnnLogicalNot), tensor(counting), tensor(counting));
    stream.call(MF_CANN(aclnnCast), tensor(counting), ACL_FLOAT, tensor(ones));
    stream.call(MF_CANN(aclnnReduceSum), tensor(ones), ints({0}), true, ACL_FLOAT,
                tensor(COUNT));
}]));
  list<string> headers = ["cast", "cross_entropy_loss", "eq_scalar", "logical_not",
                          "reduce_sum"];
}

// Computes the attention mask for queries whose first is at position FIRST among
// the keys, and the sparse mode of CANN that reads it. The mask is compressed if
// queries see all keys up to their own position. With documents it has all pairs of
// a query and a key.
class AttentionMask<string first, string causalMode> {
  string text = !subst("FIRST", first, !subst("MODE", causalMode, [{
    const AttentionExtras extras({slopes, dropMask, starts});
    const int64_t queries = query.dims[2], keys = key.dims[2];
    const int64_t first = FIRST;
    const bool hasDocuments = extras.starts.isThere();
    const int64_t mode = hasDocuments || !causal ? 0 : queries == keys ? 2 : MODE;
    stream.require(!hasDocuments || causal, "expected documents with causal attention");
    stream.require(!extras.slopes.isThere() || (causal && queries == keys),
                   "expected ALiBi with causal attention of all queries");
    CannTensor mask;
    if (hasDocuments) {
      const CannTensor places = stream.makeScratch({keys}, ACL_INT32);
      const CannTensor later = stream.makeScratch({queries, keys}, ACL_BOOL);
      mask = stream.makeScratch({query.dims[0], 1, queries, keys}, ACL_BOOL);
      stream.call(MF_CANN(aclnnArange), integer(0), integer(keys), integer(1),
                  tensor(places));
      stream.call(MF_CANN(aclnnGtTensor), tensor(places),
                  tensor(withColumn(takeRange(places, first, queries))), tensor(later));
      stream.call(MF_CANN(aclnnLtTensor), tensor(places),
                  tensor(reshape(extras.starts, {query.dims[0], 1, queries, 1})),
                  tensor(mask));
      stream.call(MF_CANN(aclnnInplaceLogicalOr), tensor(mask), tensor(later));
    } else if (causal) {
      mask = stream.getCausalMask();
    }
}]));
  list<string> headers = ["arange", "gt_tensor", "lt_tensor", "logical_or"];
}

// Calls attention forward with the mask that AttentionMask computed. CANN writes
// each maximum and sum eight times, of which one is kept.
class AttentionCall {
  string text = [{
    const CannTensor maxima = stream.makeScratch(repeatDims(softmaxMax, 8), ACL_FLOAT);
    const CannTensor sums = stream.makeScratch(repeatDims(softmaxSum, 8), ACL_FLOAT);
    const CannTensor none = empty(query.type);
    char layout[] = "BNSD";
    stream.call(MF_CANN(aclnnFlashAttentionScoreV2), tensor(query), tensor(key),
                tensor(value), tensor(extras.slopes), tensor(extras.dropMask), nullptr,
                tensor(mask), nullptr, nullptr, nullptr, scale, 1 - rate, allTokens,
                mode == 4 ? first + queries - keys : allTokens, query.dims[1], layout,
                int64_t{0}, mode, int64_t{extras.slopes.isThere() ? 2 : 1},
                tensor(maxima), tensor(sums), tensor(none), tensor(attentionOut));
    stream.call(MF_CANN(aclnnInplaceCopy), tensor(withColumn(softmaxMax)),
                tensor(takeColumn(maxima)));
    stream.call(MF_CANN(aclnnInplaceCopy), tensor(withColumn(softmaxSum)),
                tensor(takeColumn(sums)));}];
  list<string> headers = ["flash_attention_score", "copy"];
}

// Calls attention backward with the mask that AttentionMask computed.
class AttentionGradCall {
  string text = [{
    const CannTensor maxima = stream.makeScratch(repeatDims(softmaxMax, 8), ACL_FLOAT);
    const CannTensor sums = stream.makeScratch(repeatDims(softmaxSum, 8), ACL_FLOAT);
    stream.call(MF_CANN(aclnnInplaceCopy), tensor(maxima),
                tensor(withColumn(softmaxMax)));
    stream.call(MF_CANN(aclnnInplaceCopy), tensor(sums),
                tensor(withColumn(softmaxSum)));
    const CannTensor none = empty(query.type);
    char layout[] = "BNSD";
    stream.call(MF_CANN(aclnnFlashAttentionScoreGradV2), tensor(query),
                tensor(key), tensor(value), tensor(dy), tensor(extras.slopes),
                tensor(extras.dropMask), nullptr, tensor(mask), tensor(maxima),
                tensor(sums), nullptr, tensor(attentionIn), nullptr, nullptr, nullptr,
                scale, 1 - rate, allTokens, mode == 4 ? first + queries - keys : allTokens,
                query.dims[1], layout, int64_t{0}, mode,
                int64_t{extras.slopes.isThere() ? 2 : 1}, tensor(dq), tensor(dk),
                tensor(dv), tensor(none));}];
  list<string> headers = ["flash_attention_score_grad", "copy"];
}

#endif // ASCEND_CANN_CALLS_TD
