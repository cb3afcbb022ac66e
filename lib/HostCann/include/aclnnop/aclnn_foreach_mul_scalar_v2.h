//===----------------------------------------------------------------------===//
//
// x * scalar for a list; the scalar is a number of the host.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_FOREACH_MUL_SCALAR_V2_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_FOREACH_MUL_SCALAR_V2_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnForeachMulScalarV2GetWorkspaceSize(const aclTensorList *x,
                                                    const aclScalar *scalar,
                                                    aclTensorList *out,
                                                    uint64_t *workspaceSize,
                                                    aclOpExecutor **executor);
aclnnStatus aclnnForeachMulScalarV2(void *workspace, uint64_t workspaceSize,
                                    aclOpExecutor *executor,
                                    aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_FOREACH_MUL_SCALAR_V2_H
