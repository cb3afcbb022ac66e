//===----------------------------------------------------------------------===//
//
// Gaussian error linear unit in its tanh form.
//
//===----------------------------------------------------------------------===//

#ifndef MF_HOSTCANN_ACLNNOP_ACLNN_GELU_H
#define MF_HOSTCANN_ACLNNOP_ACLNN_GELU_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnGeluGetWorkspaceSize(const aclTensor *self, aclTensor *out,
                                      uint64_t *workspaceSize,
                                      aclOpExecutor **executor);
aclnnStatus aclnnGelu(void *workspace, uint64_t workspaceSize,
                      aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_HOSTCANN_ACLNNOP_ACLNN_GELU_H
