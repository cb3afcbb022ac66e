//===----------------------------------------------------------------------===//
//
// Numbers at equal distances.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_ARANGE_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_ARANGE_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnArangeGetWorkspaceSize(const aclScalar *start,
                                        const aclScalar *end,
                                        const aclScalar *step, aclTensor *out,
                                        uint64_t *workspaceSize,
                                        aclOpExecutor **executor);
aclnnStatus aclnnArange(void *workspace, uint64_t workspaceSize,
                        aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_ARANGE_H
