//===----------------------------------------------------------------------===//
//
// Limits of elements.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_CLAMP_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_CLAMP_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnClampMinGetWorkspaceSize(const aclTensor *self,
                                          const aclScalar *clipValueMin,
                                          aclTensor *out,
                                          uint64_t *workspaceSize,
                                          aclOpExecutor **executor);
aclnnStatus aclnnClampMin(void *workspace, uint64_t workspaceSize,
                          aclOpExecutor *executor, aclrtStream stream);

aclnnStatus aclnnClampMaxGetWorkspaceSize(const aclTensor *self,
                                          const aclScalar *clipValueMax,
                                          aclTensor *out,
                                          uint64_t *workspaceSize,
                                          aclOpExecutor **executor);
aclnnStatus aclnnClampMax(void *workspace, uint64_t workspaceSize,
                          aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_CLAMP_H
