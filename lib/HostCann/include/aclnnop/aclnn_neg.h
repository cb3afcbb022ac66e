//===----------------------------------------------------------------------===//
//
// -x.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_NEG_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_NEG_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnNegGetWorkspaceSize(const aclTensor *self, aclTensor *out,
                                     uint64_t *workspaceSize,
                                     aclOpExecutor **executor);
aclnnStatus aclnnNeg(void *workspace, uint64_t workspaceSize,
                     aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_NEG_H
