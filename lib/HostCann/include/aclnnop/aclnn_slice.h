//===----------------------------------------------------------------------===//
//
// A part of one dimension.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_SLICE_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_SLICE_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnSliceGetWorkspaceSize(const aclTensor *self, int64_t dim,
                                       int64_t start, int64_t end, int64_t step,
                                       aclTensor *out, uint64_t *workspaceSize,
                                       aclOpExecutor **executor);
aclnnStatus aclnnSlice(void *workspace, uint64_t workspaceSize,
                       aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_SLICE_H
