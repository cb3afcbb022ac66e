//===----------------------------------------------------------------------===//
//
// Sums.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_ADD_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_ADD_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnAddGetWorkspaceSize(const aclTensor *self,
                                     const aclTensor *other,
                                     const aclScalar *alpha, aclTensor *out,
                                     uint64_t *workspaceSize,
                                     aclOpExecutor **executor);
aclnnStatus aclnnAdd(void *workspace, uint64_t workspaceSize,
                     aclOpExecutor *executor, aclrtStream stream);

aclnnStatus aclnnAddsGetWorkspaceSize(const aclTensor *self,
                                      const aclScalar *other,
                                      const aclScalar *alpha, aclTensor *out,
                                      uint64_t *workspaceSize,
                                      aclOpExecutor **executor);
aclnnStatus aclnnAdds(void *workspace, uint64_t workspaceSize,
                      aclOpExecutor *executor, aclrtStream stream);

aclnnStatus aclnnInplaceAddGetWorkspaceSize(aclTensor *selfRef,
                                            const aclTensor *other,
                                            const aclScalar *alpha,
                                            uint64_t *workspaceSize,
                                            aclOpExecutor **executor);
aclnnStatus aclnnInplaceAdd(void *workspace, uint64_t workspaceSize,
                            aclOpExecutor *executor, aclrtStream stream);

aclnnStatus aclnnInplaceAddsGetWorkspaceSize(aclTensor *selfRef,
                                             const aclScalar *other,
                                             const aclScalar *alpha,
                                             uint64_t *workspaceSize,
                                             aclOpExecutor **executor);
aclnnStatus aclnnInplaceAdds(void *workspace, uint64_t workspaceSize,
                             aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_ADD_H
