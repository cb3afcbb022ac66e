//===----------------------------------------------------------------------===//
//
// A value around a tensor; pad begins with the last dimension.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_CONSTANT_PAD_ND_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_CONSTANT_PAD_ND_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnConstantPadNdGetWorkspaceSize(
    const aclTensor *self, const aclIntArray *pad, const aclScalar *value,
    aclTensor *out, uint64_t *workspaceSize, aclOpExecutor **executor);
aclnnStatus aclnnConstantPadNd(void *workspace, uint64_t workspaceSize,
                               aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_CONSTANT_PAD_ND_H
