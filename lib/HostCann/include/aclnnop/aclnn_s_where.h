//===----------------------------------------------------------------------===//
//
// Choice between elements by a condition.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_S_WHERE_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_S_WHERE_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnSWhereGetWorkspaceSize(const aclTensor *condition,
                                        const aclTensor *self,
                                        const aclTensor *other, aclTensor *out,
                                        uint64_t *workspaceSize,
                                        aclOpExecutor **executor);
aclnnStatus aclnnSWhere(void *workspace, uint64_t workspaceSize,
                        aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_S_WHERE_H
