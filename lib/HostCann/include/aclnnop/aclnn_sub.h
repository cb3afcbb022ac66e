//===----------------------------------------------------------------------===//
//
// Differences.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_SUB_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_SUB_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnSubGetWorkspaceSize(const aclTensor *self,
                                     const aclTensor *other,
                                     const aclScalar *alpha, aclTensor *out,
                                     uint64_t *workspaceSize,
                                     aclOpExecutor **executor);
aclnnStatus aclnnSub(void *workspace, uint64_t workspaceSize,
                     aclOpExecutor *executor, aclrtStream stream);

aclnnStatus aclnnSubsGetWorkspaceSize(const aclTensor *self,
                                      const aclScalar *other,
                                      const aclScalar *alpha, aclTensor *out,
                                      uint64_t *workspaceSize,
                                      aclOpExecutor **executor);
aclnnStatus aclnnSubs(void *workspace, uint64_t workspaceSize,
                      aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_SUB_H
