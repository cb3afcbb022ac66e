//===----------------------------------------------------------------------===//
//
// Copies of elements, between strides and types.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_COPY_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_COPY_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnInplaceCopyGetWorkspaceSize(aclTensor *selfRef,
                                             const aclTensor *src,
                                             uint64_t *workspaceSize,
                                             aclOpExecutor **executor);
aclnnStatus aclnnInplaceCopy(void *workspace, uint64_t workspaceSize,
                             aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_COPY_H
