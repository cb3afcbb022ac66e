//===----------------------------------------------------------------------===//
//
// Permutation of dimensions.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_PERMUTE_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_PERMUTE_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnPermuteGetWorkspaceSize(const aclTensor *self,
                                         const aclIntArray *dims,
                                         aclTensor *out,
                                         uint64_t *workspaceSize,
                                         aclOpExecutor **executor);
aclnnStatus aclnnPermute(void *workspace, uint64_t workspaceSize,
                         aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_PERMUTE_H
