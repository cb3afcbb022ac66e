//===----------------------------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Operators of aclnn take tensors, numbers and lists of them.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_CANN_HEADERS_INCLUDE_ACLNN_ACL_META_H
#define MF_LIB_CANN_HEADERS_INCLUDE_ACLNN_ACL_META_H

#include "acl/acl_base.h"
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct aclTensor aclTensor;
typedef struct aclScalar aclScalar;
typedef struct aclIntArray aclIntArray;
typedef struct aclFloatArray aclFloatArray;
typedef struct aclBoolArray aclBoolArray;
typedef struct aclTensorList aclTensorList;
typedef struct aclScalarList aclScalarList;
typedef struct aclOpExecutor aclOpExecutor;
typedef int32_t aclnnStatus;

#define ACLNN_SUCCESS 0
#define ACLNN_ERR_PARAM_NULLPTR 161001
#define ACLNN_ERR_PARAM_INVALID 161002
#define ACLNN_ERR_RUNTIME_ERROR 361001
#define ACLNN_ERR_INNER_TILING_ERROR 561002
#define ACLNN_ERR_INNER_CREATE_EXECUTOR 561101
#define ACLNN_ERR_INNER_NULLPTR 561103

/// Strides and the offset count elements, not bytes.
aclTensor *aclCreateTensor(const int64_t *viewDims, uint64_t viewDimsNum,
                           aclDataType dataType, const int64_t *stride,
                           int64_t offset, aclFormat format,
                           const int64_t *storageDims, uint64_t storageDimsNum,
                           void *tensorData);
/// The value is copied.
aclScalar *aclCreateScalar(void *value, aclDataType dataType);
aclIntArray *aclCreateIntArray(const int64_t *value, uint64_t size);
aclFloatArray *aclCreateFloatArray(const float *value, uint64_t size);
aclBoolArray *aclCreateBoolArray(const bool *value, uint64_t size);
aclTensorList *aclCreateTensorList(const aclTensor *const *value,
                                   uint64_t size);
aclScalarList *aclCreateScalarList(const aclScalar *const *value,
                                   uint64_t size);

aclnnStatus aclDestroyTensor(const aclTensor *tensor);
aclnnStatus aclDestroyScalar(const aclScalar *scalar);
aclnnStatus aclDestroyIntArray(const aclIntArray *array);
aclnnStatus aclDestroyFloatArray(const aclFloatArray *array);
aclnnStatus aclDestroyBoolArray(const aclBoolArray *array);
/// A list destroys its elements.
aclnnStatus aclDestroyTensorList(const aclTensorList *list);
aclnnStatus aclDestroyScalarList(const aclScalarList *list);

/// Lets an executor be run several times. Must be called between the two
/// phases.
aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor *executor);
aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor *executor);
aclnnStatus aclSetInputTensorAddr(aclOpExecutor *executor, const size_t index,
                                  aclTensor *tensor, void *address);
aclnnStatus aclSetOutputTensorAddr(aclOpExecutor *executor, const size_t index,
                                   aclTensor *tensor, void *address);
aclnnStatus aclSetTensorAddr(aclOpExecutor *executor, const size_t index,
                             aclTensor *tensor, void *address);
aclnnStatus aclSetDynamicInputTensorAddr(aclOpExecutor *executor,
                                         size_t irIndex,
                                         const size_t relativeIndex,
                                         aclTensorList *tensors, void *address);
aclnnStatus aclSetDynamicOutputTensorAddr(aclOpExecutor *executor,
                                          size_t irIndex,
                                          const size_t relativeIndex,
                                          aclTensorList *tensors,
                                          void *address);
aclnnStatus aclSetRawTensorAddr(aclTensor *tensor, void *address);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_CANN_HEADERS_INCLUDE_ACLNN_ACL_META_H
