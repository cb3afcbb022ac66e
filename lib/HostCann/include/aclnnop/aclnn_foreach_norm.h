//===----------------------------------------------------------------------===//
//
// A norm of each tensor of a list, in the type of x.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_FOREACH_NORM_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_FOREACH_NORM_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnForeachNormGetWorkspaceSize(const aclTensorList *x,
                                             const aclScalar *scalar,
                                             aclTensorList *out,
                                             uint64_t *workspaceSize,
                                             aclOpExecutor **executor);
aclnnStatus aclnnForeachNorm(void *workspace, uint64_t workspaceSize,
                             aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_FOREACH_NORM_H
