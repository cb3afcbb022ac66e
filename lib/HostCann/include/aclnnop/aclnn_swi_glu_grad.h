//===----------------------------------------------------------------------===//
//
// Gradient of aclnnSwiGlu.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_SWI_GLU_GRAD_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_SWI_GLU_GRAD_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnSwiGluGradGetWorkspaceSize(const aclTensor *yGrad,
                                            const aclTensor *x, int64_t dim,
                                            aclTensor *out,
                                            uint64_t *workspaceSize,
                                            aclOpExecutor **executor);
aclnnStatus aclnnSwiGluGrad(void *workspace, uint64_t workspaceSize,
                            aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_SWI_GLU_GRAD_H
