//===- AclnnOperators.td - Operators of aclnn --------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The operators of aclnn that programs may call, by their headers in aclnnop.
//
//===----------------------------------------------------------------------===//

include "AclnnBase.td"

// Sums.
def : Header<"add", [
  Operator<"aclnnAdd", (ins In:$self, In:$other, OptionalScalar:$alpha,
    Result:$out), "makeSum">,
  Operator<"aclnnAdds", (ins In:$self, Scalar:$other, OptionalScalar:$alpha,
    Result:$out)>,
  Operator<"aclnnInplaceAdd", (ins Out:$selfRef, Tensor:$other,
    OptionalScalar:$alpha)>]>;

// Largest element over dimensions.
def : Header<"amax", [
  Operator<"aclnnAmax", (ins In:$self, Ints:$dim, Bool:$keepDim,
    Result:$out)>]>;

// A step of AdamW; the kernel adds 1 to step.
def : Header<"apply_adam_w_v2", [
  Operator<"aclnnApplyAdamWV2", (ins Ref:$varRef, Ref:$mRef, Ref:$vRef,
    Out:$maxGradNormOptionalRef, In:$grad, In:$step, Float:$lr, Float:$beta1,
    Float:$beta2, Float:$weightDecay, Float:$eps, Bool:$amsgrad,
    Bool:$maximize)>]>;

// Numbers at equal distances.
def : Header<"arange", [
  Operator<"aclnnArange", (ins Scalar:$start, Scalar:$end, Scalar:$step,
    Result:$out)>]>;

// Products of two stacks of matrices.
def : Header<"batch_matmul", [
  Operator<"aclnnBatchMatMul", (ins Matrix:$self, Matrix:$mat2, Result:$out,
    Byte:$cubeMathType)>]>;

// Conversion to another element type.
def : Header<"cast", [
  Operator<"aclnnCast", (ins In:$self, Type:$dtype, Result:$out)>]>;

// Tensors one after another.
def : Header<"cat", [
  Operator<"aclnnCat", (ins Tensors:$tensors, Int:$dim, Out:$out)>]>;

// Limits of elements.
def : Header<"clamp", [
  Operator<"aclnnClampMin", (ins In:$self, Scalar:$clipValueMin,
    Result:$out), "makeScalar">,
  Operator<"aclnnClampMax", (ins In:$self, Scalar:$clipValueMax,
    Result:$out), "makeScalar">]>;

// A value around a tensor; pad begins with the last dimension.
def : Header<"constant_pad_nd", [
  Operator<"aclnnConstantPadNd", (ins In:$self, Ints:$pad, Scalar:$value,
    Result:$out)>]>;

// Copies of elements, between strides and types.
def : Header<"copy", [
  Operator<"aclnnInplaceCopy", (ins Out:$selfRef, Tensor:$src)>]>;

// Cross entropy of rows of logits and labels.
def : Header<"cross_entropy_loss", [
  Operator<"aclnnCrossEntropyLoss", (ins In:$input, In:$target,
    Tensor:$weightOptional, Text:$reduction, Int:$ignoreIndex,
    Double:$labelSmoothing, Double:$lseSquareScaleForZloss, Bool:$returnZloss,
    Result:$lossOut, Result:$logProbOut, Out:$zlossOut, Out:$lseForZlossOut)>]>;

// Gradient of aclnnCrossEntropyLoss with respect to its logits.
def : Header<"cross_entropy_loss_grad", [
  Operator<"aclnnCrossEntropyLossGrad", (ins In:$gradLoss, In:$logProb,
    In:$target, Tensor:$weightOptional, Tensor:$gradZlossOptional,
    Tensor:$lseForZlossOptional, Text:$reduction, Int:$ignoreIndex,
    Double:$labelSmoothing, Double:$lseSquareScaleForZloss, Result:$out)>]>;

// The largest element up to each one, and its place.
def : Header<"cummax", [
  Operator<"aclnnCummax", (ins In:$self, Int:$dim, Result:$valuesOut,
    Result:$indicesOut)>]>;

