//===- AscendCannCalls.td - Calls that programs share ------*- tablegen -*-===//
//
// Part of AscendKernels.td: statements of several records' `cannBody`, for
// programs that are written against CANN, and the headers of what they call.
//
//===----------------------------------------------------------------------===//

#ifndef ASCEND_CANN_CALLS_TD
#define ASCEND_CANN_CALLS_TD

// Makes `local`, the numbers in `indices` less that of the first row, and
// `outside`, which tells where another rank has the row. CANN reads garbage for
// an index that is none, so `local` is 0 there.
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

// Makes `excluded`, which tells the rows that do not count.
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

// The same of `index` for the rows of a tensor.
class RowsOf<string rows> {
  string text = !subst("ROWS", rows, [{
    const int64_t numRows = ROWS.dims[ROWS.dims.size() - 2];
    const CannTensor local = stream.makeScratch(index.dims, ACL_INT32);
    const CannTensor outside = stream.makeScratch(index.dims, ACL_BOOL);
    const CannTensor above = stream.makeScratch(index.dims, ACL_BOOL);
    stream.call(MF_CANN(aclnnLtScalar), tensor(index), integer(0), tensor(outside));
    stream.call(MF_CANN(aclnnGeScalar), tensor(index), integer(numRows), tensor(above));
    stream.call(MF_CANN(aclnnInplaceLogicalOr), tensor(outside), tensor(above));
    stream.call(MF_CANN(aclnnInplaceCopy), tensor(local), tensor(index));
    stream.call(MF_CANN(aclnnInplaceMaskedFillScalar), tensor(local),
                tensor(outside), integer(0));
}]);
  list<string> headers = ["lt_scalar", "ge_scalar", "logical_or", "copy",
                          "masked_fill_scalar"];
}

// Makes the sum of the losses of the rows that count, and their number. CANN keeps
// the logarithms of all probabilities, `logProb`, in the place of logSumExp;
// backward makes them again, so that nothing reads logSumExp.
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

#endif // ASCEND_CANN_CALLS_TD
