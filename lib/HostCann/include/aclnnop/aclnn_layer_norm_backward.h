//===----------------------------------------------------------------------===//
//
// Gradients of aclnnLayerNorm, those that outputMask names.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_LAYER_NORM_BACKWARD_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_LAYER_NORM_BACKWARD_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnLayerNormBackwardGetWorkspaceSize(
    const aclTensor *gradOut, const aclTensor *input,
    const aclIntArray *normalizedShape, const aclTensor *mean,
    const aclTensor *rstd, const aclTensor *weightOptional,
    const aclTensor *biasOptional, const aclBoolArray *outputMask,
    aclTensor *gradInputOut, aclTensor *gradWeightOut, aclTensor *gradBiasOut,
    uint64_t *workspaceSize, aclOpExecutor **executor);
aclnnStatus aclnnLayerNormBackward(void *workspace, uint64_t workspaceSize,
                                   aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_LAYER_NORM_BACKWARD_H
