//===----------------------------------------------------------------------===//
//
// Gradients of aclnnRotaryPositionEmbedding.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_ROTARY_POSITION_EMBEDDING_GRAD_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_ROTARY_POSITION_EMBEDDING_GRAD_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnRotaryPositionEmbeddingGradGetWorkspaceSize(
    const aclTensor *dy, const aclTensor *cos, const aclTensor *sin,
    const aclTensor *xOptional, int64_t mode, aclTensor *dx, aclTensor *dcos,
    aclTensor *dsin, uint64_t *workspaceSize, aclOpExecutor **executor);
aclnnStatus aclnnRotaryPositionEmbeddingGrad(void *workspace,
                                             uint64_t workspaceSize,
                                             aclOpExecutor *executor,
                                             aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_ROTARY_POSITION_EMBEDDING_GRAD_H
