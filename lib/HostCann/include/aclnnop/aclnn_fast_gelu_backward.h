//===----------------------------------------------------------------------===//
//
// Gradient of aclnnFastGelu.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_FAST_GELU_BACKWARD_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_FAST_GELU_BACKWARD_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnFastGeluBackwardGetWorkspaceSize(const aclTensor *gradOutput,
                                                  const aclTensor *self,
                                                  aclTensor *gradInput,
                                                  uint64_t *workspaceSize,
                                                  aclOpExecutor **executor);
aclnnStatus aclnnFastGeluBackward(void *workspace, uint64_t workspaceSize,
                                  aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_FAST_GELU_BACKWARD_H
