//===----------------------------------------------------------------------===//
//
// The larger of two elements.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_MAXIMUM_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_MAXIMUM_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnMaximumGetWorkspaceSize(const aclTensor *self,
                                         const aclTensor *other, aclTensor *out,
                                         uint64_t *workspaceSize,
                                         aclOpExecutor **executor);
aclnnStatus aclnnMaximum(void *workspace, uint64_t workspaceSize,
                         aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_MAXIMUM_H
