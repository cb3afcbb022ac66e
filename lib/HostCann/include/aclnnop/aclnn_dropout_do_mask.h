//===----------------------------------------------------------------------===//
//
// self / (1 - prob) where the bit of the mask is 1, else 0. The mask has units
// of 128 bits, eight to a byte.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_DROPOUT_DO_MASK_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_DROPOUT_DO_MASK_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnDropoutDoMaskGetWorkspaceSize(const aclTensor *self,
                                               const aclTensor *mask,
                                               double prob, aclTensor *out,
                                               uint64_t *workspaceSize,
                                               aclOpExecutor **executor);
aclnnStatus aclnnDropoutDoMask(void *workspace, uint64_t workspaceSize,
                               aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_DROPOUT_DO_MASK_H
