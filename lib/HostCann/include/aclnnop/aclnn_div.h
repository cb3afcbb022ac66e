//===----------------------------------------------------------------------===//
//
// Quotients.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_DIV_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_DIV_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnDivGetWorkspaceSize(const aclTensor *self,
                                     const aclTensor *other, aclTensor *out,
                                     uint64_t *workspaceSize,
                                     aclOpExecutor **executor);
aclnnStatus aclnnDiv(void *workspace, uint64_t workspaceSize,
                     aclOpExecutor *executor, aclrtStream stream);

aclnnStatus aclnnDivsGetWorkspaceSize(const aclTensor *self,
                                      const aclScalar *other, aclTensor *out,
                                      uint64_t *workspaceSize,
                                      aclOpExecutor **executor);
aclnnStatus aclnnDivs(void *workspace, uint64_t workspaceSize,
                      aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_DIV_H
