//===----------------------------------------------------------------------===//
//
// A step of AdamW; the kernel adds 1 to step.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_APPLY_ADAM_W_V2_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_APPLY_ADAM_W_V2_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnApplyAdamWV2GetWorkspaceSize(
    aclTensor *varRef, aclTensor *mRef, aclTensor *vRef,
    aclTensor *maxGradNormOptionalRef, const aclTensor *grad,
    const aclTensor *step, float lr, float beta1, float beta2,
    float weightDecay, float eps, bool amsgrad, bool maximize,
    uint64_t *workspaceSize, aclOpExecutor **executor);
aclnnStatus aclnnApplyAdamWV2(void *workspace, uint64_t workspaceSize,
                              aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_APPLY_ADAM_W_V2_H