// Sums of all elements up to each one.
def : Header<"cumsum", [
  Operator<"aclnnCumsum", (ins In:$self, Int:$dim, Type:$dtype, Result:$out)>]>;

// Quotients.
def : Header<"div", [
  Operator<"aclnnDiv", (ins In:$self, In:$other, Result:$out), "makeBinary">,
  Operator<"aclnnDivs", (ins In:$self, Scalar:$other, Result:$out)>]>;

// self / (1 - prob) where the bit of the mask is 1, else 0. The mask has units
// of 128 bits, eight to a byte.
def : Header<"dropout_do_mask", [
  Operator<"aclnnDropoutDoMask", (ins In:$self, Tensor:$mask, Double:$prob,
    Out:$out)>]>;

// Rows of a table by index.
def : Header<"embedding", [
  Operator<"aclnnEmbedding", (ins In:$weight, In:$indices, Result:$out)>]>;

// Gradient of aclnnEmbedding with respect to its table.
def : Header<"embedding_dense_backward", [
  Operator<"aclnnEmbeddingDenseBackward", (ins In:$grad, In:$indices,
    Count:$numWeights, Count:$paddingIdx, Bool:$scaleGradByFreq,
    Result:$out)>]>;

// Comparison with a number.
def : Header<"eq_scalar", [
  Operator<"aclnnEqScalar", (ins In:$self, Scalar:$other, Result:$out)>]>;

// Exponential.
def : Header<"exp", [
  Operator<"aclnnExp", (ins In:$self, Result:$out), "makeUnary">]>;

// Gaussian error linear unit as self * sigmoid(1.702 self).
def : Header<"fast_gelu", [
  Operator<"aclnnFastGelu", (ins In:$self, Result:$out), "makeUnary">]>;

// Gradient of aclnnFastGelu.
def : Header<"fast_gelu_backward", [
  Operator<"aclnnFastGeluBackward", (ins In:$gradOutput, In:$self,
    Result:$gradInput), "makeBinary">]>;

// One value everywhere.
def : Header<"fill_scalar", [
  Operator<"aclnnInplaceFillScalar", (ins Result:$selfRef, Scalar:$value)>]>;

// softmax(scale * query key^T) value in tiles.
def : Header<"flash_attention_score", [
  Operator<"aclnnFlashAttentionScoreV2", (ins Tensor:$query, Tensor:$key,
    Tensor:$value, Tensor:$realShiftOptional, Tensor:$dropMaskOptional,
    Tensor:$paddingMaskOptional, Tensor:$attenMaskOptional,
    OptionalInts:$prefixOptional, OptionalInts:$qStartIdxOptional,
    OptionalInts:$kvStartIdxOptional, Double:$scaleValue, Double:$keepProb,
    Int:$preTokens, Int:$nextTokens, Int:$headNum, Text:$inputLayout,
    Int:$innerPrecise, Int:$sparseMode, Int:$pseType, Out:$softmaxMaxOut,
    Out:$softmaxSumOut, Out:$softmaxOutOut, Out:$attentionOutOut)>]>;

// Gradients of aclnnFlashAttentionScore.
def : Header<"flash_attention_score_grad", [
  Operator<"aclnnFlashAttentionScoreGradV2", (ins Tensor:$query, Tensor:$key,
    Tensor:$value, Tensor:$dy, Tensor:$pseShiftOptional,
    Tensor:$dropMaskOptional, Tensor:$paddingMaskOptional,
    Tensor:$attenMaskOptional, Tensor:$softmaxMaxOptional,
    Tensor:$softmaxSumOptional, Tensor:$softmaxInOptional,
    Tensor:$attentionInOptional, OptionalInts:$prefixOptional,
    OptionalInts:$qStartIdxOptional, OptionalInts:$kvStartIdxOptional,
    Double:$scaleValue, Double:$keepProb, Int:$preTokens, Int:$nextTokens,
    Int:$headNum, Text:$inputLayout, Int:$innerPrecise, Int:$sparseMode,
    Int:$pseType, Out:$dqOut, Out:$dkOut, Out:$dvOut, Out:$dpseOut)>]>;

