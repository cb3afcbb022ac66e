//===----------------------------------------------------------------------===//
//
// Gradients of aclnnRmsNorm; dgamma is FLOAT.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_RMS_NORM_GRAD_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_RMS_NORM_GRAD_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnRmsNormGradGetWorkspaceSize(
    const aclTensor *dy, const aclTensor *x, const aclTensor *rstd,
    const aclTensor *gamma, aclTensor *dx, aclTensor *dgamma,
    uint64_t *workspaceSize, aclOpExecutor **executor);
aclnnStatus aclnnRmsNormGrad(void *workspace, uint64_t workspaceSize,
                             aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_RMS_NORM_GRAD_H
