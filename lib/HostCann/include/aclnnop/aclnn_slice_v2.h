//===----------------------------------------------------------------------===//
//
// Parts of dimensions.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_SLICE_V2_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_SLICE_V2_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus
aclnnSliceV2GetWorkspaceSize(const aclTensor *self, const aclIntArray *starts,
                             const aclIntArray *ends, const aclIntArray *axes,
                             const aclIntArray *steps, aclTensor *out,
                             uint64_t *workspaceSize, aclOpExecutor **executor);
aclnnStatus aclnnSliceV2(void *workspace, uint64_t workspaceSize,
                         aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_SLICE_V2_H