// Quotients that are rounded down.
def : Header<"floor_divide", [
  Operator<"aclnnFloorDivides", (ins In:$self, Scalar:$other,
    Result:$out), "makeScalar">]>;

// x * scalar for a list; the scalar is a tensor of the device.
def : Header<"foreach_mul_scalar", [
  Operator<"aclnnForeachMulScalar", (ins Tensors:$x, In:$scalar,
    OutTensors:$out)>]>;

// Multiplies a list by invScale and sets foundInf where an element is
// infinite or NaN.
def : Header<"foreach_non_finite_check_and_unscale", [
  Operator<"aclnnForeachNonFiniteCheckAndUnscale", (ins Tensors:$scaledGrads,
    Tensor:$foundInf, Tensor:$invScale)>]>;

// A norm of each tensor of a list, in the type of x.
def : Header<"foreach_norm", [
  Operator<"aclnnForeachNorm", (ins Tensors:$x, Scalar:$scalar,
    OutTensors:$out)>]>;

// Elements along a dimension by index.
def : Header<"gather", [
  Operator<"aclnnGather", (ins In:$self, Int:$dim, In:$index, Result:$out)>]>;

// Comparison with a number.
def : Header<"ge_scalar", [
  Operator<"aclnnGeScalar", (ins In:$self, Scalar:$other, Result:$out)>]>;

// Comparison of two tensors.
def : Header<"ge_tensor", [
  Operator<"aclnnGeTensor", (ins In:$self, In:$other, Result:$out)>]>;

// Gaussian error linear unit in its tanh form.
def : Header<"gelu", [
  Operator<"aclnnGelu", (ins In:$self, Result:$out), "makeUnary">]>;

// Gradient of a Gaussian error linear unit; approximate is "none" or "tanh".
def : Header<"gelu_backward_v2", [
  Operator<"aclnnGeluBackwardV2", (ins In:$gradOutput, In:$self,
    Text:$approximate, Result:$gradInput)>]>;

// Products of groups of rows, each with a matrix of its own.
def : Header<"grouped_matmul_v4", [
  Operator<"aclnnGroupedMatmulV4", (ins Tensors:$x, Tensors:$weight,
    OptionalTensors:$biasOptional, OptionalTensors:$scaleOptional,
    OptionalTensors:$offsetOptional, OptionalTensors:$antiquantScaleOptional,
    OptionalTensors:$antiquantOffsetOptional,
    OptionalTensors:$perTokenScaleOptional, Tensor:$groupListOptional,
    OptionalTensors:$activationInputOptional,
    OptionalTensors:$activationQuantScaleOptional,
    OptionalTensors:$activationQuantOffsetOptional, Int:$splitItem,
    Int:$groupType, Int:$groupListType, Int:$actType, OutTensors:$out,
    OptionalOutTensors:$activationFeatureOutOptional,
    OptionalOutTensors:$dynQuantScaleOutOptional)>]>;

// Comparison with a number of the host.
def : Header<"gt_scalar", [
  Operator<"aclnnGtScalar", (ins In:$self, Scalar:$other, Result:$out)>]>;

// Comparison of two tensors.
def : Header<"gt_tensor", [
  Operator<"aclnnGtTensor", (ins In:$self, In:$other, Result:$out)>]>;

// Slices of a dimension by index.
def : Header<"index_select", [
  Operator<"aclnnIndexSelect", (ins In:$self, Int:$dim, In:$index,
    Result:$out)>]>;

// Whether elements are finite.
def : Header<"isfinite", [
  Operator<"aclnnIsFinite", (ins In:$self, Result:$out)>]>;

// Normalisation over the last dimensions; statistics have 1 in their place.
def : Header<"layer_norm", [
  Operator<"aclnnLayerNorm", (ins Tensor:$input, Ints:$normalizedShape,
    Tensor:$weightOptional, Tensor:$biasOptional, Double:$eps, Out:$out,
    Out:$meanOutOptional, Out:$rstdOutOptional)>]>;

