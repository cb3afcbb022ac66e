//===- AscendVocabularyKernels.td - Embedding and loss -----*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Part of AscendKernels.td.
//
//===----------------------------------------------------------------------===//

include "dialects/ascend/AscendCannCalls.td"
include "dialects/ascend/AscendKernelBase.td"

//===----------------------------------------------------------------------===//
// Embedding and loss
//===----------------------------------------------------------------------===//

def Embedding : Kernel<"aclnnEmbedding", "makeEmbedding"> {
  let cann = "tensor(weight), tensor(indices), tensor(out)";
  let summary = "rows of a table by index";
  let parts = "Vd, * -> *d";
  let description = "An index outside of the table reads zeros.";
  let inputs = (ins In:$weight, In:$indices);
  let outputs = (outs Out:$out);
  let kind = "embedding";
  let bytes = "spec.inputs[1].getBytes() + 2 * spec.outputs[0].getBytes()";
  let profiled = ["GatherV2", "GatherV3"];
}

def EmbeddingDenseBackward
    : Kernel<"aclnnEmbeddingDenseBackward", "makeEmbeddingBackward"> {
  let cann = [{tensor(grad), tensor(indices),
      static_cast<uint64_t>(out.dims[0]), ~uint64_t{0}, false, tensor(out)}];
  let summary = "gradient of aclnnEmbedding with respect to its table";
  let parts = "+*d, * -> Vd";
  let description = [{aclnn's numWeights is the first size of out. A padding index
    and scaling by frequency are not supported.}];
  let inputs = (ins In:$grad, In:$indices);
  let outputs = (outs Out:$out);
  let kind = "embedding";
  let profiled = ["EmbeddingDenseGrad", "EmbeddingDenseGradV2"];
}

def CrossEntropyLoss : Kernel<"aclnnCrossEntropyLoss", "makeCrossEntropyLoss"> {
  defvar summedLoss = SummedLoss<"flatten(loss)", "flatten(count)">;
  let cannBody = summedLoss.text # [{
    const CannTensor divisor = stream.makeScratch({1}, ACL_FLOAT);
    stream.call(MF_CANN(aclnnAdds), tensor(flatten(count)), scalar(1e-8), scalar(1),
                tensor(divisor));
    stream.call(MF_CANN(aclnnDiv), tensor(flatten(loss)), tensor(divisor),
                tensor(flatten(loss)));}];
  let cannHeaders = summedLoss.headers # ["add", "div"];
  let summary = "mean negative log-likelihood of labels";
  let parts = "RC, R -> ., R, .";
  let description = [{The kernel keeps the logarithm of each row's sum of
    exponentials (`lseForZloss`) instead of aclnn's logProb, a matrix, and the
    number of rows that count. loss = sum / (count + 1e-8), as in MindSpore
    Transformers.}];
  let inputs = (ins In:$input, In:$target);
  let outputs = (outs Out:$loss, Out:$logSumExp, Out:$count);
  let attributes = (attrs IntOr<-100>:$ignore_index);
  let kind = "loss";
  let measures = [Measure<"rows", "getRows(spec.inputs[0])">,
                  Measure<"columns", "getColumns(spec.inputs[0])">];
  let profiled = ["CrossEntropyLoss"];
}

