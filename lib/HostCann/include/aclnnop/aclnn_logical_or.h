//===----------------------------------------------------------------------===//
//
// Truths that are either.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_LOGICAL_OR_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_LOGICAL_OR_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnInplaceLogicalOrGetWorkspaceSize(aclTensor *selfRef,
                                                  const aclTensor *other,
                                                  uint64_t *workspaceSize,
                                                  aclOpExecutor **executor);
aclnnStatus aclnnInplaceLogicalOr(void *workspace, uint64_t workspaceSize,
                                  aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_LOGICAL_OR_H