// Gradients of aclnnLayerNorm, those that outputMask names.
def : Header<"layer_norm_backward", [
  Operator<"aclnnLayerNormBackward", (ins Tensor:$gradOut, Tensor:$input,
    Ints:$normalizedShape, Tensor:$mean, Tensor:$rstd, Tensor:$weightOptional,
    Tensor:$biasOptional, Bools:$outputMask, Out:$gradInputOut,
    Out:$gradWeightOut, Out:$gradBiasOut)>]>;

// The keys with the largest sums over heads of w * relu(q k), of those that a
// query sees.
def : Header<"lightning_indexer_v2", [
  Operator<"aclnnLightningIndexerV2", (ins Tensor:$q, Tensor:$k, Tensor:$w,
    Tensor:$cuSeqlensQOptional, Tensor:$cuSeqlensKOptional,
    Tensor:$sequsedQOptional, Tensor:$sequsedKOptional,
    Tensor:$cmpResidualKOptional, Tensor:$blockTableOptional,
    Tensor:$outputIdxOffsetOptional, Tensor:$metadataOptional, Int:$topk,
    Int:$maxSeqlenQ, Text:$layoutQOptional, Text:$layoutKOptional,
    Int:$maskMode, Int:$cmpRatio, Int:$returnValue, Out:$sparseIndicesOut,
    Out:$sparseValuesOut)>]>;

// Natural logarithm.
def : Header<"log", [
  Operator<"aclnnLog", (ins In:$self, Result:$out), "makeUnary">]>;

// Truths that are not.
def : Header<"logical_not", [
  Operator<"aclnnLogicalNot", (ins In:$self, Result:$out)>]>;

// Truths that are either.
def : Header<"logical_or", [
  Operator<"aclnnInplaceLogicalOr", (ins Ref:$selfRef, In:$other)>]>;

// Comparison with a number.
def : Header<"lt_scalar", [
  Operator<"aclnnLtScalar", (ins In:$self, Scalar:$other, Result:$out)>]>;

// Comparison of two tensors.
def : Header<"lt_tensor", [
  Operator<"aclnnLtTensor", (ins In:$self, In:$other, Result:$out)>]>;

// A number where a mask is true.
def : Header<"masked_fill_scalar", [
  Operator<"aclnnInplaceMaskedFillScalar", (ins Ref:$selfRef, In:$mask,
    Scalar:$value)>]>;

// Products of tensors of one to six dimensions; leading dimensions broadcast.
def : Header<"matmul", [
  Operator<"aclnnMatmul", (ins Matrix:$self, Matrix:$mat2, Result:$out,
    Byte:$cubeMathType)>]>;

// The larger of two elements.
def : Header<"maximum", [
  Operator<"aclnnMaximum", (ins In:$self, In:$other, Result:$out)>]>;

// Residual streams mixed, and shares of a layer's result added (hyper-connections).
def : Header<"mhc_post", [
  Operator<"aclnnMhcPost", (ins In:$x, In:$hRes, In:$hOut, In:$hPost,
    Result:$out)>]>;

// Gradients of aclnnMhcPost.
def : Header<"mhc_post_backward", [
  Operator<"aclnnMhcPostBackward", (ins In:$gradOutput, In:$x, In:$hRes,
    In:$hOut, In:$hPost, Result:$gradX, Result:$gradHres, Result:$gradHout,
    Result:$gradHpost)>]>;

// What a layer reads of residual streams, and how they are mixed; the results
// behind hRes are what the gradient reads.
def : Header<"mhc_pre_sinkhorn", [
  Operator<"aclnnMhcPreSinkhorn", (ins In:$x, In:$phi, In:$alpha, In:$bias,
    Int:$hcMult, Int:$numIters, Double:$hcEps, Double:$normEps, Bool:$needGrad,
    Result:$hin, Result:$hPost, Result:$hRes, Result:$hPre,
    Result:$hcBeforeNorm, Result:$invRms, Result:$sumOut, Result:$normOut)>]>;

