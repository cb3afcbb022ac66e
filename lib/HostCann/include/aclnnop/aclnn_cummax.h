//===----------------------------------------------------------------------===//
//
// The largest element up to each one, and its place.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_CUMMAX_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_CUMMAX_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnCummaxGetWorkspaceSize(const aclTensor *self, int64_t dim,
                                        aclTensor *valuesOut,
                                        aclTensor *indicesOut,
                                        uint64_t *workspaceSize,
                                        aclOpExecutor **executor);
aclnnStatus aclnnCummax(void *workspace, uint64_t workspaceSize,
                        aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_CUMMAX_H
