//===- AclnnOperators.td - Operators of aclnn on the host --*- tablegen -*-===//
//
// The operators of aclnn that programs may call, by their headers in aclnnop.
//
//===----------------------------------------------------------------------===//

include "AclnnBase.td"

// Sums.
def : Header<"add", [
  Operator<"aclnnAdd", (ins Tensor:$self, Tensor:$other, Scalar:$alpha,
    Out:$out), "makeSum">,
  Operator<"aclnnAdds", (ins Tensor:$self, Scalar:$other, Scalar:$alpha,
    Out:$out)>,
  Operator<"aclnnInplaceAdd", (ins Out:$selfRef, Tensor:$other,
    Scalar:$alpha)>]>;

// Largest element over dimensions.
def : Header<"amax", [
  Operator<"aclnnAmax", (ins Tensor:$self, Ints:$dim, Bool:$keepDim,
    Out:$out)>]>;

// A step of AdamW; the kernel adds 1 to step.
def : Header<"apply_adam_w_v2", [
  Operator<"aclnnApplyAdamWV2", (ins Out:$varRef, Out:$mRef, Out:$vRef,
    Out:$maxGradNormOptionalRef, Tensor:$grad, Tensor:$step, Float:$lr,
    Float:$beta1, Float:$beta2, Float:$weightDecay, Float:$eps, Bool:$amsgrad,
    Bool:$maximize)>]>;

// Numbers at equal distances.
def : Header<"arange", [
  Operator<"aclnnArange", (ins Scalar:$start, Scalar:$end, Scalar:$step,
    Out:$out)>]>;

// Products of two stacks of matrices.
def : Header<"batch_matmul", [
  Operator<"aclnnBatchMatMul", (ins Tensor:$self, Tensor:$mat2, Out:$out,
    Byte:$cubeMathType)>]>;

// Conversion to another element type.
def : Header<"cast", [
  Operator<"aclnnCast", (ins Tensor:$self, Type:$dtype, Out:$out)>]>;

// Tensors one after another.
def : Header<"cat", [
  Operator<"aclnnCat", (ins Tensors:$tensors, Int:$dim, Out:$out)>]>;

// Limits of elements.
def : Header<"clamp", [
  Operator<"aclnnClampMin", (ins Tensor:$self, Scalar:$clipValueMin,
    Out:$out), "makeScalar">,
  Operator<"aclnnClampMax", (ins Tensor:$self, Scalar:$clipValueMax,
    Out:$out), "makeScalar">]>;

// A value around a tensor; pad begins with the last dimension.
def : Header<"constant_pad_nd", [
  Operator<"aclnnConstantPadNd", (ins Tensor:$self, Ints:$pad, Scalar:$value,
    Out:$out)>]>;

// Copies of elements, between strides and types.
def : Header<"copy", [
  Operator<"aclnnInplaceCopy", (ins Out:$selfRef, Tensor:$src)>]>;

// Cross entropy of rows of logits and labels.
def : Header<"cross_entropy_loss", [
  Operator<"aclnnCrossEntropyLoss", (ins Tensor:$input, Tensor:$target,
    Tensor:$weightOptional, Text:$reduction, Int:$ignoreIndex,
    Double:$labelSmoothing, Double:$lseSquareScaleForZloss, Bool:$returnZloss,
    Out:$lossOut, Out:$logProbOut, Out:$zlossOut, Out:$lseForZlossOut)>]>;

// Gradient of aclnnCrossEntropyLoss with respect to its logits.
def : Header<"cross_entropy_loss_grad", [
  Operator<"aclnnCrossEntropyLossGrad", (ins Tensor:$gradLoss, Tensor:$logProb,
    Tensor:$target, Tensor:$weightOptional, Tensor:$gradZlossOptional,
    Tensor:$lseForZlossOptional, Text:$reduction, Int:$ignoreIndex,
    Double:$labelSmoothing, Double:$lseSquareScaleForZloss, Out:$out)>]>;

// The largest element up to each one, and its place.
def : Header<"cummax", [
  Operator<"aclnnCummax", (ins Tensor:$self, Int:$dim, Out:$valuesOut,
    Out:$indicesOut)>]>;

// Sums of all elements up to each one.
def : Header<"cumsum", [
  Operator<"aclnnCumsum", (ins Tensor:$self, Int:$dim, Type:$dtype,
    Out:$out)>]>;

// Quotients.
def : Header<"div", [
  Operator<"aclnnDiv", (ins Tensor:$self, Tensor:$other,
    Out:$out), "makeBinary">,
  Operator<"aclnnDivs", (ins Tensor:$self, Scalar:$other, Out:$out)>]>;