// Gradients of aclnnMhcPreSinkhorn.
def : Header<"mhc_pre_sinkhorn_backward", [
  Operator<"aclnnMhcPreSinkhornBackward", (ins In:$gradHin, In:$gradHPost,
    In:$gradHRes, In:$x, In:$phi, In:$alpha, In:$bias, In:$hPre,
    In:$hcBeforeNorm, In:$invRms, In:$sumOut, In:$normOut, Double:$hcEps,
    Result:$gradX, Result:$gradPhi, Result:$gradAlpha, Result:$gradBias)>]>;

// Products of matrices of two dimensions.
def : Header<"mm", [
  Operator<"aclnnMm", (ins Matrix:$self, Matrix:$mat2, Result:$out,
    Byte:$cubeMathType)>]>;

// Tokens in the order of their experts.
def : Header<"moe_token_permute", [
  Operator<"aclnnMoeTokenPermute", (ins In:$tokens, In:$indices,
    Int:$numOutTokens, Bool:$paddedMode, Result:$permuteTokensOut,
    Result:$sortedIndicesOut)>]>;

// Tokens in the order that they had before their experts'.
def : Header<"moe_token_unpermute", [
  Operator<"aclnnMoeTokenUnpermute", (ins In:$permutedTokens, In:$sortedIndices,
    Tensor:$probsOptional, Bool:$paddedMode, OptionalInts:$restoreShapeOptional,
    Result:$out)>]>;

// Products of elements.
def : Header<"mul", [
  Operator<"aclnnMul", (ins In:$self, In:$other, Result:$out), "makeBinary">,
  Operator<"aclnnMuls", (ins In:$self, Scalar:$other,
    Result:$out), "makeScalar">,
  Operator<"aclnnInplaceMuls", (ins Out:$selfRef, Scalar:$other)>]>;

// Comparison with a number of the host.
def : Header<"ne_scalar", [
  Operator<"aclnnNeScalar", (ins In:$self, Scalar:$other, Result:$out)>]>;

// -x.
def : Header<"neg", [
  Operator<"aclnnNeg", (ins In:$self, Result:$out), "makeUnary">]>;

// Permutation of dimensions.
def : Header<"permute", [
  Operator<"aclnnPermute", (ins In:$self, Ints:$dims, Result:$out)>]>;

// 1 / x.
def : Header<"reciprocal", [
  Operator<"aclnnReciprocal", (ins In:$self, Result:$out), "makeUnary">]>;

// Sum over dimensions.
def : Header<"reduce_sum", [
  Operator<"aclnnReduceSum", (ins In:$self, Ints:$dims, Bool:$keepDims,
    Type:$dtype, Result:$out)>]>;

// Remainders of divisions that round down.
def : Header<"remainder", [
  Operator<"aclnnRemainderTensorScalar", (ins In:$self, Scalar:$other,
    Result:$out), "makeScalar">]>;

// Slices along a dimension, each repeated in place.
def : Header<"repeat_interleave", [
  Operator<"aclnnRepeatInterleaveIntWithDim", (ins In:$self, Int:$repeats,
    Int:$dim, Int:$outputSize, Result:$out)>]>;

// Division of rows by their root mean square.
def : Header<"rms_norm", [
  Operator<"aclnnRmsNorm", (ins In:$x, In:$gamma, Double:$epsilon, Result:$y,
    Result:$rstd)>]>;

// Gradients of aclnnRmsNorm; dgamma is FLOAT.
def : Header<"rms_norm_grad", [
  Operator<"aclnnRmsNormGrad", (ins In:$dy, In:$x, In:$rstd, In:$gamma,
    Result:$dx, Result:$dgamma)>]>;

