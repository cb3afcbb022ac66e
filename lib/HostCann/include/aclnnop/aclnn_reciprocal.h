//===----------------------------------------------------------------------===//
//
// 1 / x.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_RECIPROCAL_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_RECIPROCAL_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnReciprocalGetWorkspaceSize(const aclTensor *self,
                                            aclTensor *out,
                                            uint64_t *workspaceSize,
                                            aclOpExecutor **executor);
aclnnStatus aclnnReciprocal(void *workspace, uint64_t workspaceSize,
                            aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_RECIPROCAL_H
