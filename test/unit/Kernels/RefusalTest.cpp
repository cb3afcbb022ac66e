//===- RefusalTest.cpp - Specifications that kernels refuse ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "KernelTesting.h"
#include "test/unit/KernelSpecText.h"
#include "gtest/gtest.h"

using namespace mf::testing;

namespace {

/// A specification in each line, and what makeKernel says of it; nothing if it
/// makes the kernel.
constexpr llvm::StringLiteral specifications = R"(
aclnnAdd(4x5xf32, 4x5xbf16) -> 4x5xf32: input 1 is bf16, expected f32
aclnnAdd(4x5xf32, 4x6xf32) -> 4x5xf32: inputs 4x5xf32 and 4x6xf32 do not broadcast to 4x5xf32
aclnnAdd(4x5xf32, 4x5xf32) -> 4x6xf32: inputs 4x5xf32 and 4x5xf32 do not broadcast to 4x6xf32
aclnnApplyAdamWV2(5xf32, 5xf32, f32) -> 5xf32, 5xf32, 5xf32 {beta1 = 0.9, beta2 = 0.95, bias_correction = false, corrects_eps = false, eps = 1e-08, weight_decay = 0.1}: input 1 is 5xf32, expected f32
aclnnApplyAdamWV2(6xf32, f32, f32) -> 5xf32, 5xf32, 5xf32 {beta1 = 0.9, beta2 = 0.95, bias_correction = false, corrects_eps = false, eps = 1e-08, weight_decay = 0.1}: input 0 is 6xf32, expected 5xf32
aclnnApplyAdamWV2(5xf32, f32, f32) -> 5xf32, 5xbf16, 5xf32 {beta1 = 0.9, beta2 = 0.95, bias_correction = false, corrects_eps = false, eps = 1e-08, weight_decay = 0.1}: output 1 is 5xbf16, expected 5xf32
aclnnApplyAdamWV2(5xf32, f32, f32, f32, 6xf32) -> 5xf32, 5xf32, 5xf32 {beta1 = 0.9, beta2 = 0.95, bias_correction = false, corrects_eps = false, eps = 1e-08, weight_decay = 0.1}: input 4 is 6xf32, expected f32
aclnnApplyAdamWV2(5xf32, f32, f32) -> 5xf32, 5xf32, 5xf32 {beta1 = 0.9, bias_correction = false, corrects_eps = false, eps = 1e-08, weight_decay = 0.1}: attribute 'beta2' is missing
aclnnCat(4x6xf32, 6x4xf32) -> 4x6xf32 {axis = 0}: input 1 is 6x4xf32, expected 6x6xf32
aclnnCat(4x6xf32, 4x6xf32) -> 4x6xf32 {axis = 2}: attribute 'axis' is 2, expected an axis of 2 dimensions
aclnnCat() -> 4x6xf32 {axis = 0}: expected at least 1 input, but got 0
aclnnConstantPadNd(4x6xf32) -> 4x6xf32 {high = [0, 1], low = [0, -1]}: padding of dimension 1 must not be negative or huge
aclnnConstantPadNd(2xi32) -> 3xi32 {high = [1], low = [0], value = 1099511627776}: padding with 1099511627776 does not fit 32 bits
aclnnCrossEntropyLoss(4x6xf32, 4xf32) -> f32, 4xf32, f32: input 1 is 4xf32, expected 4xi32
aclnnCrossEntropyLoss(2x2x6xf32, 4xf32) -> f32, 4xf32, f32: input 0 is 2x2x6xf32, expected logits of shape rows x classes
aclnnCumsum(3x8xf32) -> 3x8xf32 {axis = 2}: attribute 'axis' is 2, expected an axis of 2 dimensions
aclnnCumsum(f32) -> f32 {axis = 0}: attribute 'axis' is 0, expected an axis of 0 dimensions
aclnnDiv(4xf32, 3xf32) -> 4xf32: inputs 4xf32 and 3xf32 do not broadcast to 4xf32
aclnnDropoutGenMask(3xi64) -> 4xi1 {cut_dims = [], key = 0, rate = 0.5, shape = [8], starts = [4]}
aclnnDropoutGenMask(3xi64) -> 4xi1 {cut_dims = [], key = 0, rate = 0.5, shape = [8], starts = [5]}: output 0 is no part of 'shape'
aclnnDropoutGenMask(3xi64) -> 4xi1 {cut_dims = [], key = 0, rate = 0.5, shape = [8], starts = [0, 0]}: expected a size in 'shape' and one in 'starts' for each dimension of output 0
aclnnDropoutGenMask(3xi64) -> 4xi1 {cut_dims = [0], key = 0, rate = 0.5, shape = [8], starts = [0]}: expected an input for each of 'cut_dims'
aclnnDropoutGenMask(3xi64) -> 4xi1 {cut_dims = [], key = 0, rate = 1.0, shape = [8], starts = [0]}: rate is 1.000000, expected one above 0 and below 1
aclnnDropoutGenMask(3xi64) -> 4xi1 {cut_dims = [], key = 0, rate = 0.0, shape = [8], starts = [0]}: rate is 0.000000, expected one above 0 and below 1
aclnnEmbedding(5x6xf32, 3x6xf32) -> 3x6xf32: input 1 is f32, expected i32
aclnnEmbedding(3xi32, 3xi32) -> 3x6xf32: input 0 is 3xi32, expected a table of f32, bf16 or f16 rows
aclnnEmbedding(5x6xf32, 3xi32) -> 5x6xf32: output 0 is 5x6xf32, expected 3x6xf32
aclnnEmbeddingDenseBackward(5x6xf32, 3xi32) -> 5x6xf32: input 0 is 5x6xf32, expected 3x6xf32
aclnnFlashAttentionScore(1x2x70x16xf32, 1x2x530x16xf32, 1x2x530x16xf32, 1x2x70x530xi1) -> 1x2x70xf32, 1x2x70xf32, 1x2x70x16xf32 {scale = 0.3}: rate is 0.000000, expected one above 0 and below 1
aclnnFlashAttentionScore(1x2x70x16xf32, 1x2x530x16xf32, 1x2x530x16xf32, 1x2x70x530xi1) -> 1x2x70xf32, 1x2x70xf32, 1x2x70x16xf32 {rate = 1.0, scale = 0.3}: rate is 1.000000, expected one above 0 and below 1
aclnnFlashAttentionScore(1x2x70x16xf32, 1x2x530x16xf32, 1x2x530x16xf32, 1x2x70x8xi1) -> 1x2x70xf32, 1x2x70xf32, 1x2x70x16xf32 {rate = 0.5, scale = 0.3}: input 3 is 1x2x70x8xi1, expected 1x2x70x530xi1
aclnnFlashAttentionScore(1x4x8x4xf32, 1x3x8x4xf32, 1x3x8x4xf32) -> 1x4x8xf32, 1x4x8xf32, 1x4x8x4xf32 {causal = true, scale = 0.3}: 4 query heads cannot share 3 key heads evenly
aclnnFlashAttentionScore(1x4x8x4xf32, 1x2x7x4xf32, 1x2x7x4xf32) -> 1x4x8xf32, 1x4x8xf32, 1x4x8x4xf32 {causal = true, scale = 0.3}: causal attention of 8 queries needs at least as many keys, but got 7
aclnnFlashAttentionScore(1x4x8x4xf32, 1x2x8x4xf32, 1x2x7x4xf32) -> 1x4x8xf32, 1x4x8xf32, 1x4x8x4xf32 {causal = true, scale = 0.3}: input 2 is 1x2x7x4xf32, expected 1x2x8x4xf32
aclnnFlashAttentionScore(8x4xf32, 1x2x8x4xf32, 1x2x8x4xf32) -> 1x4x8xf32, 1x4x8xf32, 1x4x8x4xf32 {causal = true, scale = 0.3}: got 8x4xf32, expected batch x heads x sequence x dim
aclnnFlashAttentionScore(1x4x8x4xf32, 1x2x8x4xf32, 1x2x8x4xf32, 2xf32) -> 1x4x8xf32, 1x4x8xf32, 1x4x8x4xf32 {causal = true, scale = 0.3}: input 3 is 2xf32, expected 4xf32
aclnnFlashAttentionScore(1x4x8x4xf32, 1x2x8x4xf32, 1x2x8x4xf32) -> 1x4x8xf32, 1x4x8xf32, 1x4x8x4xf32: attribute 'scale' is missing
aclnnFlashAttentionScore(1x4x8x4xf32, 1x4x8x4xf32, 1x4x8x4xf32, 1x7xi32) -> 1x4x8xf32, 1x4x8xf32, 1x4x8x4xf32 {scale = 0.3}: input 3 is 1x7xi32, expected 1x8xi32
aclnnFlashAttentionScore(1x4x8x4xf32, 1x4x8x4xf32, 1x4x8x4xf32, 1x8xi32) -> 1x4x8xf32, 1x4x8xf32, 1x4x8x4xf32 {scale = 0.0}: scale is 0, but scores of other documents are hidden as multiples of it
aclnnFlashAttentionScore(4xf32, 4xf32) -> 4xf32, 4xf32, 4xf32: expected 3 to 6 inputs, but got 2
aclnnFlashAttentionScoreGrad(1x4x8x4xf32, 1x2x8x4xf32, 1x2x8x4xf32, 1x4x8x4xf32, 1x4x8xf32, 1x4x8xf32, 1x4x8x4xf32) -> 1x4x8x4xf32, 1x2x8x4xf32, 1x4x8x4xf32 {causal = true, scale = 0.3}: output 2 is 1x4x8x4xf32, expected 1x2x8x4xf32
aclnnFloorDivides(4xf32) -> 4xf32 {value = 0.0}: attribute 'value' is 0.000000e+00, expected a finite divisor that is not 0
aclnnForeachMulScalar(5xf32) -> 5xf32: input 0 is 5xf32, expected f32
aclnnForeachNorm(4x6xf32) -> 4x6xf32: output 0 is 4x6xf32, expected f32
aclnnForeachNorm(5xf32, 6xf32) -> f32: input 1 is 6xf32, expected f32
aclnnGather(3x8xf32, 4x2xi32) -> 3x2xf32: input 0 is 3x8xf32, expected the leading dimensions of the indices, 4x2xi32
aclnnGather(3x8xf32, 3x2xf32) -> 3x2xf32: input 1 is f32, expected i32
aclnnGather(3x8xf32, 3x2xi32) -> 3x8xf32: output 0 is 3x8xf32, expected 3x2xf32
aclnnGather(f32, i32) -> f32: input 0 is f32, expected the leading dimensions of the indices, i32
aclnnGroupedMatmul(4x5xf32, 3x2x5x6xf32, 2x3x2xf32) -> 2x3x4x6xf32: input 0 is 4x5xf32, expected groups, ranks, rows and columns
aclnnGroupedMatmul(2x3x4x5xf32, 5x6xf32, 2x3x2xf32) -> 2x3x4x6xf32: input 1 is 5x6xf32, expected ranks, experts and a matrix
aclnnGroupedMatmul(2x3x4x5xf32, 3x2x6x5xf32, 2x3x2xf32) -> 2x3x4x6xf32: input 1 is 3x2x6x5xf32, expected 3x2x5x5xf32
aclnnGroupedMatmul(2x3x4x5xf32, 3x2x5x6xf32, 2x3xf32) -> 2x3x4x6xf32: input 2 is 2x3xf32, expected groups, ranks and experts
aclnnGroupedMatmul(2x3x4x5xf32, 3x2x5x6xf32, 2x3x2xi32) -> 2x3x4x6xf32: input 2 is 2x3x2xi32, expected 2x3x2xf32
aclnnGroupedMatmul(2x3x4x5xf32, 3x2x5x6xf32, 2x3x2xf32) -> 2x3x4x5xf32: output 0 is 2x3x4x5xf32, expected 2x3x4x6xf32
aclnnGroupedMatmul(2x3x4x5xf32, 3x2x5x6xbf16, 2x3x2xf32) -> 2x3x4x6xf32: input 1 is bf16, expected f32
aclnnGtScalar(4xi32) -> 4xi32 {value = 0.0}: input 0 is i32, expected f32, bf16 or f16
aclnnInplaceAdd(5xf32) -> 6xf32: output 0 is 6xf32, expected 5xf32
aclnnInplaceAdd(5xf32) -> 5xi32: output 0 is i32, expected f32, bf16 or f16
aclnnInplaceZero(4xf32) -> 4xf32: expected 0 inputs, but got 1
aclnnMatmul(4x5xf32, 4x5xf32) -> 4x6xf32: inputs 4x5xf32 and 4x5xf32 contract 5 with 4 elements
aclnnMatmul(4x5xf32, 5x6xf32) -> 4x5xf32: output 0 is 4x5xf32, expected 4x6xf32
aclnnMatmul(4x5xf32, 5x6xf32) -> 4x6xf32 {transpose_a = 1.0}: attribute 'transpose_a' has another type, expected a bool
aclnnMatmul(4x5xf32, 5xf32) -> 4x6xf32: input 1 is 5xf32, expected at least 2 dimensions
aclnnMatmul(4x5xf32, 5x6xbf16) -> 4x6xf32: input 1 is bf16, expected f32
aclnnMatmul(4x5xf32, 5x6xf32) -> 4x6xbf16: output 0 is bf16, expected f32
aclnnMatmul(2x4x5xf32, 3x5x6xf32) -> 2x4x6xf32: inputs 2x4x5xf32 and 3x5x6xf32 differ in their leading dimensions
aclnnMatmul(2x4x5xf32, 4x6xf32) -> 2x5x6xf32 {transpose_a = true}: transpose_a with leading dimensions needs them in input 1 as well, or contract_batch
aclnnMatmul(2x4x5xf32, 2x4x5xf32) -> 5x5xf32 {contract_batch = true}: contract_batch needs transpose_a and no transpose_b
aclnnMoeTokenPermute(2x5x3xf32, 2x4xf32) -> 2x5x3xf32, 2x4xi32: input 1 is 2x4xf32, expected one for each of 5 tokens
aclnnMoeTokenPermute(2x5x3xf32, 2x5xf32) -> 2x5x3xf32, 2x4xi32: output 1 is 2x4xi32, expected 2x5xi32
aclnnMoeTokenUnpermute(2x5x3xf32, 2x5xf32) -> 2x5x3xf32: input 1 is f32, expected i32
aclnnMuls(4x5xf32) -> 4x5xf32: attribute 'value' is missing
aclnnMuls(4x5xf32) -> 4x5xf32 {value = 1}: attribute 'value' has another type, expected a floating-point number
aclnnMuls(4x5xf32) -> 4x5xf32 {alpha = 1.0, value = 1.0}: unknown attribute 'alpha'; known are value
aclnnNeg(4x5xf32, 4x5xf32) -> 4x5xf32: expected 1 input, but got 2
aclnnNeg(4x5xf32): expected 1 output, but got 0
aclnnNeg(4x5xf32) -> 4x6xf32: output 0 is 4x6xf32, expected 4x5xf32
aclnnMhcPreSinkhorn(1x3x8xf32, 8x8xf32, 3xf32, 8xf32) -> 1x3x4xf32, 1x3x2xf32, 1x3x2x2xf32, 1x3x2xf32, 1x3x8xf32, 1x3xf32, 4x1x3x2xf32, 4x1x3x2x2xf32 {count = 3, epsilon = 1e-05, iterations = 2, least = 1e-06}: input 0 is 1x3x8xf32, expected [batch, sequence, streams * hidden] of 3 streams
aclnnMhcPreSinkhorn(1x3x8xf32, 8x8xf32, 3xf32, 8xf32) -> 1x3x4xf32, 1x3x2xf32, 1x3x2x2xf32, 1x3x2xf32, 1x3x8xf32, 1x3xf32, 4x1x3x2xf32, 4x1x3x2x2xf32 {count = 2, epsilon = 1e-05, iterations = -1, least = 1e-06}: attribute 'iterations' is not from 0 to 1048576
aclnnMhcPreSinkhorn(1x3x8xf32, 7x8xf32, 3xf32, 8xf32) -> 1x3x4xf32, 1x3x2xf32, 1x3x2x2xf32, 1x3x2xf32, 1x3x8xf32, 1x3xf32, 4x1x3x2xf32, 4x1x3x2x2xf32 {count = 2, epsilon = 1e-05, iterations = 2, least = 1e-06}: input 1 is 7x8xf32, expected 8x8xf32
aclnnMhcPost(1x3x8xf32, 1x3x8xf32, 1x3x8xf32, 1x3x3xf32) -> 1x3x8xf32: input 0 is 1x3x8xf32, expected [batch, sequence, streams * hidden] of 3 streams
aclnnNeg(4x5xi32) -> 4x5xi32: input 0 is i32, expected f32, bf16 or f16
aclnnNeg(4x0xf32) -> 4x0xf32: input 0 has shape 4x0xf32, expected every dimension to be at least 1
aclnnNeg(-1xf32) -> -1xf32: input 0 has shape -1xf32, expected every dimension to be at least 1
aclnnNeg(9223372036854775807x2xf32) -> 9223372036854775807x2xf32: input 0 of shape 9223372036854775807x2xf32 has more bytes than can be counted
aclnnNeg(-9223372036854775808xf32) -> -9223372036854775808xf32: input 0 has shape -9223372036854775808xf32, expected every dimension to be at least 1
aclnnNeg() -> 4xf32: expected 1 input, but got 0
aclnnNeg(4xf32) -> 4xf32, 4xf32: expected 1 output, but got 2
aclnnNeg(4xf32) -> 4xf32 {value = 1.0}: unknown attribute 'value'; this kernel takes none
aclnnOneHot(3x2xi32) -> 3x8xf32: output 0 is 3x8xf32, expected 3x2x8xf32
aclnnOneHot(3x2xi32) -> 3x2xi32: output 0 is i32, expected f32, bf16 or f16
aclnnOneHot(i32) -> f32: output 0 is f32, expected 1xf32
aclnnPermute(4x6xf32) -> 6x4xf32 {perm = [1, 1]}: attribute 'perm' is no permutation of the dimensions
aclnnPermute(4x6xf32) -> 6x4xf32 {perm = [1]}: attribute 'perm' has 1 entries, expected 2, one for each dimension
aclnnPermute(4x6xf32) -> 4x6xf32 {perm = [1, 0]}: output 0 is 4x6xf32, expected 6x4xf32
aclnnPermute(4xf32) -> 4xf32 {perm = true}: attribute 'perm' has another type, expected a list of integers
aclnnReduceSum(4x6xf32) -> 4x6xf32 {axes = [2]}: attribute 'axes' has 2, expected axes of 2 dimensions
aclnnReduceSum(4x6xf32) -> 4x6xf32 {axes = [0]}: output 0 is 4x6xf32, expected 6xf32
aclnnReduceSum(4x6xf32) -> 4x6xf32: attribute 'axes' is missing
aclnnRemainderTensorScalar(4xf32) -> 4xf32 {value = 0.0}: attribute 'value' is 0.000000e+00, expected a finite divisor that is not 0
aclnnRemainderTensorScalar(4xf32) -> 4xf32 {value = 1e-60}: attribute 'value' is 1.000000e-60, expected a finite divisor that is not 0
aclnnRemainderTensorScalar(4xf32) -> 4xf32 {value = inf}: attribute 'value' is INF, expected a finite divisor that is not 0
aclnnRemainderTensorScalar(4xf32) -> 4xf32 {value = nan}: attribute 'value' is nan, expected a finite divisor that is not 0
aclnnRepeatInterleaveIntWithDim(4x6xf32) -> 4x6xf32 {axis = 0, repeats = 0}: attribute 'repeats' is 0, expected at least 1
aclnnRmsNorm(4x6xf32, 4xf32) -> 4x6xf32, 4xf32 {epsilon = 1e-05}: input 1 is 4xf32, expected 6xf32
aclnnRmsNorm(4x6xf32, 6xf32) -> 4x6xf32, 6xf32 {epsilon = 1e-05}: output 1 is 6xf32, expected 4xf32
aclnnRmsNorm(4x6xf32, 6xf32) -> 4x6xf32, 4xf32: attribute 'epsilon' is missing
aclnnRotaryPositionEmbedding(4x5xf32, 4x5xf32, 4x5xf32) -> 4x5xf32: input 1 is 4x5xf32, expected an even last dimension
aclnnRotaryPositionEmbedding(4x6xf32, 4x8xf32, 4x8xf32) -> 4x6xf32: input 1 is 4x8xf32, expected the last dimensions of 4x6xf32, or 1 in front of the last one, and at most as many columns
aclnnRotaryPositionEmbedding(4x6xf32, 4x4xf32, 4x4xf32) -> 4x6xf32 {start = 3}: 'start' is 3, expected 0 to 2
aclnnRotaryPositionEmbedding(2x3x4x6xbf16, 2x4x6xbf16, 2x4x6xbf16) -> 2x3x4x6xbf16: input 1 is 2x4x6xbf16, expected the last dimensions of 2x3x4x6xbf16, or 1 in front of the last one, and at most as many columns
aclnnSliceV2(4x6xf32) -> 4x3xf32 {sizes = [4, 3], starts = [0, 4]}: slice of 3 from 4 leaves dimension 1 of 4x6xf32
aclnnSliceV2(4x6xf32) -> 4x6xf32 {sizes = [4, -9223372036854775808], starts = [0, 9223372036854775807]}: slice of -9223372036854775808 from 9223372036854775807 leaves dimension 1 of 4x6xf32
aclnnSoftmax(f32) -> f32: input 0 is f32, expected at least 1 dimension
aclnnSort(3x8xi64) -> 3x8xi64, 3x8xi32: input 0 is i64, expected f32, bf16, f16 or i32
aclnnSort(3x8xf32) -> 3x8xf32, 3x8xf32: output 1 is 3x8xf32, expected 3x8xi32
aclnnSort(3x8xf32) -> 3x8xi32, 3x8xi32: output 0 is 3x8xi32, expected 3x8xf32
aclnnSwiGlu(4x5xf32) -> 4x6xf32: input 0 is 4x5xf32, expected an even last dimension: gate and value side by side
aclnnSwiGlu(4x3x6xf32) -> 4x6xf32: input 0 is 4x3x6xf32, expected two rows in its last dimensions: gate and value
aclnnTopk(3x8xf32) -> 3x2xf32, 3x2xi32 {k = 0}: attribute 'k' is 0, expected at least 1 and at most the 8 elements of a row
aclnnTopk(3x8xf32) -> 3x2xf32, 3x2xi32 {k = -1}: attribute 'k' is -1, expected at least 1 and at most the 8 elements of a row
aclnnTopk(3x8xf32) -> 3x2xf32, 3x2xi32 {k = 9}: attribute 'k' is 9, expected at least 1 and at most the 8 elements of a row
aclnnTopk(3x8xf32) -> 3x8xf32, 3x2xi32 {k = 2}: output 0 is 3x8xf32, expected 3x2xf32
aclnnTopk(3x8xf32) -> 3x2xf32, 3x2xf32 {k = 2}: output 1 is 3x2xf32, expected 3x2xi32
aclnnTopk(3x2xi32) -> 3x2xf32, 3x2xi32 {k = 2}: input 0 is i32, expected f32, bf16 or f16
aclnnTopk(f32) -> f32, f32 {k = 2}: input 0 is f32, expected at least 1 dimension
aclnnTopk(3x0xf32) -> 3x2xf32, 3x2xi32 {k = 2}: input 0 has shape 3x0xf32, expected every dimension to be at least 1
mfAverageWeight(f32, f32) -> 4xf32, 5xf32 {fused = 3, interval = 2, share = 0.2, sums = false}: output 1 is 5xf32, expected 4xf32
mfAverageWeight(f32, f32) -> 4xf32, 4xf32 {fused = 3, interval = 0, share = 0.2, sums = false}: expected an interval and a number of fused weights of at least 1
mfCountLabels(2xf32) -> 2xf32 {classes = 4}: input 0 is f32, expected i32
mfDocumentMask(1x5xi32) -> 1x2x5x3xf32 {value = -1e+04}: output 0 is 1x2x5x3xf32, expected batch x 1 x queries x keys
mfDocumentMask(1x5xi32) -> 1x1x3x3xf32 {value = -1e+04}: input 0 is 1x5xi32, expected 1x3xi32
mfDocumentStarts(6xi32) -> 6xi32 {end = 2}: got 6xi32, expected batch x sequence
mfDocumentStarts(1x6xf32) -> 1x6xf32 {end = 2}: input 0 is f32, expected i32
mfDocumentStarts(1x6xi32) -> 1x6xi32: attribute 'end' is missing
mfEmbeddingPart(5x6xf32, 3xi32, 3xi32) -> 3x6xf32: input 2 is 3xi32, expected 1xi32
mfExchangeTokens(2x5x3xf32, 2x3x3x1xf32, 2x3x3x1xf32) -> 2x3x4x5xf32 {fill = 0.0}: input 0 is 2x5x3xf32 and output 0 2x3x4x5xf32, expected groups, ranks, rows and columns
mfExchangeTokens(2x3x4x5xf32, 2x3x2x1xf32, 2x3x3x1xf32) -> 2x3x4x5xf32 {fill = 0.0}: input 1 is 2x3x2x1xf32, expected 2x3x3x1xf32
mfExchangeTokens(2x3x4x5xf32, 2x3x3x1xf32, 2x3x3x1xf32) -> 2x3x9x4xf32 {fill = 0.0}: output 0 is 2x3x9x4xf32, expected 2x3x9x5xf32
mfExpertMatmul(4x5xf32, 3x2x5x6xf32, 2x3x2xf32) -> 2x3x4x6xf32: input 0 is 4x5xf32, expected groups, ranks, rows and columns
mfExpertMatmul(2x3x4x5xf32, 5x6xf32, 2x3x2xf32) -> 2x3x4x6xf32: input 1 is 5x6xf32, expected ranks, experts and a matrix
mfExpertMatmul(2x3x4x5xf32, 3x2x6x5xf32, 2x3x2xf32) -> 2x3x4x6xf32: input 1 is 3x2x6x5xf32, expected 3x2x5x5xf32
mfExpertMatmul(2x3x4x5xf32, 3x2x5x6xf32, 2x3xf32) -> 2x3x4x6xf32: input 2 is 2x3xf32, expected groups, ranks and experts
mfExpertMatmul(2x3x4x5xf32, 3x2x5x6xf32, 2x3x2xi32) -> 2x3x4x6xf32: input 2 is 2x3x2xi32, expected 2x3x2xf32
mfExpertMatmul(2x3x4x5xf32, 3x2x5x6xf32, 2x3x2xf32) -> 2x3x4x5xf32: output 0 is 2x3x4x5xf32, expected 2x3x4x6xf32
mfExpertMatmul(2x3x4x5xf32, 3x2x5x6xbf16, 2x3x2xf32) -> 2x3x4x6xf32: input 1 is bf16, expected f32
mfExpertMatmulWeightGrad(2x3x4x5xf32, 2x3x3x6xf32, 2x3x2xf32) -> 3x2x5x6xf32: input 1 is 2x3x3x6xf32, expected 2x3x4x6xf32
mfExpertMatmulWeightGrad(2x3x4x5xf32, 2x3x4x6xf32, 2x3x2xf32) -> 2x3x4x6xf32: output 0 is 2x3x4x6xf32, expected 3x2x5x6xf32
mfFlashAttentionPart(1x1x8x4xf32, 1x1x6x4xf32, 1x1x6x4xf32, 1xi32) -> 1x1x8xf32, 1x1x8xf32, 1x1x8x4xf32 {causal = false, scale = 0.3}: attention of 8 queries needs at least as many keys, but got 6
mfFlashAttentionPart(1x1x6x4xf32, 1x1x8x4xf32, 1x1x8x4xf32, 1x1x6x4xf32) -> 1x1x6xf32, 1x1x6xf32, 1x1x6x4xf32 {causal = false, scale = 0.3}: input 3 is 1x1x6x4xf32, expected 1xi32
mfGatherRows(2x5x3xf32, 4xi32) -> 4x3xf32: input 0 2x5x3xf32 and input 1 4xi32 differ in their leading dimensions
mfGatherRows(3xf32, 4xi32) -> 4x3xf32: input 0 is 3xf32, expected at least 2 dimensions
mfGatherRows(2x5x3xf32, i32) -> 2x5x3xf32: input 1 is i32, expected at least 1 dimension
mfGatherRows(2x5x3xf32, 2x4xf32) -> 2x4x3xf32: input 1 is f32, expected i32
mfGatherRowsBackward(2x5x3xf32, 2x4xi32) -> 2x5x3xf32: input 0 is 2x5x3xf32, expected 2x4x3xf32
mfGroupedMatmulWeightGrad(2x3x4x5xf32, 2x3x3x6xf32, 2x3x2xf32) -> 3x2x5x6xf32: input 1 is 2x3x3x6xf32, expected 2x3x4x6xf32
mfGroupedMatmulWeightGrad(2x3x4x5xf32, 2x3x4x6xf32, 2x3x2xf32) -> 2x3x4x6xf32: output 0 is 2x3x4x6xf32, expected 3x2x5x6xf32
mfHybridAttention(2x9x4xf32, 2x9x4xf32, 3xf32) -> 2x9x3x4xf32, 2x9x3xf32 {ratio = 4, scale = 0.7, window = 3}: input 0 is 2x9x4xf32, expected [batch, queries, heads, width]
mfHybridAttention(2x9x3x4xf32, 3xf32, 3xf32) -> 2x9x3x4xf32, 2x9x3xf32 {ratio = 4, scale = 0.7, window = 3}: input 1 is 3xf32, expected at least 3 dimensions
mfHybridAttention(2x9x3x4xf32, 2x2x6x4xf32, 3xf32) -> 2x9x3x4xf32, 2x9x3xf32 {ratio = 4, scale = 0.7, window = 3}: input 1 is 2x2x6x4xf32, expected blocks of 2 keys and a token for each query of 9
mfHybridAttention(2x9x3x4xf32, 2x3x2x4xf32, 3xf32) -> 2x9x3x4xf32, 2x9x3xf32 {ratio = 4, scale = 0.7, window = 3}: input 1 is 2x3x2x4xf32, expected blocks of 2 keys and a token for each query of 9
mfHybridAttention(2x9x3x4xf32, 2x3x6x4xf32, 3xf32) -> 2x9x3x4xf32, 2x9x3xf32 {ratio = 4, scale = 0.7, window = 3}: input 1 is 2x3x6x4xf32, expected blocks of 2 keys and a token for each query of 9
mfHybridAttention(2x9x3x4xf32, 2x9x4xf32, 2x9x3x4xf32) -> 2x9x3x4xf32, 2x9x3xf32 {ratio = 4, scale = 0.7, window = 3}: input 2 is 2x9x3x4xf32, expected 3xf32
mfLightningIndexer(2x9x3x4xf32, 2x2x4xf32, 2x9x3xf32) -> 2x9x5xf32, 2x9x5xi32 {k = 5, ratio = 2, unseen = -1.0}: attribute 'k' is not from 1 to the number of entries
mfNewtonSchulz(5x4xbf16) -> 5x4xbf16 {coefficients = [3.5, -4.5, 2.0], eps = 0.1}: input 0 is 5x4xbf16, expected experts x rows x columns in bf16 or f16
mfNewtonSchulz(3x5x4xf32) -> 3x5x4xf32 {coefficients = [3.5, -4.5, 2.0], eps = 0.1}: input 0 is 3x5x4xf32, expected experts x rows x columns in bf16 or f16
mfNewtonSchulz(3x5x4xbf16) -> 3x4x5xbf16 {coefficients = [3.5, -4.5, 2.0], eps = 0.1}: output 0 is 3x4x5xbf16, expected 3x5x4xbf16
mfNewtonSchulz(3x5x4xbf16) -> 3x5x4xbf16 {coefficients = [3.5, -4.5], eps = 0.1}: attribute 'coefficients' has 2 numbers, expected three for each iteration
mfNewtonSchulz(3x5x4xbf16) -> 3x5x4xbf16 {coefficients = [3, -4, 2], eps = 0.1}: attribute 'coefficients' has another type, expected a list of floating-point numbers
mfMomentum(4xf32, f32) -> 5xf32, 4xf32 {momentum = 0.9, nesterov = true}: output 0 is 5xf32, expected 4xf32
mfOwnPart(3x4x5xf32, 3x4x5xf32) -> 3x5xf32: input 1 is 3x4x5xf32, expected 1xi32
mfPrefixMask(2x4xi32) -> 2x1x4x3xf32 {value = -1e+04}: output 0 is 2x1x4x3xf32, expected batch x 1 x sequence x sequence
mfPrefixPositions(6xi32) -> 6xi32, 6xi32 {begin = 2}: got 6xi32, expected batch x sequence
mfPrefixPositions(1x6xi32) -> 1x6xi32, 6xi32 {begin = 2}: output 1 is 6xi32, expected 1x6xi32
mfRowMax(4xf32) -> 4xf32: input 0 is 4xf32, expected logits of shape rows x classes
mfRowMax(4x6xf32) -> 6xf32: output 0 is 6xf32, expected 4xf32
mfScatterElements(3x2xf32, 4x2xi32) -> 3x8xf32: input 0 is 3x2xf32, expected 4x2xf32
mfScatterElements(3x2xf32, 3x2xi32) -> 2x8xf32: output 0 is 2x8xf32, expected the leading dimensions of the indices, 3x2xi32
mfSinkhorn(2x3x4xf32) -> 2x3x4xf32 {epsilon = 1e-06, iterations = 2}: input 0 is 2x3x4xf32, expected square matrices in the last two dimensions
mfSinkhorn(4x4xbf16) -> 4x4xbf16 {epsilon = 1e-06, iterations = 2}: input 0 is bf16, expected f32
mfTakeGradient(4xf32) -> 5xf32: output 0 is 5xf32, expected 4xf32
mfTakeStep(5xf32, f32, f32) -> 4xf32 {scale = 1.0, weight_decay = 0.1}: input 0 is 5xf32, expected 4xf32
mfTopKRouter(2x6x2xf32) -> 2x4x3xi32, 2x6x2xi32 {k_major = true}: input 0 is f32, expected i32
mfTopKRouter(6x2xi32) -> 2x4x3xi32, 2x6x2xi32 {k_major = true}: input 0 is 6x2xi32, expected rows x tokens x choices
mfTopKRouter(2x6x2xi32) -> 3x4x3xi32, 2x6x2xi32 {k_major = true}: output 0 is 3x4x3xi32, expected the rows of 2x6x2xi32 x experts x capacity of i32
mfTopKRouter(2x6x2xi32) -> 2x4x3xi32, 2x4x3xi32 {k_major = true}: output 1 is 2x4x3xi32, expected 2x6x2xi32
mfTopKRouter(2x6x2xi32) -> 2x4x3xi32, 2x6x2xi32: attribute 'k_major' is missing
mfTopKRouter(2x6x2xi32) -> 2x65536x32768xi32, 2x6x2xi32 {k_major = true}: output 0 is 2x65536x32768xi32, expected fewer slots than an i32 can count
mfUpdateAverage(5xf32, f32, f32) -> 4xf32, 4xf32 {decay = 0.8, grows = true}: input 0 is 5xf32, expected 4xf32
mfUpdateExpertBias(4xbf16) -> 4xbf16 {rate = 0.1, target = 0.5}: input 0 is bf16, expected f32
mfUpdateExpertBias(4xf32) -> 5xf32 {rate = 0.1, target = 0.5}: output 0 is 5xf32, expected 4xf32
mfUpdateExpertBias(4xf32) -> 4xf32 {rate = 0.1}: attribute 'target' is missing
)";

TEST(RefusalTest, SaysWhatDoesNotFit) {
  llvm::SmallVector<llvm::StringRef> lines;
  specifications.split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef line : lines) {
    auto [text, message] = line.split(": ");
    const mf::KernelSpec spec = readSpec(text);
    EXPECT_EQ(getRefusal(spec),
              message.empty() ? "" : spec.name + ": " + message.str())
        << line.str();
  }
}

TEST(RefusalTest, SuggestsANameForAnUnknownOne) {
  EXPECT_EQ(getRefusal(readSpec("aclnnMatMull()")),
            "unknown kernel 'aclnnMatMull'; did you mean 'aclnnMatmul'?");
  EXPECT_EQ(getRefusal(readSpec("()")), "unknown kernel ''");
  EXPECT_EQ(getRefusal(readSpec("zzz()")), "unknown kernel 'zzz'");
}

} // namespace
