//===----------------------------------------------------------------------===//
//
// Gaussian error linear unit as self * sigmoid(1.702 self).
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_FAST_GELU_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_FAST_GELU_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnFastGeluGetWorkspaceSize(const aclTensor *self, aclTensor *out,
                                          uint64_t *workspaceSize,
                                          aclOpExecutor **executor);
aclnnStatus aclnnFastGelu(void *workspace, uint64_t workspaceSize,
                          aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_FAST_GELU_H