def CrossEntropyLossGrad
    : Kernel<"aclnnCrossEntropyLossGrad", "makeCrossEntropyLossGrad"> {
  let cannBody = [{
    const CannTensor labels = stream.makeScratch(target.dims, ACL_INT64);
    const CannTensor logProb = stream.makeScratch(input.dims, input.type);
    const CannTensor loss = stream.makeScratch({1}, input.type);
    stream.call(MF_CANN(aclnnCast), tensor(target), ACL_INT64, tensor(labels));
    char reduction[] = "sum";
    stream.call(MF_CANN(aclnnCrossEntropyLoss), tensor(input), tensor(labels),
                nullptr, reduction, ignore_index, 0.0, 0.0, false, tensor(loss),
                tensor(logProb), tensor(empty(input.type)),
                tensor(empty(input.type)));
    // The rows that count are those of all ranks.
    const CannTensor divisor = stream.makeScratch({1}, ACL_FLOAT);
    stream.call(MF_CANN(aclnnAdds), tensor(flatten(count)), scalar(1e-8), scalar(1),
                tensor(divisor));
    stream.call(MF_CANN(aclnnDiv), tensor(flatten(gradLoss)), tensor(divisor),
                tensor(divisor));
    stream.call(MF_CANN(aclnnCrossEntropyLossGrad), tensor(divisor),
                tensor(logProb), tensor(labels), nullptr, nullptr, nullptr, reduction,
                ignore_index, 0.0, 0.0, tensor(out));}];
  let cannHeaders = ["cast", "cross_entropy_loss", "cross_entropy_loss_grad", "add",
                     "div"];
  let summary = "gradient of aclnnCrossEntropyLoss with respect to its input";
  let parts = [{getLossParts("+., rC, r, r, N -> rC", spec.inputs[4])}];
  let description = [{`logSumExp` and `count` are outputs of aclnnCrossEntropyLoss.
    A count of shape [1] is that of a rank's own rows.}];
  let inputs = (ins In:$gradLoss, In:$input, In:$target, In:$logSumExp,
                    In:$count);
  let outputs = (outs Out:$out);
  let attributes = (attrs IntOr<-100>:$ignore_index);
  let kind = "loss_grad";
  let measures = [Measure<"rows", "getRows(spec.inputs[1])">,
                  Measure<"columns", "getColumns(spec.inputs[1])">];
  let profiled = ["CrossEntropyLossGrad"];
}

//===----------------------------------------------------------------------===//
// Embedding and loss of a vocabulary that is sharded over ranks
//
// The rows of the table, or the columns of the logits, that a rank holds begin
// at index `firstRow` of the vocabulary. It is a tensor, because all ranks run
// one program.
//===----------------------------------------------------------------------===//

def EmbeddingPart : Kernel<"mfEmbeddingPart", "makeEmbedding"> {
  defvar indicesOfPart = LocalIndices<"indices", "weight.dims[0]">;
  let cannBody = indicesOfPart.text # [{
    stream.call(MF_CANN(aclnnEmbedding), tensor(weight), tensor(local), tensor(out));
    stream.call(MF_CANN(aclnnInplaceMaskedFillScalar), tensor(out),
                tensor(withColumn(outside)), scalar(0));}];
  let cannHeaders = indicesOfPart.headers # ["embedding"];
  let summary = "aclnnEmbedding of a rank's rows of the table";
  let parts = "vd, *, @v -> *d";
  let description = [{An index that is not one of this rank's rows reads
    zeros.}];
  let inputs = (ins In:$weight, In:$indices, In:$firstRow);
  let outputs = (outs Out:$out);
  let kind = "embedding";
  let bytes = [{spec.inputs[1].getBytes() + spec.inputs[2].getBytes() +
                2 * spec.outputs[0].getBytes()}];
}

def EmbeddingPartBackward
    : Kernel<"mfEmbeddingPartBackward", "makeEmbeddingBackward"> {
  // Rows of other ranks add zeros to the first row.
  defvar indicesOfPart = LocalIndices<"indices", "out.dims[0]">;
  let cannBody = indicesOfPart.text # [{
    const CannTensor kept = stream.makeScratch(grad.dims, grad.type);
    stream.call(MF_CANN(aclnnInplaceCopy), tensor(kept), tensor(grad));
    stream.call(MF_CANN(aclnnInplaceMaskedFillScalar), tensor(kept),
                tensor(withColumn(outside)), scalar(0));
    stream.call(MF_CANN(aclnnEmbeddingDenseBackward), tensor(kept), tensor(local),
                static_cast<uint64_t>(out.dims[0]), ~uint64_t{0}, false,
                tensor(out));}];
  let cannHeaders = indicesOfPart.headers # ["copy", "embedding_dense_backward"];
  let summary = "gradient of mfEmbeddingPart with respect to its rows";
  let parts = "+*d, *, @v -> vd";
  let inputs = (ins In:$grad, In:$indices, In:$firstRow);
  let outputs = (outs Out:$out);
  let kind = "embedding";
}

def RowMax : Kernel<"mfRowMax", "makeRowMax"> {
  let cannBody = [{
    const CannTensor largest = logits.type == ACL_FLOAT ? rowMax
        : stream.makeScratch(rowMax.dims, logits.type);
    stream.call(MF_CANN(aclnnAmax), tensor(logits), ints({1}), false,
                tensor(largest));
    if (largest.type != ACL_FLOAT)
      stream.call(MF_CANN(aclnnCast), tensor(largest), ACL_FLOAT, tensor(rowMax));}];
  let cannHeaders = ["amax", "cast"];
  let summary = "the largest logit of each row";
  let parts = "*c -> >*";
  let description = "aclnnAmax of the last dimension, in fp32.";
  let inputs = (ins In:$logits);
  let outputs = (outs Out:$rowMax);
  let kind = "reduction";
  let flops = "spec.inputs[0].getNumElements()";
}

