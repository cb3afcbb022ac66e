//===----------------------------------------------------------------------===//
//
// The largest or smallest elements of a dimension.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_TOPK_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_TOPK_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnTopkGetWorkspaceSize(const aclTensor *self, int64_t k,
                                      int64_t dim, bool largest, bool sorted,
                                      aclTensor *valuesOut,
                                      aclTensor *indicesOut,
                                      uint64_t *workspaceSize,
                                      aclOpExecutor **executor);
aclnnStatus aclnnTopk(void *workspace, uint64_t workspaceSize,
                      aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_TOPK_H