// Rotary position embedding: mode 0 rotates halves, mode 1 pairs.
def : Header<"rotary_position_embedding", [
  Operator<"aclnnRotaryPositionEmbedding", (ins Tensor:$x, Tensor:$cos,
    Tensor:$sin, Int:$mode, Out:$out)>]>;

// Gradients of aclnnRotaryPositionEmbedding.
def : Header<"rotary_position_embedding_grad", [
  Operator<"aclnnRotaryPositionEmbeddingGrad", (ins Tensor:$dy, Tensor:$cos,
    Tensor:$sin, Tensor:$xOptional, Int:$mode, Out:$dx, Out:$dcos,
    Out:$dsin)>]>;

// A tensor plus others' elements, by index.
def : Header<"scatter_add", [
  Operator<"aclnnScatterAdd", (ins In:$self, Int:$dim, In:$index, In:$src,
    Result:$out)>]>;

// 1 / (1 + exp(-x)).
def : Header<"sigmoid", [
  Operator<"aclnnSigmoid", (ins In:$self, Result:$out), "makeUnary">]>;

// Gradient of aclnnSigmoid, from its output.
def : Header<"sigmoid_backward", [
  Operator<"aclnnSigmoidBackward", (ins In:$gradOutput, In:$output,
    Result:$gradInput), "makeBinary">]>;

// x * sigmoid(x).
def : Header<"silu", [
  Operator<"aclnnSilu", (ins In:$self, Result:$out), "makeUnary">]>;

// Gradient of aclnnSilu.
def : Header<"silu_backward", [
  Operator<"aclnnSiluBackward", (ins In:$gradOutput, In:$self,
    Result:$gradInput), "makeBinary">]>;

// Parts of dimensions.
def : Header<"slice_v2", [
  Operator<"aclnnSliceV2", (ins In:$self, Ints:$starts, Ints:$ends, Ints:$axes,
    Ints:$steps, Result:$out)>]>;

// Softmax along a dimension.
def : Header<"softmax", [
  Operator<"aclnnSoftmax", (ins In:$self, Int:$dim, Result:$out)>]>;

// Gradient of aclnnSoftmax.
def : Header<"softmax_backward", [
  Operator<"aclnnSoftmaxBackward", (ins In:$gradOutput, In:$output, Int:$dim,
    Result:$gradInput)>]>;

// A dimension in order.
def : Header<"sort", [
  Operator<"aclnnSort", (ins In:$self, Bool:$stable, Int:$dim, Bool:$descending,
    Result:$valuesOut, Result:$indicesOut)>]>;

// Logarithm of 1 + exp(self), or self above a threshold.
def : Header<"softplus", [
  Operator<"aclnnSoftplus", (ins In:$self, Scalar:$beta, Scalar:$threshold,
    Result:$out)>]>;

// Attention over a window of oriKv and over cmpKv, whose vectors are keys and
// values, with a sink for each head.
def : Header<"sparse_flash_mla", [
  Operator<"aclnnSparseFlashMla", (ins Tensor:$q, Tensor:$oriKvOptional,
    Tensor:$cmpKvOptional, Tensor:$oriSparseIndicesOptional,
    Tensor:$cmpSparseIndicesOptional, Tensor:$oriBlockTableOptional,
    Tensor:$cmpBlockTableOptional, Tensor:$cuSeqlensQOptional,
    Tensor:$cuSeqlensOriKvOptional, Tensor:$cuSeqlensCmpKvOptional,
    Tensor:$sequsedQOptional, Tensor:$sequsedOriKvOptional,
    Tensor:$sequsedCmpKvOptional, Tensor:$cmpResidualKvOptional,
    Tensor:$oriTopkLengthOptional, Tensor:$cmpTopkLengthOptional,
    Tensor:$sinksOptional, Tensor:$metadataOptional, Double:$softmaxScale,
    Int:$cmpRatio, Int:$oriMaskMode, Int:$cmpMaskMode, Int:$oriWinLeft,
    Int:$oriWinRight, Text:$layoutQOptional, Text:$layoutKvOptional,
    Int:$topkValueMode, Bool:$returnSoftmaxLse, Out:$attnOutOut,
    Out:$softmaxLseOutOptional)>]>;