def RowExponentialSum
    : Kernel<"mfRowExponentialSum", "makeRowExponentialSum"> {
  let cannBody = [{
    const CannTensor shifted = stream.makeScratch(logits.dims, ACL_FLOAT);
    const CannTensor wide = logits.type == ACL_FLOAT ? logits : shifted;
    if (logits.type != ACL_FLOAT)
      stream.call(MF_CANN(aclnnCast), tensor(logits), ACL_FLOAT, tensor(wide));
    stream.call(MF_CANN(aclnnSub), tensor(wide), tensor(withColumn(rowMax)),
                scalar(1), tensor(shifted));
    stream.call(MF_CANN(aclnnExp), tensor(shifted), tensor(shifted));
    stream.call(MF_CANN(aclnnReduceSum), tensor(shifted), ints({1}), false,
                ACL_FLOAT, tensor(sum));}];
  let cannHeaders = ["cast", "sub", "exp", "reduce_sum"];
  let summary = "the sum of exp(logit - rowMax) of each row";
  let parts = "*c, * -> *";
  let inputs = (ins In:$logits, In:$rowMax);
  let outputs = (outs Out:$sum);
  let kind = "loss";
  let flops = "3 * spec.inputs[0].getNumElements()";
  let measures = [Measure<"rows", "getRows(spec.inputs[0])">,
                  Measure<"columns", "getColumns(spec.inputs[0])">];
}

def PickLogit : Kernel<"mfPickLogit", "makePickLogit"> {
  defvar indicesOfPart = LocalIndices<"target", "logits.dims[1]">;
  let cannBody = indicesOfPart.text # [{
    const CannTensor found = logits.type == ACL_FLOAT ? picked
        : stream.makeScratch(picked.dims, logits.type);
    stream.call(MF_CANN(aclnnGather), tensor(logits), int64_t{1},
                tensor(withColumn(local)), tensor(withColumn(found)));
    if (found.type != ACL_FLOAT)
      stream.call(MF_CANN(aclnnCast), tensor(found), ACL_FLOAT, tensor(picked));
    stream.call(MF_CANN(aclnnInplaceMaskedFillScalar), tensor(picked),
                tensor(outside), scalar(0));}];
  let cannHeaders = indicesOfPart.headers # ["gather", "cast"];
  let summary = "the logit of each row's label, or 0 if another rank has it";
  let parts = "*c, *, @c -> *";
  let inputs = (ins In:$logits, In:$target, In:$firstRow);
  let outputs = (outs Out:$picked);
  let kind = "loss";
  let bytes = [{spec.inputs[1].getBytes() + spec.inputs[2].getBytes() +
                2 * spec.outputs[0].getBytes()}];
  let measures = [Measure<"rows", "getRows(spec.inputs[0])">,
                  Measure<"columns", "getColumns(spec.inputs[0])">];
}

