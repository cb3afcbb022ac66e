//===----------------------------------------------------------------------===//
//
// Norms over dimensions.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_NORM_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_NORM_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnNormGetWorkspaceSize(const aclTensor *self,
                                      const aclScalar *pScalar,
                                      const aclIntArray *dims, bool keepDim,
                                      aclTensor *out, uint64_t *workspaceSize,
                                      aclOpExecutor **executor);
aclnnStatus aclnnNorm(void *workspace, uint64_t workspaceSize,
                      aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_NORM_H