// self / (1 - prob) where the bit of the mask is 1, else 0. The mask has units
// of 128 bits, eight to a byte.
def : Header<"dropout_do_mask", [
  Operator<"aclnnDropoutDoMask", (ins Tensor:$self, Tensor:$mask, Double:$prob,
    Out:$out)>]>;

// Rows of a table by index.
def : Header<"embedding", [
  Operator<"aclnnEmbedding", (ins Tensor:$weight, Tensor:$indices, Out:$out)>]>;

// Gradient of aclnnEmbedding with respect to its table.
def : Header<"embedding_dense_backward", [
  Operator<"aclnnEmbeddingDenseBackward", (ins Tensor:$grad, Tensor:$indices,
    Count:$numWeights, Count:$paddingIdx, Bool:$scaleGradByFreq, Out:$out)>]>;

// Comparison with a number.
def : Header<"eq_scalar", [
  Operator<"aclnnEqScalar", (ins Tensor:$self, Scalar:$other, Out:$out)>]>;

// Exponential.
def : Header<"exp", [
  Operator<"aclnnExp", (ins Tensor:$self, Out:$out), "makeUnary">]>;

// Gaussian error linear unit as self * sigmoid(1.702 self).
def : Header<"fast_gelu", [
  Operator<"aclnnFastGelu", (ins Tensor:$self, Out:$out), "makeUnary">]>;

// Gradient of aclnnFastGelu.
def : Header<"fast_gelu_backward", [
  Operator<"aclnnFastGeluBackward", (ins Tensor:$gradOutput, Tensor:$self,
    Out:$gradInput), "makeBinary">]>;

// One value everywhere.
def : Header<"fill_scalar", [
  Operator<"aclnnInplaceFillScalar", (ins Out:$selfRef, Scalar:$value)>]>;

// softmax(scale * query key^T) value in tiles.
def : Header<"flash_attention_score", [
  Operator<"aclnnFlashAttentionScoreV2", (ins Tensor:$query, Tensor:$key,
    Tensor:$value, Tensor:$realShiftOptional, Tensor:$dropMaskOptional,
    Tensor:$paddingMaskOptional, Tensor:$attenMaskOptional,
    Ints:$prefixOptional, Ints:$qStartIdxOptional, Ints:$kvStartIdxOptional,
    Double:$scaleValue, Double:$keepProb, Int:$preTokens, Int:$nextTokens,
    Int:$headNum, Text:$inputLayout, Int:$innerPrecise, Int:$sparseMode,
    Int:$pseType, Out:$softmaxMaxOut, Out:$softmaxSumOut, Out:$softmaxOutOut,
    Out:$attentionOutOut)>]>;

// Gradients of aclnnFlashAttentionScore.
def : Header<"flash_attention_score_grad", [
  Operator<"aclnnFlashAttentionScoreGradV2", (ins Tensor:$query, Tensor:$key,
    Tensor:$value, Tensor:$dy, Tensor:$pseShiftOptional,
    Tensor:$dropMaskOptional, Tensor:$paddingMaskOptional,
    Tensor:$attenMaskOptional, Tensor:$softmaxMaxOptional,
    Tensor:$softmaxSumOptional, Tensor:$softmaxInOptional,
    Tensor:$attentionInOptional, Ints:$prefixOptional, Ints:$qStartIdxOptional,
    Ints:$kvStartIdxOptional, Double:$scaleValue, Double:$keepProb,
    Int:$preTokens, Int:$nextTokens, Int:$headNum, Text:$inputLayout,
    Int:$innerPrecise, Int:$sparseMode, Int:$pseType, Out:$dqOut, Out:$dkOut,
    Out:$dvOut, Out:$dpseOut)>]>;

// Quotients that are rounded down.
def : Header<"floor_divide", [
  Operator<"aclnnFloorDivides", (ins Tensor:$self, Scalar:$other,
    Out:$out), "makeScalar">]>;