def CrossEntropyRows : Kernel<"mfCrossEntropyRows", "makeCrossEntropyRows"> {
  defvar excludedRows = ExcludedRows<>;
  let cannBody = excludedRows.text # [{
    const CannTensor rows = stream.makeScratch(target.dims, ACL_FLOAT);
    stream.call(MF_CANN(aclnnLog), tensor(sum), tensor(logSumExp));
    stream.call(MF_CANN(aclnnInplaceAdd), tensor(logSumExp), tensor(rowMax),
                scalar(1));
    stream.call(MF_CANN(aclnnSub), tensor(logSumExp), tensor(picked), scalar(1),
                tensor(rows));
    stream.call(MF_CANN(aclnnInplaceMaskedFillScalar), tensor(rows),
                tensor(excluded), scalar(0));
    stream.call(MF_CANN(aclnnReduceSum), tensor(rows), ints({0}), true, ACL_FLOAT,
                tensor(takeElement(sums, 0)));
    stream.call(MF_CANN(aclnnLogicalNot), tensor(excluded), tensor(excluded));
    stream.call(MF_CANN(aclnnCast), tensor(excluded), ACL_FLOAT, tensor(rows));
    stream.call(MF_CANN(aclnnReduceSum), tensor(rows), ints({0}), true, ACL_FLOAT,
                tensor(takeElement(sums, 1)));}];
  let cannHeaders = excludedRows.headers # ["log", "add", "sub", "reduce_sum",
                                            "logical_not", "cast"];
  let summary = "the loss of a rank's rows, not yet divided by their number";
  let parts = [{getLossParts("r, r, r, r -> S, r", spec.outputs[0])}];
  let description = [{The inputs are each row's maximum, sum of exponentials and
    logit of the label, over all ranks. `sums` has the sum of the losses of rows
    that count, and the number of these rows. `classes` is the size of the whole
    vocabulary.}];
  let inputs = (ins In:$target, In:$rowMax, In:$sum, In:$picked);
  let outputs = (outs Out:$sums, Out:$logSumExp);
  let attributes = (attrs IntOr<-100>:$ignore_index, Int:$classes);
  let kind = "loss";
  let flops = "4 * spec.outputs[1].getNumElements()";
  let measures = [Measure<"rows", "getRows(spec.inputs[0])">,
                  Measure<"columns", "getColumns(spec.inputs[0])">];
}

def CrossEntropySum : Kernel<"mfCrossEntropySum", "makeCrossEntropySum"> {
  defvar summedLoss = SummedLoss<"takeElement(sums, 0)", "takeElement(sums, 1)">;
  let cannBody = summedLoss.text;
  let cannHeaders = summedLoss.headers;
  let summary = "aclnnCrossEntropyLoss, not yet divided by the number of rows";
  let parts = [{getLossParts("rC, r -> S, r", spec.outputs[0])}];
  let description = [{`sums` has the sum of the losses of rows that count, and the
    number of these rows. With the shape [1, 2] they are those of a rank's own
    rows.}];
  let inputs = (ins In:$input, In:$target);
  let outputs = (outs Out:$sums, Out:$logSumExp);
  let attributes = (attrs IntOr<-100>:$ignore_index);
  let kind = "loss";
  let flops = "4 * spec.inputs[0].getNumElements()";
  let measures = [Measure<"rows", "getRows(spec.inputs[0])">,
                  Measure<"columns", "getColumns(spec.inputs[0])">];
}

def CountLabels : Kernel<"mfCountLabels", "makeCountLabels"> {
  let cannBody = ExcludedRows<>.text # [{
    const CannTensor ones = stream.makeScratch(target.dims, ACL_FLOAT);
    stream.call(MF_CANN(aclnnLogicalNot), tensor(excluded), tensor(excluded));
    stream.call(MF_CANN(aclnnCast), tensor(excluded), ACL_FLOAT, tensor(ones));
    stream.call(MF_CANN(aclnnReduceSum), tensor(flatten(ones)), ints({0}), true,
                ACL_FLOAT, tensor(takeElement(sums, 1)));}];
  let cannHeaders = !listconcat(ExcludedRows<>.headers,
                                ["logical_not", "cast", "reduce_sum"]);
  let summary = "the number of rows that count";
  let parts = [{getLossParts("r -> +S", spec.outputs[0])}];
  let description = [{The labels are those of the whole sequence. Their number
    replaces the one in `sums`, which counted the rows of a piece.}];
  let inputs = (ins In:$target);
  let outputs = (outs Updated:$sums);
  let attributes = (attrs IntOr<-100>:$ignore_index, Int:$classes);
  let kind = "loss";
  let flops = "spec.inputs[0].getNumElements()";
  let measures = [Measure<"rows", "getRows(spec.inputs[0])">,
                  Measure<"columns", "getColumns(spec.inputs[0])">];
}

