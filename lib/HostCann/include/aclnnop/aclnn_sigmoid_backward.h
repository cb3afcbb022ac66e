//===----------------------------------------------------------------------===//
//
// Gradient of aclnnSigmoid, from its output.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_SIGMOID_BACKWARD_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_SIGMOID_BACKWARD_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnSigmoidBackwardGetWorkspaceSize(const aclTensor *gradOutput,
                                                 const aclTensor *output,
                                                 aclTensor *gradInput,
                                                 uint64_t *workspaceSize,
                                                 aclOpExecutor **executor);
aclnnStatus aclnnSigmoidBackward(void *workspace, uint64_t workspaceSize,
                                 aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_SIGMOID_BACKWARD_H