// Gradients of aclnnSparseFlashMla, and the means over heads of probabilities.
def : Header<"sparse_flash_mla_grad", [
  Operator<"aclnnSparseFlashMlaGrad", (ins Tensor:$query, Tensor:$dOut,
    Tensor:$out, Tensor:$lse, Tensor:$oriKvOptional, Tensor:$cmpKvOptional,
    Tensor:$oriSparseIndicesOptional, Tensor:$cmpSparseIndicesOptional,
    Tensor:$cuSeqlensQOptional, Tensor:$cuSeqlensOriKvOptional,
    Tensor:$cuSeqlensCmpKvOptional, Tensor:$sequsedQOptional,
    Tensor:$sequsedOriKvOptional, Tensor:$sequsedCmpKvOptional,
    Tensor:$cmpResidualKvOptional, Tensor:$oriTopkLengthOptional,
    Tensor:$cmpTopkLengthOptional, Tensor:$sinksOptional,
    Tensor:$metadataOptional, Double:$scaleValue, Int:$cmpRatio,
    Int:$oriMaskMode, Int:$cmpMaskMode, Int:$oriWinLeft, Int:$oriWinRight,
    Text:$layoutQOptional, Text:$layoutKvOptional, Out:$dQueryOut,
    Out:$dOriKvOutOptional, Out:$dCmpKvOutOptional, Out:$dSinksOutOptional,
    Out:$oriSoftmaxL1NormOptional, Out:$cmpSoftmaxL1NormOptional)>]>;

// Which core computes what of aclnnSparseFlashMla.
def : Header<"sparse_flash_mla_metadata", [
  Operator<"aclnnSparseFlashMlaMetadata", (ins Tensor:$cuSeqlensQOptional,
    Tensor:$cuSeqlensOriKvOptional, Tensor:$cuSeqlensCmpKvOptional,
    Tensor:$sequsedQOptional, Tensor:$sequsedOriKvOptional,
    Tensor:$sequsedCmpKvOptional, Tensor:$cmpResidualKvOptional,
    Tensor:$oriTopkLengthOptional, Tensor:$cmpTopkLengthOptional,
    Int:$numHeadsQ, Int:$numHeadsKv, Int:$headDim, Int:$batchSize,
    Int:$maxSeqlenQ, Int:$maxSeqlenOriKv, Int:$maxSeqlenCmpKv, Int:$oriTopk,
    Int:$cmpTopk, Int:$cmpRatio, Int:$oriMaskMode, Int:$cmpMaskMode,
    Int:$oriWinLeft, Int:$oriWinRight, ConstantText:$layoutQOptional,
    ConstantText:$layoutKvOptional, Bool:$hasOriKv, Bool:$hasCmpKv,
    Out:$metaData)>]>;

// Square root.
def : Header<"sqrt", [
  Operator<"aclnnSqrt", (ins In:$self, Result:$out), "makeUnary">]>;

// Differences.
def : Header<"sub", [
  Operator<"aclnnSub", (ins In:$self, In:$other, OptionalScalar:$alpha,
    Result:$out), "makeSum">]>;

// silu(first half) * second half of a dimension.
def : Header<"swi_glu", [
  Operator<"aclnnSwiGlu", (ins In:$x, Int:$dim, Result:$out)>]>;

// Gradient of aclnnSwiGlu.
def : Header<"swi_glu_grad", [
  Operator<"aclnnSwiGluGrad", (ins In:$yGrad, In:$x, Int:$dim, Result:$out)>]>;

// The largest or smallest elements of a dimension.
def : Header<"topk", [
  Operator<"aclnnTopk", (ins In:$self, Int:$k, Int:$dim, Bool:$largest,
    Bool:$sorted, Result:$valuesOut, Result:$indicesOut)>]>;

// Zeros.
def : Header<"zero", [
  Operator<"aclnnInplaceZero", (ins Result:$selfRef)>]>;
