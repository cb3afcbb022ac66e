//===----------------------------------------------------------------------===//
//
// Tokens in the order of their experts.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_MOE_TOKEN_PERMUTE_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_MOE_TOKEN_PERMUTE_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnMoeTokenPermuteGetWorkspaceSize(
    const aclTensor *tokens, const aclTensor *indices, int64_t numOutTokens,
    bool paddedMode, aclTensor *permuteTokensOut, aclTensor *sortedIndicesOut,
    uint64_t *workspaceSize, aclOpExecutor **executor);
aclnnStatus aclnnMoeTokenPermute(void *workspace, uint64_t workspaceSize,
                                 aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_MOE_TOKEN_PERMUTE_H
