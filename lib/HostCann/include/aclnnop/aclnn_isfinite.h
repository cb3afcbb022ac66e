//===----------------------------------------------------------------------===//
//
// Whether elements are finite.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_ISFINITE_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_ISFINITE_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnIsFiniteGetWorkspaceSize(const aclTensor *self, aclTensor *out,
                                          uint64_t *workspaceSize,
                                          aclOpExecutor **executor);
aclnnStatus aclnnIsFinite(void *workspace, uint64_t workspaceSize,
                          aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_ISFINITE_H