// x * scalar for a list; the scalar is a tensor of the device.
def : Header<"foreach_mul_scalar", [
  Operator<"aclnnForeachMulScalar", (ins Tensors:$x, Tensor:$scalar,
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
  Operator<"aclnnGather", (ins Tensor:$self, Int:$dim, Tensor:$index,
    Out:$out)>]>;

// Comparison with a number.
def : Header<"ge_scalar", [
  Operator<"aclnnGeScalar", (ins Tensor:$self, Scalar:$other, Out:$out)>]>;

// Comparison of two tensors.
def : Header<"ge_tensor", [
  Operator<"aclnnGeTensor", (ins Tensor:$self, Tensor:$other, Out:$out)>]>;

// Gaussian error linear unit in its tanh form.
def : Header<"gelu", [
  Operator<"aclnnGelu", (ins Tensor:$self, Out:$out), "makeUnary">]>;

// Gradient of a Gaussian error linear unit; approximate is "none" or "tanh".
def : Header<"gelu_backward_v2", [
  Operator<"aclnnGeluBackwardV2", (ins Tensor:$gradOutput, Tensor:$self,
    Text:$approximate, Out:$gradInput)>]>;

// Products of groups of rows, each with a matrix of its own.
def : Header<"grouped_matmul_v4", [
  Operator<"aclnnGroupedMatmulV4", (ins Tensors:$x, Tensors:$weight,
    Tensors:$biasOptional, Tensors:$scaleOptional, Tensors:$offsetOptional,
    Tensors:$antiquantScaleOptional, Tensors:$antiquantOffsetOptional,
    Tensors:$perTokenScaleOptional, Tensor:$groupListOptional,
    Tensors:$activationInputOptional, Tensors:$activationQuantScaleOptional,
    Tensors:$activationQuantOffsetOptional, Int:$splitItem, Int:$groupType,
    Int:$groupListType, Int:$actType, OutTensors:$out,
    OutTensors:$activationFeatureOutOptional,
    OutTensors:$dynQuantScaleOutOptional)>]>;

// Comparison with a number of the host.
def : Header<"gt_scalar", [
  Operator<"aclnnGtScalar", (ins Tensor:$self, Scalar:$other, Out:$out)>]>;

// Comparison of two tensors.
def : Header<"gt_tensor", [
  Operator<"aclnnGtTensor", (ins Tensor:$self, Tensor:$other, Out:$out)>]>;

// Slices of a dimension by index.
def : Header<"index_select", [
  Operator<"aclnnIndexSelect", (ins Tensor:$self, Int:$dim, Tensor:$index,
    Out:$out)>]>;

// Whether elements are finite.
def : Header<"isfinite", [
  Operator<"aclnnIsFinite", (ins Tensor:$self, Out:$out)>]>;

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

// Natural logarithm.
def : Header<"log", [
  Operator<"aclnnLog", (ins Tensor:$self, Out:$out), "makeUnary">]>;

// Truths that are not.
def : Header<"logical_not", [
  Operator<"aclnnLogicalNot", (ins Tensor:$self, Out:$out)>]>;

// Truths that are either.
def : Header<"logical_or", [
  Operator<"aclnnInplaceLogicalOr", (ins Out:$selfRef, Tensor:$other)>]>;

// Comparison with a number.
def : Header<"lt_scalar", [
  Operator<"aclnnLtScalar", (ins Tensor:$self, Scalar:$other, Out:$out)>]>;

// Comparison of two tensors.
def : Header<"lt_tensor", [
  Operator<"aclnnLtTensor", (ins Tensor:$self, Tensor:$other, Out:$out)>]>;

// A number where a mask is true.
def : Header<"masked_fill_scalar", [
  Operator<"aclnnInplaceMaskedFillScalar", (ins Out:$selfRef, Tensor:$mask,
    Scalar:$value)>]>;

// Products of tensors of one to six dimensions; leading dimensions broadcast.
def : Header<"matmul", [
  Operator<"aclnnMatmul", (ins Tensor:$self, Tensor:$mat2, Out:$out,
    Byte:$cubeMathType)>]>;

// The larger of two elements.
def : Header<"maximum", [
  Operator<"aclnnMaximum", (ins Tensor:$self, Tensor:$other, Out:$out)>]>;

// Products of matrices of two dimensions.
def : Header<"mm", [
  Operator<"aclnnMm", (ins Tensor:$self, Tensor:$mat2, Out:$out,
    Byte:$cubeMathType)>]>;

// Tokens in the order of their experts.
def : Header<"moe_token_permute", [
  Operator<"aclnnMoeTokenPermute", (ins Tensor:$tokens, Tensor:$indices,
    Int:$numOutTokens, Bool:$paddedMode, Out:$permuteTokensOut,
    Out:$sortedIndicesOut)>]>;

// Tokens in the order that they had before their experts'.
def : Header<"moe_token_unpermute", [
  Operator<"aclnnMoeTokenUnpermute", (ins Tensor:$permutedTokens,
    Tensor:$sortedIndices, Tensor:$probsOptional, Bool:$paddedMode,
    Ints:$restoreShapeOptional, Out:$out)>]>;

// Products of elements.
def : Header<"mul", [
  Operator<"aclnnMul", (ins Tensor:$self, Tensor:$other,
    Out:$out), "makeBinary">,
  Operator<"aclnnMuls", (ins Tensor:$self, Scalar:$other,
    Out:$out), "makeScalar">,
  Operator<"aclnnInplaceMuls", (ins Out:$selfRef, Scalar:$other)>]>;

// Comparison with a number of the host.
def : Header<"ne_scalar", [
  Operator<"aclnnNeScalar", (ins Tensor:$self, Scalar:$other, Out:$out)>]>;

// -x.
def : Header<"neg", [
  Operator<"aclnnNeg", (ins Tensor:$self, Out:$out), "makeUnary">]>;

// Permutation of dimensions.
def : Header<"permute", [
  Operator<"aclnnPermute", (ins Tensor:$self, Ints:$dims, Out:$out)>]>;

// 1 / x.
def : Header<"reciprocal", [
  Operator<"aclnnReciprocal", (ins Tensor:$self, Out:$out), "makeUnary">]>;

// Sum over dimensions.
def : Header<"reduce_sum", [
  Operator<"aclnnReduceSum", (ins Tensor:$self, Ints:$dims, Bool:$keepDims,
    Type:$dtype, Out:$out)>]>;

// Remainders of divisions that round down.
def : Header<"remainder", [
  Operator<"aclnnRemainderTensorScalar", (ins Tensor:$self, Scalar:$other,
    Out:$out), "makeScalar">]>;

// Slices along a dimension, each repeated in place.
def : Header<"repeat_interleave", [
  Operator<"aclnnRepeatInterleaveIntWithDim", (ins Tensor:$self, Int:$repeats,
    Int:$dim, Int:$outputSize, Out:$out)>]>;

// Division of rows by their root mean square.
def : Header<"rms_norm", [
  Operator<"aclnnRmsNorm", (ins Tensor:$x, Tensor:$gamma, Double:$epsilon,
    Out:$y, Out:$rstd)>]>;

// Gradients of aclnnRmsNorm; dgamma is FLOAT.
def : Header<"rms_norm_grad", [
  Operator<"aclnnRmsNormGrad", (ins Tensor:$dy, Tensor:$x, Tensor:$rstd,
    Tensor:$gamma, Out:$dx, Out:$dgamma)>]>;

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
  Operator<"aclnnScatterAdd", (ins Tensor:$self, Int:$dim, Tensor:$index,
    Tensor:$src, Out:$out)>]>;

