//===----------------------------------------------------------------------===//
//
// Gradient of a Gaussian error linear unit; approximate is "none" or "tanh".
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_GELU_BACKWARD_V2_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_GELU_BACKWARD_V2_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnGeluBackwardV2GetWorkspaceSize(
    const aclTensor *gradOutput, const aclTensor *self, char *approximate,
    aclTensor *gradInput, uint64_t *workspaceSize, aclOpExecutor **executor);
aclnnStatus aclnnGeluBackwardV2(void *workspace, uint64_t workspaceSize,
                                aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_GELU_BACKWARD_V2_H
