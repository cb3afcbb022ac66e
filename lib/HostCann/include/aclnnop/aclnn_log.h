//===----------------------------------------------------------------------===//
//
// Natural logarithm.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_LOG_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_LOG_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnLogGetWorkspaceSize(const aclTensor *self, aclTensor *out,
                                     uint64_t *workspaceSize,
                                     aclOpExecutor **executor);
aclnnStatus aclnnLog(void *workspace, uint64_t workspaceSize,
                     aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_LOG_H
