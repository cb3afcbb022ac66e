//===----------------------------------------------------------------------===//
//
// silu(first half) * second half of a dimension.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_SWI_GLU_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_SWI_GLU_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnSwiGluGetWorkspaceSize(const aclTensor *x, int64_t dim,
                                        aclTensor *out, uint64_t *workspaceSize,
                                        aclOpExecutor **executor);
aclnnStatus aclnnSwiGlu(void *workspace, uint64_t workspaceSize,
                        aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_SWI_GLU_H
