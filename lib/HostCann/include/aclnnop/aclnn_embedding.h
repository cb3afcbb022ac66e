//===----------------------------------------------------------------------===//
//
// Rows of a table by index.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_EMBEDDING_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_EMBEDDING_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnEmbeddingGetWorkspaceSize(const aclTensor *weight,
                                           const aclTensor *indices,
                                           aclTensor *out,
                                           uint64_t *workspaceSize,
                                           aclOpExecutor **executor);
aclnnStatus aclnnEmbedding(void *workspace, uint64_t workspaceSize,
                           aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_EMBEDDING_H