def MeanLoss : Kernel<"mfMeanLoss", "makeMeanLoss"> {
  let cannBody = [{
    const auto share = static_cast<double>(std::max<int64_t>(ranks, 1));
    const CannTensor counted = takeElement(sums, 1);
    const CannTensor divisor = stream.makeScratch({1}, ACL_FLOAT);
    stream.call(MF_CANN(aclnnAdds), tensor(counted), scalar(1e-8), scalar(1),
                tensor(divisor));
    stream.call(MF_CANN(aclnnDiv), tensor(takeElement(sums, 0)), tensor(divisor),
                tensor(flatten(loss)));
    stream.call(MF_CANN(aclnnDivs), tensor(flatten(loss)), scalar(share),
                tensor(flatten(loss)));
    stream.call(MF_CANN(aclnnMuls), tensor(counted), scalar(share),
                tensor(flatten(count)));}];
  let cannHeaders = ["add", "div", "mul"];
  let summary = "loss = sum / (count + 1e-8)";
  let parts = [{getLossParts("S -> ., N", spec.inputs[0])}];
  let description = [{`sums` are those of mfCrossEntropySum or mfCrossEntropyRows.
    With `ranks` they are those of a rank's own rows, the loss is divided by
    `ranks`, so that the sum over ranks is the mean of their means, and the count
    is multiplied by `ranks`.}];
  let inputs = (ins In:$sums);
  let outputs = (outs Out:$loss, Out:$count);
  let attributes = (attrs OptionalInt:$ranks);
  let kind = "loss";
  let flops = "2";
  let measures = [Measure<"rows", "getRows(spec.inputs[0])">,
                  Measure<"columns", "getColumns(spec.inputs[0])">];
}

def CrossEntropyPartGrad
    : Kernel<"mfCrossEntropyPartGrad", "makeCrossEntropyLossGrad"> {
  defvar indicesOfPart = LocalIndices<"target", "input.dims[1]">;
  defvar excludedRows = ExcludedRows<>;
  let cannBody = indicesOfPart.text # excludedRows.text # [{
    // (exp(input - logSumExp) - 1 at the label) * gradLoss / (count + 1e-8).
    const CannTensor factor = stream.makeScratch({1}, ACL_FLOAT);
    const CannTensor shifted = stream.makeScratch(input.dims, ACL_FLOAT);
    const CannTensor ones = stream.makeScratch(target.dims, ACL_FLOAT);
    const CannTensor wide = input.type == ACL_FLOAT ? input : shifted;
    const CannTensor result = stream.makeFloat(out);
    stream.call(MF_CANN(aclnnAdds), tensor(flatten(count)), scalar(1e-8), scalar(1),
                tensor(factor));
    stream.call(MF_CANN(aclnnDiv), tensor(flatten(gradLoss)), tensor(factor),
                tensor(factor));
    if (input.type != ACL_FLOAT)
      stream.call(MF_CANN(aclnnCast), tensor(input), ACL_FLOAT, tensor(wide));
    stream.call(MF_CANN(aclnnSub), tensor(wide), tensor(withColumn(logSumExp)),
                scalar(1), tensor(shifted));
    stream.call(MF_CANN(aclnnExp), tensor(shifted), tensor(shifted));
    stream.call(MF_CANN(aclnnCast), tensor(outside), ACL_FLOAT, tensor(ones));
    stream.call(MF_CANN(aclnnAdds), tensor(ones), scalar(-1), scalar(1), tensor(ones));
    stream.call(MF_CANN(aclnnScatterAdd), tensor(shifted), int64_t{1},
                tensor(withColumn(local)), tensor(withColumn(ones)), tensor(result));
    stream.call(MF_CANN(aclnnMul), tensor(result), tensor(factor), tensor(result));
    stream.call(MF_CANN(aclnnInplaceMaskedFillScalar), tensor(result),
                tensor(withColumn(excluded)), scalar(0));
    if (out.type != ACL_FLOAT)
      stream.call(MF_CANN(aclnnCast), tensor(result), out.type, tensor(out));}];
  let cannHeaders = indicesOfPart.headers # excludedRows.headers
      # ["add", "div", "cast", "sub", "exp", "scatter_add", "mul"];
  let summary = "aclnnCrossEntropyLossGrad of a rank's columns of the logits";
  let parts = [{getLossParts("+., rc, r, r, N, @c -> rc", spec.inputs[4])}];
  let description = [{`logSumExp` and `count` are those of all ranks. `classes` is
    the size of the whole vocabulary.}];
  let inputs = (ins In:$gradLoss, In:$input, In:$target, In:$logSumExp,
                    In:$count, In:$firstRow);
  let outputs = (outs Out:$out);
  let attributes = (attrs IntOr<-100>:$ignore_index, Int:$classes);
  let kind = "loss_grad";
  let measures = [Measure<"rows", "getRows(spec.inputs[1])">,
                  Measure<"columns", "getColumns(spec.inputs[1])">];
}
