//===----------------------------------------------------------------------===//
//
// Products of elements.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_MUL_H
#define MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_MUL_H

#include "aclnn/aclnn_base.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnMulGetWorkspaceSize(const aclTensor *self,
                                     const aclTensor *other, aclTensor *out,
                                     uint64_t *workspaceSize,
                                     aclOpExecutor **executor);
aclnnStatus aclnnMul(void *workspace, uint64_t workspaceSize,
                     aclOpExecutor *executor, aclrtStream stream);

aclnnStatus aclnnMulsGetWorkspaceSize(const aclTensor *self,
                                      const aclScalar *other, aclTensor *out,
                                      uint64_t *workspaceSize,
                                      aclOpExecutor **executor);
aclnnStatus aclnnMuls(void *workspace, uint64_t workspaceSize,
                      aclOpExecutor *executor, aclrtStream stream);

aclnnStatus aclnnInplaceMulGetWorkspaceSize(aclTensor *selfRef,
                                            const aclTensor *other,
                                            uint64_t *workspaceSize,
                                            aclOpExecutor **executor);
aclnnStatus aclnnInplaceMul(void *workspace, uint64_t workspaceSize,
                            aclOpExecutor *executor, aclrtStream stream);

aclnnStatus aclnnInplaceMulsGetWorkspaceSize(aclTensor *selfRef,
                                             const aclScalar *other,
                                             uint64_t *workspaceSize,
                                             aclOpExecutor **executor);
aclnnStatus aclnnInplaceMuls(void *workspace, uint64_t workspaceSize,
                             aclOpExecutor *executor, aclrtStream stream);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_HOSTCANN_INCLUDE_ACLNNOP_ACLNN_MUL_H
