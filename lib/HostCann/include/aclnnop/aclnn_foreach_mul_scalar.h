//===----------------------------------------------------------------------===//
//
// x * scalar for a list; the scalar is a tensor of the device.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_FOREACH_MUL_SCALAR_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_FOREACH_MUL_SCALAR_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnForeachMulScalarGetWorkspaceSize(const aclTensorList *x,
                                                  const aclTensor *scalar,
                                                  aclTensorList *out,
                                                  uint64_t *workspaceSize,
                                                  aclOpExecutor **executor);
aclnnStatus aclnnForeachMulScalar(void *workspace, uint64_t workspaceSize,
                                  aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_FOREACH_MUL_SCALAR_H
