//===----------------------------------------------------------------------===//
//
// Comparison with a number.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_LT_SCALAR_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_LT_SCALAR_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnLtScalarGetWorkspaceSize(const aclTensor *self,
                                          const aclScalar *other,
                                          aclTensor *out,
                                          uint64_t *workspaceSize,
                                          aclOpExecutor **executor);
aclnnStatus aclnnLtScalar(void *workspace, uint64_t workspaceSize,
                          aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_LT_SCALAR_H