// 1 / (1 + exp(-x)).
def : Header<"sigmoid", [
  Operator<"aclnnSigmoid", (ins Tensor:$self, Out:$out), "makeUnary">]>;

// Gradient of aclnnSigmoid, from its output.
def : Header<"sigmoid_backward", [
  Operator<"aclnnSigmoidBackward", (ins Tensor:$gradOutput, Tensor:$output,
    Out:$gradInput), "makeBinary">]>;

// x * sigmoid(x).
def : Header<"silu", [
  Operator<"aclnnSilu", (ins Tensor:$self, Out:$out), "makeUnary">]>;

// Gradient of aclnnSilu.
def : Header<"silu_backward", [
  Operator<"aclnnSiluBackward", (ins Tensor:$gradOutput, Tensor:$self,
    Out:$gradInput), "makeBinary">]>;

// Parts of dimensions.
def : Header<"slice_v2", [
  Operator<"aclnnSliceV2", (ins Tensor:$self, Ints:$starts, Ints:$ends,
    Ints:$axes, Ints:$steps, Out:$out)>]>;

// Softmax along a dimension.
def : Header<"softmax", [
  Operator<"aclnnSoftmax", (ins Tensor:$self, Int:$dim, Out:$out)>]>;

// Gradient of aclnnSoftmax.
def : Header<"softmax_backward", [
  Operator<"aclnnSoftmaxBackward", (ins Tensor:$gradOutput, Tensor:$output,
    Int:$dim, Out:$gradInput)>]>;

// A dimension in order.
def : Header<"sort", [
  Operator<"aclnnSort", (ins Tensor:$self, Bool:$stable, Int:$dim,
    Bool:$descending, Out:$valuesOut, Out:$indicesOut)>]>;

// Square root.
def : Header<"sqrt", [
  Operator<"aclnnSqrt", (ins Tensor:$self, Out:$out), "makeUnary">]>;

// Differences.
def : Header<"sub", [
  Operator<"aclnnSub", (ins Tensor:$self, Tensor:$other, Scalar:$alpha,
    Out:$out), "makeSum">]>;

// silu(first half) * second half of a dimension.
def : Header<"swi_glu", [
  Operator<"aclnnSwiGlu", (ins Tensor:$x, Int:$dim, Out:$out)>]>;

// Gradient of aclnnSwiGlu.
def : Header<"swi_glu_grad", [
  Operator<"aclnnSwiGluGrad", (ins Tensor:$yGrad, Tensor:$x, Int:$dim,
    Out:$out)>]>;

// The largest or smallest elements of a dimension.
def : Header<"topk", [
  Operator<"aclnnTopk", (ins Tensor:$self, Int:$k, Int:$dim, Bool:$largest,
    Bool:$sorted, Out:$valuesOut, Out:$indicesOut)>]>;

// Zeros.
def : Header<"zero", [
  Operator<"aclnnInplaceZero", (ins Out:$selfRef)>]>;
