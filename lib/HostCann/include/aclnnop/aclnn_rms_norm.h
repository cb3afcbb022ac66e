//===----------------------------------------------------------------------===//
//
// Division of rows by their root mean square.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_RMS_NORM_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_RMS_NORM_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnRmsNormGetWorkspaceSize(const aclTensor *x,
                                         const aclTensor *gamma, double epsilon,
                                         aclTensor *y, aclTensor *rstd,
                                         uint64_t *workspaceSize,
                                         aclOpExecutor **executor);
aclnnStatus aclnnRmsNorm(void *workspace, uint64_t workspaceSize,
                         aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_RMS_NORM_H
