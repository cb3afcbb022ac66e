//===- AscendVocabularyKernels.td - Embedding and loss -----*- tablegen -*-===//
//
// Part of AscendKernels.td.
//
//===----------------------------------------------------------------------===//

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
  let description = [{aclnn's numWeights follows from out; no padding index, no
    scaling by frequency.}];
  let inputs = (ins In:$grad, In:$indices);
  let outputs = (outs Out:$out);
  let kind = "embedding";
  let profiled = ["EmbeddingDenseGrad", "EmbeddingDenseGradV2"];
}

def CrossEntropyLoss : Kernel<"aclnnCrossEntropyLoss", "makeCrossEntropyLoss"> {
  let cannBody = [{
    // CANN keeps the logarithms of all probabilities. Backward makes them again,
    // so that nothing reads logSumExp and count.
    const CannTensor labels = stream.makeScratch(target.dims, ACL_INT64);
    const CannTensor logProb = stream.makeScratch(input.dims, input.type);
    stream.call(MF_CANN(aclnnCast), tensor(target), ACL_INT64, tensor(labels));
    char mean[] = "mean";
    stream.call(MF_CANN(aclnnCrossEntropyLoss), tensor(input), tensor(labels),
                nullptr, mean, ignore_index, 0.0, 0.0, false,
                tensor(flatten(loss)), tensor(logProb), tensor(empty(input.type)),
                tensor(empty(input.type)));}];
  let cannHeaders = ["cast", "cross_entropy_loss"];
  let summary = "mean negative log-likelihood of labels";
  let parts = "RC, R -> ., R, .";
  let description = [{Keeps the logarithm of each row's sum of exponentials
    (`lseForZloss`) instead of aclnn's logProb, a matrix, and the number of rows
    that count; loss = sum / (count + 1e-8), as MindSpore Transformers
    divides.}];
  let inputs = (ins In:$input, In:$target);
  let outputs = (outs Out:$loss, Out:$logSumExp, Out:$count);
  let attributes = (attrs OptionalInt:$ignore_index);
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
    char mean[] = "mean";
    stream.call(MF_CANN(aclnnCrossEntropyLoss), tensor(input), tensor(labels),
                nullptr, mean, ignore_index, 0.0, 0.0, false, tensor(loss),
                tensor(logProb), tensor(empty(input.type)),
                tensor(empty(input.type)));
    stream.call(MF_CANN(aclnnCrossEntropyLossGrad), tensor(flatten(gradLoss)),
                tensor(logProb), tensor(labels), nullptr, nullptr, nullptr, mean,
                ignore_index, 0.0, 0.0, tensor(out));}];
  let cannHeaders = ["cast", "cross_entropy_loss", "cross_entropy_loss_grad"];
  let summary = "gradient of aclnnCrossEntropyLoss with respect to its input";
  let parts = [{getLossParts("+., rC, r, r, N -> rC", spec.inputs[4])}];
  let description = [{From the input and what the loss kept; see there. A count
    of shape [1] is that of a rank's own rows.}];
  let inputs = (ins In:$gradLoss, In:$input, In:$target, In:$logSumExp,
                    In:$count);
  let outputs = (outs Out:$out);
  let attributes = (attrs OptionalInt:$ignore_index);
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
  let summary = "aclnnEmbedding of a rank's rows of the table";
  let parts = "vd, *, @v -> *d";
  let description = [{An index of another rank's rows, or of none, reads
    zeros.}];
  let inputs = (ins In:$weight, In:$indices, In:$firstRow);
  let outputs = (outs Out:$out);
  let kind = "embedding";
  let bytes = [{spec.inputs[1].getBytes() + spec.inputs[2].getBytes() +
                2 * spec.outputs[0].getBytes()}];
}

def EmbeddingPartBackward
    : Kernel<"mfEmbeddingPartBackward", "makeEmbeddingBackward"> {
  let summary = "gradient of mfEmbeddingPart with respect to its rows";
  let parts = "+*d, *, @v -> vd";
  let inputs = (ins In:$grad, In:$indices, In:$firstRow);
  let outputs = (outs Out:$out);
  let kind = "embedding";
}

def RowMax : Kernel<"mfRowMax", "makeRowMax"> {
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
  let summary = "the loss of a rank's rows, not yet divided by their number";
  let parts = [{getLossParts("r, r, r, r -> S, r", spec.outputs[0])}];
  let description = [{From each row's maximum, its sum of exponentials and its
    label's logit, of all ranks. `sums` are the sum of the rows that count and
    their number; `classes` is the whole vocabulary.}];
  let inputs = (ins In:$target, In:$rowMax, In:$sum, In:$picked);
  let outputs = (outs Out:$sums, Out:$logSumExp);
  let attributes = (attrs OptionalInt:$ignore_index, Int:$classes);
  let kind = "loss";
  let flops = "4 * spec.outputs[1].getNumElements()";
  let measures = [Measure<"rows", "getRows(spec.inputs[0])">,
                  Measure<"columns", "getColumns(spec.inputs[0])">];
}

def CrossEntropySum : Kernel<"mfCrossEntropySum", "makeCrossEntropySum"> {
  let summary = "aclnnCrossEntropyLoss, not yet divided by the number of rows";
  let parts = [{getLossParts("rC, r -> S, r", spec.outputs[0])}];
  let description = [{`sums` are the sum of the rows that count and their
    number; of shape [1, 2] those of a rank's own rows.}];
  let inputs = (ins In:$input, In:$target);
  let outputs = (outs Out:$sums, Out:$logSumExp);
  let attributes = (attrs OptionalInt:$ignore_index);
  let kind = "loss";
  let flops = "4 * spec.inputs[0].getNumElements()";
  let measures = [Measure<"rows", "getRows(spec.inputs[0])">,
                  Measure<"columns", "getColumns(spec.inputs[0])">];
}

def CountLabels : Kernel<"mfCountLabels", "makeCountLabels"> {
  let summary = "the number of rows that count";
  let parts = [{getLossParts("r -> +S", spec.outputs[0])}];
  let description = [{Written over that of `sums`, which counted a piece's rows;
    the labels are of the whole sequence.}];
  let inputs = (ins In:$target);
  let outputs = (outs Updated:$sums);
  let attributes = (attrs OptionalInt:$ignore_index, Int:$classes);
  let kind = "loss";
  let flops = "spec.inputs[0].getNumElements()";
  let measures = [Measure<"rows", "getRows(spec.inputs[0])">,
                  Measure<"columns", "getColumns(spec.inputs[0])">];
}

def MeanLoss : Kernel<"mfMeanLoss", "makeMeanLoss"> {
  let summary = "loss = sum / (count + 1e-8)";
  let parts = [{getLossParts("S -> ., N", spec.inputs[0])}];
  let description = [{From `sums` of the kernels above. With `ranks` they are
    those of a rank's own rows, and the loss is its share of the mean of so many
    means: the count is so many times as large.}];
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
  let summary = "aclnnCrossEntropyLossGrad of a rank's columns of the logits";
  let parts = [{getLossParts("+., rc, r, r, N, @c -> rc", spec.inputs[4])}];
  let description = [{What the loss kept is of all ranks; `classes` is the whole
    vocabulary.}];
  let inputs = (ins In:$gradLoss, In:$input, In:$target, In:$logSumExp,
                    In:$count, In:$firstRow);
  let outputs = (outs Out:$out);
  let attributes = (attrs OptionalInt:$ignore_index, Int:$classes);
  let kind = "loss_grad";
  let measures = [Measure<"rows", "getRows(spec.inputs[1])">,
                  Measure<"columns", "getColumns(spec.inputs[1])">];
}
