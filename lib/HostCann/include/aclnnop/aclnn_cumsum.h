//===----------------------------------------------------------------------===//
//
// Sums of all elements up to each one.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_CUMSUM_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_CUMSUM_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnCumsumGetWorkspaceSize(const aclTensor *self, int64_t dim,
                                        aclDataType dtype, aclTensor *out,
                                        uint64_t *workspaceSize,
                                        aclOpExecutor **executor);
aclnnStatus aclnnCumsum(void *workspace, uint64_t workspaceSize,
                        aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_CUMSUM_H
