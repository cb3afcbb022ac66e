//===----------------------------------------------------------------------===//
//
// Gradient of aclnnSoftmax.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_SOFTMAX_BACKWARD_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_SOFTMAX_BACKWARD_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnSoftmaxBackwardGetWorkspaceSize(
    const aclTensor *gradOutput, const aclTensor *output, int64_t dim,
    aclTensor *gradInput, uint64_t *workspaceSize, aclOpExecutor **executor);
aclnnStatus aclnnSoftmaxBackward(void *workspace, uint64_t workspaceSize,
                                 aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_SOFTMAX_BACKWARD_H
