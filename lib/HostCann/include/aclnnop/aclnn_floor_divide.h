//===----------------------------------------------------------------------===//
//
// Quotients that are rounded down.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_FLOOR_DIVIDE_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_FLOOR_DIVIDE_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnFloorDividesGetWorkspaceSize(const aclTensor *self,
                                              const aclScalar *other,
                                              aclTensor *out,
                                              uint64_t *workspaceSize,
                                              aclOpExecutor **executor);
aclnnStatus aclnnFloorDivides(void *workspace, uint64_t workspaceSize,
                              aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_FLOOR_DIVIDE_H
