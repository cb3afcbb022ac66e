//===----------------------------------------------------------------------===//
//
// Comparison of two tensors.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_GT_TENSOR_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_GT_TENSOR_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnGtTensorGetWorkspaceSize(const aclTensor *self,
                                          const aclTensor *other,
                                          aclTensor *out,
                                          uint64_t *workspaceSize,
                                          aclOpExecutor **executor);
aclnnStatus aclnnGtTensor(void *workspace, uint64_t workspaceSize,
                          aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_GT_TENSOR_H
