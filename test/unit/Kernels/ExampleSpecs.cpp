//===- ExampleSpecs.cpp - Specifications of every kernel ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ExampleSpecs.h"
#include "test/unit/KernelSpecText.h"

namespace mf::testing {
namespace {

using Ints = std::vector<int64_t>;

/// A specification in each line, of one kernel or of several that take the
/// same.
constexpr llvm::StringLiteral examples = R"(
aclnnNeg | aclnnReciprocal | aclnnSqrt | aclnnSilu | aclnnGelu | aclnnFastGelu | aclnnSigmoid | aclnnExp | aclnnLog | aclnnSoftplus | mfSqrtSoftplus(9x4001xf32) -> 9x4001xf32
aclnnAdds | aclnnMuls | aclnnClampMax | aclnnClampMin | aclnnGtScalar | aclnnGeScalar | aclnnLtScalar | aclnnNeScalar | aclnnRemainderTensorScalar | aclnnFloorDivides(9x4001xf32) -> 9x4001xf32 {value = 0.4}
aclnnAdd | aclnnSub | aclnnMul | aclnnSiluBackward | aclnnGeluBackward | aclnnFastGeluBackward | aclnnDiv | aclnnGeTensor | aclnnSigmoidBackward | mfSqrtSoftplusBackward | aclnnMaximum(9x4001xf32, 9x4001xf32) -> 9x4001xf32
aclnnNeg | aclnnReciprocal | aclnnSqrt | aclnnSilu | aclnnGelu | aclnnFastGelu | aclnnSigmoid | aclnnExp | aclnnLog | aclnnSoftplus | mfSqrtSoftplus(35xbf16) -> 35xbf16
aclnnAdds | aclnnMuls | aclnnClampMax | aclnnClampMin | aclnnGtScalar | aclnnGeScalar | aclnnLtScalar | aclnnNeScalar | aclnnRemainderTensorScalar | aclnnFloorDivides(35xbf16) -> 35xbf16 {value = 0.4}
aclnnAdd | aclnnSub | aclnnMul | aclnnSiluBackward | aclnnGeluBackward | aclnnFastGeluBackward | aclnnDiv | aclnnGeTensor | aclnnSigmoidBackward | mfSqrtSoftplusBackward | aclnnMaximum(35xbf16, 35xbf16) -> 35xbf16
aclnnAdd | aclnnSub | aclnnMul | aclnnDiv | aclnnGeTensor(5x7xf32, 7xf32) -> 5x7xf32
aclnnAdd | aclnnSub | aclnnMul(5x1xf32, 7xf32) -> 5x7xf32
aclnnCast(33xbf16) -> 33xf32
aclnnCast(40000xf32) -> 40000xbf16
aclnnCat(4x5x6xf32, 4x2x6xf32, 4x5x6xf32) -> 4x12x6xf32 {axis = 1}
aclnnConstantPadNd(4x5x6xf32) -> 4x8x7xf32 {high = [0, 2, 0], low = [0, 1, 1]}
aclnnConstantPadNd(4x5xi32) -> 4x6xi32 {high = [0, 1], low = [0, 0], value = -100}
aclnnInplaceCopy(4x5x6xf32) -> 4x5x6xf32
aclnnInplaceZero() -> 4x5x6xf32
aclnnPermute(4x5x6xf32) -> 6x4x5xf32 {perm = [2, 0, 1]}
aclnnPermute(8x8xf32) -> 8x8xf32 {perm = [1, 0]}
mfOwnPart(4x5x6xf32, 1xi32) -> 4x6xf32
aclnnRepeatInterleaveIntWithDim(4x5x6xf32) -> 4x15x6xf32 {axis = 1, repeats = 3}
aclnnSliceV2(4x5x6xf32) -> 4x3x2xf32 {sizes = [4, 3, 2], starts = [0, 1, 4]}
mfDocumentStarts(6x9xi32) -> 6x9xi32 {end = 2}
mfDocumentMask(6x9xi32) -> 6x1x9x5xbf16 {value = -4.0}
mfPrefixPositions(6x9xi32) -> 6x9xi32, 6x9xi32 {begin = 2}
mfPrefixMask(6x9xi32) -> 6x1x9x9xbf16 {value = -4.0}
aclnnMatmul(70x65xf32, 65x80xf32) -> 70x80xf32
aclnnMatmul(2x9x8xbf16, 2x9x12xbf16) -> 8x12xbf16 {contract_batch = true, transpose_a = true}
aclnnFlashAttentionScore(1x8x70x8xf32, 1x2x530x8xf32, 1x2x530x8xf32) -> 1x8x70xf32, 1x8x70xf32, 1x8x70x8xf32 {scale = 0.3}
aclnnFlashAttentionScore(1x8x70x8xf32, 1x2x530x8xf32, 1x2x530x8xf32, 8xf32) -> 1x8x70xf32, 1x8x70xf32, 1x8x70x8xf32 {scale = 0.3}
aclnnFlashAttentionScoreGrad(1x8x70x8xf32, 1x2x530x8xf32, 1x2x530x8xf32, 1x8x70x8xf32, 1x8x70xf32, 1x8x70xf32, 1x8x70x8xf32) -> 1x8x70x8xf32, 1x2x530x8xf32, 1x2x530x8xf32 {scale = 0.3}
aclnnFlashAttentionScoreGrad(1x8x70x8xf32, 1x2x530x8xf32, 1x2x530x8xf32, 1x8x70x8xf32, 1x8x70xf32, 1x8x70xf32, 1x8x70x8xf32, 8xf32) -> 1x8x70x8xf32, 1x2x530x8xf32, 1x2x530x8xf32 {scale = 0.3}
aclnnFlashAttentionScore(1x8x70x8xf32, 1x2x530x8xf32, 1x2x530x8xf32, 1x8x70x530xi1) -> 1x8x70xf32, 1x8x70xf32, 1x8x70x8xf32 {rate = 0.1, scale = 0.3}
aclnnFlashAttentionScoreGrad(1x8x70x8xf32, 1x2x530x8xf32, 1x2x530x8xf32, 1x8x70x8xf32, 1x8x70xf32, 1x8x70xf32, 1x8x70x8xf32, 8xf32, 1x8x70x530xi1) -> 1x8x70x8xf32, 1x2x530x8xf32, 1x2x530x8xf32 {rate = 0.1, scale = 0.3}
aclnnFlashAttentionScore(1x8x70x8xf32, 1x2x530x8xf32, 1x2x530x8xf32, 8xf32, 1x70xi32) -> 1x8x70xf32, 1x8x70xf32, 1x8x70x8xf32 {scale = 0.3}
aclnnFlashAttentionScoreGrad(1x8x70x8xf32, 1x2x530x8xf32, 1x2x530x8xf32, 1x8x70x8xf32, 1x8x70xf32, 1x8x70xf32, 1x8x70x8xf32, 1x70xi32) -> 1x8x70x8xf32, 1x2x530x8xf32, 1x2x530x8xf32 {scale = 0.3}
mfFlashAttentionPartGrad(1x8x70x8xf32, 1x2x530x8xf32, 1x2x530x8xf32, 1x8x70x8xf32, 1x8x70xf32, 1x8x70xf32, 1x8x70x8xf32, 1xi32, 1x70xi32) -> 1x8x70x8xf32, 1x2x530x8xf32, 1x2x530x8xf32 {scale = 0.3}
mfFlashAttentionPart(1x8x70x8xf32, 1x2x530x8xf32, 1x2x530x8xf32, 1xi32) -> 1x8x70xf32, 1x8x70xf32, 1x8x70x8xf32 {scale = 0.3}
mfFlashAttentionPart(1x8x70x8xf32, 1x2x530x8xf32, 1x2x530x8xf32, 1xi32, 8xf32) -> 1x8x70xf32, 1x8x70xf32, 1x8x70x8xf32 {scale = 0.3}
mfFlashAttentionPartGrad(1x8x70x8xf32, 1x2x530x8xf32, 1x2x530x8xf32, 1x8x70x8xf32, 1x8x70xf32, 1x8x70xf32, 1x8x70x8xf32, 1xi32) -> 1x8x70x8xf32, 1x2x530x8xf32, 1x2x530x8xf32 {scale = 0.3}
mfFlashAttentionPartGrad(1x8x70x8xf32, 1x2x530x8xf32, 1x2x530x8xf32, 1x8x70x8xf32, 1x8x70xf32, 1x8x70xf32, 1x8x70x8xf32, 1xi32, 8xf32) -> 1x8x70x8xf32, 1x2x530x8xf32, 1x2x530x8xf32 {scale = 0.3}
aclnnFlashAttentionScore(1x8x70x8xf32, 1x8x530x8xf32, 1x8x530x8xf32) -> 1x8x70xf32, 1x8x70xf32, 1x8x70x8xf32 {scale = 0.3}
aclnnFlashAttentionScore(1x8x70x8xf32, 1x8x530x8xf32, 1x8x530x8xf32, 8xf32) -> 1x8x70xf32, 1x8x70xf32, 1x8x70x8xf32 {scale = 0.3}
aclnnFlashAttentionScoreGrad(1x8x70x8xf32, 1x8x530x8xf32, 1x8x530x8xf32, 1x8x70x8xf32, 1x8x70xf32, 1x8x70xf32, 1x8x70x8xf32) -> 1x8x70x8xf32, 1x8x530x8xf32, 1x8x530x8xf32 {scale = 0.3}
aclnnFlashAttentionScoreGrad(1x8x70x8xf32, 1x8x530x8xf32, 1x8x530x8xf32, 1x8x70x8xf32, 1x8x70xf32, 1x8x70xf32, 1x8x70x8xf32, 8xf32) -> 1x8x70x8xf32, 1x8x530x8xf32, 1x8x530x8xf32 {scale = 0.3}
aclnnFlashAttentionScore(1x8x70x8xf32, 1x8x530x8xf32, 1x8x530x8xf32, 1x8x70x530xi1) -> 1x8x70xf32, 1x8x70xf32, 1x8x70x8xf32 {rate = 0.1, scale = 0.3}
aclnnFlashAttentionScoreGrad(1x8x70x8xf32, 1x8x530x8xf32, 1x8x530x8xf32, 1x8x70x8xf32, 1x8x70xf32, 1x8x70xf32, 1x8x70x8xf32, 8xf32, 1x8x70x530xi1) -> 1x8x70x8xf32, 1x8x530x8xf32, 1x8x530x8xf32 {rate = 0.1, scale = 0.3}
aclnnFlashAttentionScore(1x8x70x8xf32, 1x8x530x8xf32, 1x8x530x8xf32, 8xf32, 1x70xi32) -> 1x8x70xf32, 1x8x70xf32, 1x8x70x8xf32 {scale = 0.3}
aclnnFlashAttentionScoreGrad(1x8x70x8xf32, 1x8x530x8xf32, 1x8x530x8xf32, 1x8x70x8xf32, 1x8x70xf32, 1x8x70xf32, 1x8x70x8xf32, 1x70xi32) -> 1x8x70x8xf32, 1x8x530x8xf32, 1x8x530x8xf32 {scale = 0.3}
mfFlashAttentionPartGrad(1x8x70x8xf32, 1x8x530x8xf32, 1x8x530x8xf32, 1x8x70x8xf32, 1x8x70xf32, 1x8x70xf32, 1x8x70x8xf32, 1xi32, 1x70xi32) -> 1x8x70x8xf32, 1x8x530x8xf32, 1x8x530x8xf32 {scale = 0.3}
mfFlashAttentionPart(1x8x70x8xf32, 1x8x530x8xf32, 1x8x530x8xf32, 1xi32) -> 1x8x70xf32, 1x8x70xf32, 1x8x70x8xf32 {scale = 0.3}
mfFlashAttentionPart(1x8x70x8xf32, 1x8x530x8xf32, 1x8x530x8xf32, 1xi32, 8xf32) -> 1x8x70xf32, 1x8x70xf32, 1x8x70x8xf32 {scale = 0.3}
mfFlashAttentionPartGrad(1x8x70x8xf32, 1x8x530x8xf32, 1x8x530x8xf32, 1x8x70x8xf32, 1x8x70xf32, 1x8x70xf32, 1x8x70x8xf32, 1xi32) -> 1x8x70x8xf32, 1x8x530x8xf32, 1x8x530x8xf32 {scale = 0.3}
mfFlashAttentionPartGrad(1x8x70x8xf32, 1x8x530x8xf32, 1x8x530x8xf32, 1x8x70x8xf32, 1x8x70xf32, 1x8x70xf32, 1x8x70x8xf32, 1xi32, 8xf32) -> 1x8x70x8xf32, 1x8x530x8xf32, 1x8x530x8xf32 {scale = 0.3}
aclnnRmsNorm(50x24xf32, 24xf32) -> 50x24xf32, 50xf32 {epsilon = 1e-05}
aclnnRmsNormGrad(50x24xf32, 50x24xf32, 50xf32, 24xf32) -> 50x24xf32, 24xf32
aclnnLayerNorm(50x24xf32, 24xf32, 24xf32) -> 50x24xf32, 50xf32, 50xf32 {eps = 1e-05}
aclnnLayerNormBackward(50x24xf32, 50x24xf32, 50xf32, 50xf32, 24xf32) -> 50x24xf32, 24xf32, 24xf32
aclnnLayerNormBackward(50x24xf32, 50x24xf32, 50xf32, 50xf32, 24xf32) -> 50x24xf32
aclnnRmsNorm(50x24xf32, 24xbf16) -> 50x24xf32, 50xf32 {epsilon = 1e-05}
aclnnRmsNormGrad(50x24xf32, 50x24xf32, 50xf32, 24xbf16) -> 50x24xf32, 24xbf16
aclnnLayerNorm(50x24xf32, 24xbf16, 24xbf16) -> 50x24xf32, 50xf32, 50xf32 {eps = 1e-05}
aclnnLayerNormBackward(50x24xf32, 50x24xf32, 50xf32, 50xf32, 24xbf16) -> 50x24xf32, 24xbf16, 24xbf16
aclnnLayerNormBackward(50x24xf32, 50x24xf32, 50xf32, 50xf32, 24xbf16) -> 50x24xf32
aclnnSoftmax(30x18xbf16) -> 30x18xbf16
aclnnSoftmaxBackward(30x18xbf16, 30x18xbf16) -> 30x18xbf16
mfSinkhorn(5x7x4x4xf32) -> 5x7x4x4xf32 {epsilon = 1e-06, iterations = 3}
mfSinkhornBackward(5x7x4x4xf32, 5x7x4x4xf32) -> 5x7x4x4xf32 {epsilon = 1e-06, iterations = 3}
aclnnSwiGlu(30x18xbf16) -> 30x9xbf16
aclnnSwiGluGrad(30x9xbf16, 30x18xbf16) -> 30x18xbf16
aclnnSwiGlu(6x2x9xbf16) -> 6x9xbf16
aclnnSwiGluGrad(6x9xbf16, 6x2x9xbf16) -> 6x2x9xbf16
aclnnRotaryPositionEmbedding | aclnnRotaryPositionEmbeddingGrad(2x3x5x8xf32, 5x8xf32, 5x8xf32) -> 2x3x5x8xf32
aclnnRotaryPositionEmbedding | aclnnRotaryPositionEmbeddingGrad(2x3x5x8xf32, 2x1x5x8xf32, 2x1x5x8xf32) -> 2x3x5x8xf32
aclnnRotaryPositionEmbedding | aclnnRotaryPositionEmbeddingGrad(2x5x3x8xbf16, 5x1x6xf32, 5x1x6xf32) -> 2x5x3x8xbf16 {interleaved = true, start = 2}
aclnnReduceSum(4096x64xf32) -> 64xf32 {axes = [0]}
aclnnReduceSum(4096x64xf32) -> 4096xf32 {axes = [1]}
aclnnReduceSum(4096x64xf32) -> f32 {axes = [0, 1]}
aclnnAmax(3x4x70xf32) -> 4xf32 {axes = [0, 2]}
aclnnAmax(3x4x70xbf16) -> 4xbf16 {axes = [0, 2]}
aclnnMhcPreSinkhorn(4x6x24xbf16, 24x24xf32, 3xf32, 24xf32) -> 4x6x6xbf16, 4x6x4xf32, 4x6x4x4xf32, 4x6x4xf32, 4x6x24xf32, 4x6xf32, 6x4x6x4xf32, 6x4x6x4x4xf32 {count = 4, epsilon = 1e-05, iterations = 3, least = 1e-06}
aclnnMhcPreSinkhornBackward(4x6x6xf32, 4x6x4xf32, 4x6x4x4xf32, 4x6x24xf32, 24x24xf32, 3xf32, 24xf32, 4x6x4xf32, 4x6x24xf32, 4x6xf32, 6x4x6x4xf32, 6x4x6x4x4xf32) -> 4x6x24xf32, 24x24xf32, 3xf32, 24xf32 {least = 1e-06}
aclnnMhcPost(4x6x24xbf16, 4x6x4x4xf32, 4x6x6xbf16, 4x6x4xf32) -> 4x6x24xbf16
aclnnMhcPostBackward(4x6x24xbf16, 4x6x24xbf16, 4x6x4x4xf32, 4x6x6xbf16, 4x6x4xf32) -> 4x6x24xbf16, 4x6x4x4xf32, 4x6x6xbf16, 4x6x4xf32
mfHybridAttention(2x8x3x4xf32, 2x8x4xf32, 3xf32) -> 2x8x3x4xf32, 2x8x3xf32 {ratio = 0, scale = 0.3, window = 3}
mfHybridAttentionPart(2x8x3x4xf32, 2x8x4xf32, 3xf32, 1xi32) -> 2x8x3x4xf32, 2x8x3xf32 {ratio = 0, scale = 0.3, window = 3}
mfHybridAttentionGrad(2x8x3x4xf32, 2x8x3x4xf32, 2x8x4xf32, 3xf32, 2x8x3x4xf32, 2x8x3xf32) -> 2x8x3x4xf32, 2x8x4xf32, 3xf32 {ratio = 0, scale = 0.3, window = 3}
mfHybridAttentionPartGrad(2x8x3x4xf32, 2x8x3x4xf32, 2x8x4xf32, 3xf32, 2x8x3x4xf32, 2x8x3xf32, 1xi32) -> 2x8x3x4xf32, 2x8x4xf32, 3xf32 {ratio = 0, scale = 0.3, window = 3}
mfHybridAttention(2x8x3x4xf32, 2x8x4xf32, 3xf32, 2x4x4xf32) -> 2x8x3x4xf32, 2x8x3xf32 {ratio = 2, scale = 0.3, window = 3}
mfHybridAttentionPart(2x8x3x4xf32, 2x8x4xf32, 3xf32, 1xi32, 2x4x4xf32) -> 2x8x3x4xf32, 2x8x3xf32 {ratio = 2, scale = 0.3, window = 3}
mfHybridAttentionGrad(2x8x3x4xf32, 2x8x3x4xf32, 2x8x4xf32, 3xf32, 2x8x3x4xf32, 2x8x3xf32, 2x4x4xf32) -> 2x8x3x4xf32, 2x8x4xf32, 3xf32, 2x4x4xf32 {ratio = 2, scale = 0.3, window = 3}
mfHybridAttentionPartGrad(2x8x3x4xf32, 2x8x3x4xf32, 2x8x4xf32, 3xf32, 2x8x3x4xf32, 2x8x3xf32, 1xi32, 2x4x4xf32) -> 2x8x3x4xf32, 2x8x4xf32, 3xf32, 2x4x4xf32 {ratio = 2, scale = 0.3, window = 3}
mfHybridAttention(2x8x3x4xf32, 2x2x6x4xf32, 3xf32, 2x4x4xf32) -> 2x8x3x4xf32, 2x8x3xf32 {ratio = 2, scale = 0.3, window = 3}
mfHybridAttentionPart(2x8x3x4xf32, 2x2x6x4xf32, 3xf32, 1xi32, 2x4x4xf32) -> 2x8x3x4xf32, 2x8x3xf32 {ratio = 2, scale = 0.3, window = 3}
mfHybridAttentionPart(2x4x3x4xf32, 2x1x6x4xf32, 3xf32, 1xi32, 2x4x4xf32) -> 2x4x3x4xf32, 2x4x3xf32 {ratio = 2, scale = 0.3, window = 3}
mfHybridAttentionGrad(2x8x3x4xf32, 2x8x3x4xf32, 2x2x6x4xf32, 3xf32, 2x8x3x4xf32, 2x8x3xf32, 2x4x4xf32) -> 2x8x3x4xf32, 2x2x6x4xf32, 3xf32, 2x4x4xf32 {ratio = 2, scale = 0.3, window = 3}
mfHybridAttentionPartGrad(2x8x3x4xf32, 2x8x3x4xf32, 2x2x6x4xf32, 3xf32, 2x8x3x4xf32, 2x8x3xf32, 1xi32, 2x4x4xf32) -> 2x8x3x4xf32, 2x2x6x4xf32, 3xf32, 2x4x4xf32 {ratio = 2, scale = 0.3, window = 3}
mfHybridAttentionPartGrad(2x4x3x4xf32, 2x4x3x4xf32, 2x1x6x4xf32, 3xf32, 2x4x3x4xf32, 2x4x3xf32, 1xi32, 2x4x4xf32) -> 2x4x3x4xf32, 2x1x6x4xf32, 3xf32, 2x4x4xf32 {ratio = 2, scale = 0.3, window = 3}
mfHybridAttention(2x8x3x4xf32, 2x8x4xf32, 3xf32, 2x4x4xf32, 2x8x2xi32) -> 2x8x3x4xf32, 2x8x3xf32 {ratio = 2, scale = 0.3, window = 3}
mfHybridAttentionPart(2x8x3x4xf32, 2x8x4xf32, 3xf32, 1xi32, 2x4x4xf32, 2x8x2xi32) -> 2x8x3x4xf32, 2x8x3xf32 {ratio = 2, scale = 0.3, window = 3}
mfHybridAttentionGrad(2x8x3x4xf32, 2x8x3x4xf32, 2x8x4xf32, 3xf32, 2x8x3x4xf32, 2x8x3xf32, 2x4x4xf32, 2x8x2xi32) -> 2x8x3x4xf32, 2x8x4xf32, 3xf32, 2x4x4xf32 {ratio = 2, scale = 0.3, window = 3}
mfHybridAttentionPartGrad(2x8x3x4xf32, 2x8x3x4xf32, 2x8x4xf32, 3xf32, 2x8x3x4xf32, 2x8x3xf32, 1xi32, 2x4x4xf32, 2x8x2xi32) -> 2x8x3x4xf32, 2x8x4xf32, 3xf32, 2x4x4xf32 {ratio = 2, scale = 0.3, window = 3}
mfEntryShares(2x8x3x4xf32, 2x4x4xf32, 2x8x2xi32, 2x8x3xf32) -> 2x8x2xf32 {scale = 0.3}
mfLightningIndexer(2x8x3x4xf32, 2x4x4xf32, 2x8x3xf32) -> 2x8x2xf32, 2x8x2xi32 {k = 2, ratio = 2, unseen = -1.0}
mfLightningIndexerPart(2x8x3x4xf32, 2x4x4xf32, 2x8x3xf32, 1xi32) -> 2x8x2xf32, 2x8x2xi32 {k = 2, ratio = 2, unseen = -1.0}
mfLightningIndexerGrad(2x8x2xf32, 2x8x3x4xf32, 2x4x4xf32, 2x8x3xf32, 2x8x2xi32) -> 2x8x3x4xf32, 2x4x4xf32, 2x8x3xf32
aclnnEmbedding(4x6xf32, 9xi32) -> 9x6xf32
aclnnEmbeddingDenseBackward(9x6xf32, 9xi32) -> 4x6xf32
aclnnEmbeddingDenseBackward(9x6xbf16, 9xi32) -> 4x6xbf16
aclnnCrossEntropyLoss(9x6xf32, 9xi32) -> f32, 9xf32, f32 {ignore_index = 2}
aclnnCrossEntropyLossGrad(f32, 9x6xf32, 9xi32, 9xf32, f32) -> 9x6xf32 {ignore_index = 2}
mfEmbeddingPart(4x6xf32, 9xi32, 1xi32) -> 9x6xf32
mfEmbeddingPartBackward(9x6xf32, 9xi32, 1xi32) -> 4x6xf32
mfEmbeddingPartBackward(9x6xbf16, 9xi32, 1xi32) -> 4x6xbf16
mfRowMax(9x6xf32) -> 9xf32
mfRowExponentialSum(9x6xf32, 9xf32) -> 9xf32
mfPickLogit(9x6xf32, 9xi32, 1xi32) -> 9xf32
mfCrossEntropySum(9x6xf32, 9xi32) -> 2xf32, 9xf32 {ignore_index = 2}
mfCrossEntropyPartGrad(f32, 9x6xf32, 9xi32, 9xf32, f32, 1xi32) -> 9x6xf32 {classes = 8, ignore_index = 2}
mfRowMax(9x6xbf16) -> 9xf32
mfRowExponentialSum(9x6xbf16, 9xf32) -> 9xf32
mfPickLogit(9x6xbf16, 9xi32, 1xi32) -> 9xf32
mfCrossEntropySum(9x6xbf16, 9xi32) -> 2xf32, 9xf32 {ignore_index = 2}
mfCrossEntropyPartGrad(f32, 9x6xbf16, 9xi32, 9xf32, f32, 1xi32) -> 9x6xbf16 {classes = 8, ignore_index = 2}
mfCrossEntropyRows(9xi32, 9xf32, 9xf32, 9xf32) -> 2xf32, 9xf32 {classes = 8, ignore_index = 2}
mfCountLabels(18xi32) -> 2xf32 {classes = 8, ignore_index = 2}
mfMeanLoss(2xf32) -> f32, f32
mfMeanLoss(1x2xf32) -> f32, 1xf32 {ranks = 3}
aclnnDiv | aclnnGeTensor(5x7xf32, 5x1xf32) -> 5x7xf32
aclnnDiv | aclnnGeTensor(5x7xf32, 1x7xf32) -> 5x7xf32
aclnnTopk(4x40x16xf32) -> 4x40x4xf32, 4x40x4xi32 {k = 4}
aclnnGather(4x40x16xf32, 4x40x4xi32) -> 4x40x4xf32
mfScatterElements(4x40x4xf32, 4x40x4xi32) -> 4x40x16xf32
aclnnOneHot(4x40xi32) -> 4x40x16xf32
aclnnSort(4x40x16xf32) -> 4x40x16xf32, 4x40x16xi32
aclnnSort(2x3000xf32) -> 2x3000xf32, 2x3000xi32
aclnnCumsum(4x40x16xf32) -> 4x40x16xf32 {axis = 0}
aclnnCumsum(4x40x16xf32) -> 4x40x16xf32 {axis = 1}
aclnnCumsum(4x40x16xf32) -> 4x40x16xf32 {axis = -1}
aclnnTopk(4x40x16xbf16) -> 4x40x4xbf16, 4x40x4xi32 {k = 4}
aclnnGather(4x40x16xbf16, 4x40x4xi32) -> 4x40x4xbf16
mfScatterElements(4x40x4xbf16, 4x40x4xi32) -> 4x40x16xbf16
aclnnOneHot(4x40xi32) -> 4x40x16xbf16
aclnnSort(4x40x16xbf16) -> 4x40x16xbf16, 4x40x16xi32
aclnnSort(2x3000xbf16) -> 2x3000xbf16, 2x3000xi32
aclnnCumsum(4x40x16xbf16) -> 4x40x16xbf16 {axis = 0}
aclnnCumsum(4x40x16xbf16) -> 4x40x16xbf16 {axis = 1}
aclnnCumsum(4x40x16xbf16) -> 4x40x16xbf16 {axis = -1}
mfTopKRouter(4x40x2xi32) -> 4x5x7xi32, 4x40x2xi32 {k_major = false}
mfTopKRouter(4x40x2xi32) -> 4x5x7xi32, 4x40x2xi32 {k_major = true}
mfUpdateExpertBias(16xf32) -> 16xf32 {rate = 0.125, target = 0.0625}
aclnnInplaceAdd(70000xbf16) -> 70000xf32
aclnnForeachMulScalar(f32) -> 70000xf32
aclnnForeachNorm | mfNonFiniteCheck(70000xf32) -> f32
aclnnForeachNorm(70000xf32, f32, f32) -> f32
aclnnApplyAdamWV2(70000xf32, f32, f32) -> 70000xf32, 70000xf32, 70000xf32 {beta1 = 0.9, beta2 = 0.95, eps = 1e-08, weight_decay = 0.1}
aclnnApplyAdamWV2(70000xf32, f32, f32, f32) -> 70000xf32, 70000xf32, 70000xf32 {beta1 = 0.9, beta2 = 0.95, eps = 1e-08, weight_decay = 0.1}
aclnnApplyAdamWV2(70000xf32, f32, f32, f32, f32, f32) -> 70000xf32, 70000xf32, 70000xf32 {beta1 = 0.9, beta2 = 0.95, eps = 1e-08, weight_decay = 0.1}
mfMomentum(70000xf32, f32) -> 70000xf32, 70000xbf16 {momentum = 0.9, nesterov = true}
mfMomentum(70000xf32, f32, f32, f32) -> 70000xf32, 70000xf32 {momentum = 0.9, nesterov = true}
mfNewtonSchulz(3x70x20xbf16) -> 3x70x20xbf16 {coefficients = [3.5, -4.5, 2.0, 2.5, -1.5, 0.5], eps = 0.1}
mfNewtonSchulz(2x20x70xf16) -> 2x20x70xf16 {coefficients = [3.5, -4.5, 2.0], eps = 0.1}
mfTakeStep(70000xbf16, f32, f32) -> 70000xf32 {scale = 0.5, weight_decay = 0.1}
mfLogitFactors(4xf32, f32) -> 20xf32 {rest = 0, roots = [1, 2], sizes = [3, 2], threshold = 0.4}
mfLogitFactors(4xf32, f32) -> 23xf32 {rest = 3, roots = [1, 2], sizes = [3, 2], threshold = 0.4}
mfScaleRows(20xf32) -> 20x7xf32
mfScaleRows(20xf32) -> 20x7xbf16
mfTakeGradient(70000xbf16, f32) -> 70000xf32
mfUpdateAverage(70000xf32, f32, f32) -> 70000xbf16, 70000xf32 {decay = 0.8, grows = true}
mfAverageWeight(f32, f32) -> 70000xf32, 70000xf32 {fused = 1, interval = 1, share = 0.2, sums = false}
mfExpertMatmul | aclnnGroupedMatmul(2x2x9x6xf32, 2x3x6x5xf32, 2x2x3xf32) -> 2x2x9x5xf32
mfExpertMatmul | aclnnGroupedMatmul(2x2x9x6xf32, 2x3x5x6xf32, 2x2x3xf32) -> 2x2x9x5xf32 {transpose_weight = true}
mfExpertMatmulWeightGrad | mfGroupedMatmulWeightGrad(2x2x9x6xf32, 2x2x9x5xf32, 2x2x3xf32) -> 2x3x6x5xf32
mfGatherRows(2x2x9x6xf32, 2x2x4xi32) -> 2x2x4x6xf32
mfGatherRowsBackward(2x2x4x6xf32, 2x2x4xi32) -> 2x2x9x6xf32
aclnnMoeTokenPermute(2x2x9x6xf32, 2x2x9xf32) -> 2x2x9x6xf32, 2x2x9xi32
aclnnMoeTokenUnpermute(2x2x9x6xf32, 2x2x9xi32) -> 2x2x9x6xf32
mfExchangeTokens(2x2x9x6xf32, 2x2x2x2xf32, 2x2x2x2xf32) -> 2x2x10x6xf32 {fill = 0.0}
mfExchangeTokens(2x2x9x6xf32, 2x2x2x2xf32, 2x2x2x2xf32) -> 2x2x10x6xf32 {fill = 0.5}
mfExpertMatmul | aclnnGroupedMatmul(2x2x9x6xbf16, 2x3x6x5xbf16, 2x2x3xf32) -> 2x2x9x5xbf16
mfExpertMatmul | aclnnGroupedMatmul(2x2x9x6xbf16, 2x3x5x6xbf16, 2x2x3xf32) -> 2x2x9x5xbf16 {transpose_weight = true}
mfExpertMatmulWeightGrad | mfGroupedMatmulWeightGrad(2x2x9x6xbf16, 2x2x9x5xbf16, 2x2x3xf32) -> 2x3x6x5xbf16
mfGatherRows(2x2x9x6xbf16, 2x2x4xi32) -> 2x2x4x6xbf16
mfGatherRowsBackward(2x2x4x6xbf16, 2x2x4xi32) -> 2x2x9x6xbf16
aclnnMoeTokenPermute(2x2x9x6xbf16, 2x2x9xf32) -> 2x2x9x6xbf16, 2x2x9xi32
aclnnMoeTokenUnpermute(2x2x9x6xbf16, 2x2x9xi32) -> 2x2x9x6xbf16
mfExchangeTokens(2x2x9x6xbf16, 2x2x2x2xf32, 2x2x2x2xf32) -> 2x2x10x6xbf16 {fill = 0.0}
mfExchangeTokens(2x2x9x6xbf16, 2x2x2x2xf32, 2x2x2x2xf32) -> 2x2x10x6xbf16 {fill = 0.5}
aclnnDropoutGenMask(3xi64) -> 4x6x70xi1 {cut_dims = [], key = -7, rate = 0.3, shape = [4, 8, 70], starts = [0, 2, 0]}
aclnnDropoutGenMask(3xi64, 1xi32, 1xi32) -> 4x6x70xi1 {cut_dims = [0, 2], key = -7, rate = 0.3, shape = [4, 8, 70], starts = [0, 2, 0]}
aclnnDropoutDoMask(9x401xf32, 9x401xi1) -> 9x401xf32 {rate = 0.25}
aclnnDropoutDoMask(35xbf16, 35xi1) -> 35xbf16 {rate = 0.25}
)";

/// A chain with rows that become longer and shorter, and one that may work in
/// place.
void addChains(std::vector<KernelSpec> &specs) {
  const TensorShape x = readShape("3x40x6xbf16"),
                    whole = readShape("3x40x6xf32"),
                    half = readShape("3x40x3xf32");
  const Ints sizes = {3, 40, 3};
  specs.push_back(
      {"mfChain",
       {x, readShape("40x6xf32")},
       {x},
       {{"steps", std::vector<FusedKernel>{
                      {"aclnnCast", {0}, whole, {}},
                      {"aclnnSliceV2",
                       {~0},
                       half,
                       {{"starts", Ints{0, 0, 3}}, {"sizes", sizes}}},
                      {"aclnnSliceV2",
                       {~0},
                       half,
                       {{"starts", Ints{0, 0, 0}}, {"sizes", sizes}}},
                      {"aclnnNeg", {~1}, half, {}},
                      {"aclnnCat", {~3, ~2}, whole, {{"axis", int64_t{2}}}},
                      {"aclnnMul", {~4, 1}, whole, {}},
                      {"aclnnAdd", {~5, ~0}, whole, {}},
                      {"aclnnCast", {~6}, x, {}}}}}});
  const TensorShape y = readShape("9x4001xf32");
  specs.push_back(
      {"mfChain",
       {y, y},
       {y},
       {{"steps", std::vector<FusedKernel>{{"aclnnSilu", {0}, y, {}},
                                           {"aclnnMul", {~0, 1}, y, {}}}}}});
}

} // namespace

std::vector<KernelSpec> getExampleSpecs() {
  std::vector<KernelSpec> specs;
  llvm::SmallVector<llvm::StringRef> lines, names;
  examples.split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef line : lines) {
    names.clear();
    line.take_until([](char c) { return c == '('; }).split(names, " | ");
    for (llvm::StringRef name : names) {
      specs.push_back(readSpec(line));
      specs.back().name = name.str();
    }
  }
  addChains(specs);
  return specs;
}

} // namespace mf::testing
