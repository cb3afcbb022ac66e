//===----------------------------------------------------------------------===//
//
// Products of matrices of two dimensions.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_MM_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_MM_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnMmGetWorkspaceSize(const aclTensor *self,
                                    const aclTensor *mat2, aclTensor *out,
                                    int8_t cubeMathType,
                                    uint64_t *workspaceSize,
                                    aclOpExecutor **executor);
aclnnStatus aclnnMm(void *workspace, uint64_t workspaceSize,
                    aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_MM_H
