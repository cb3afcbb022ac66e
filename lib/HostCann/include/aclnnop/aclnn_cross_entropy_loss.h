//===----------------------------------------------------------------------===//
//
// Cross entropy of rows of logits and labels.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_CROSS_ENTROPY_LOSS_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_CROSS_ENTROPY_LOSS_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnCrossEntropyLossGetWorkspaceSize(
    const aclTensor *input, const aclTensor *target,
    const aclTensor *weightOptional, char *reduction, int64_t ignoreIndex,
    double labelSmoothing, double lseSquareScaleForZloss, bool returnZloss,
    aclTensor *lossOut, aclTensor *logProbOut, aclTensor *zlossOut,
    aclTensor *lseForZlossOut, uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnnCrossEntropyLoss(void *workspace, uint64_t workspaceSize,
                                  aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_CROSS_ENTROPY_LOSS_H
