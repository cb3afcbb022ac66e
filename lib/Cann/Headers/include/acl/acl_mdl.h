//===----------------------------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Capture of work: the work that streams are given is recorded, and the record
// is run as a whole any number of times.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_CANN_HEADERS_INCLUDE_ACL_ACL_MDL_H
#define MF_LIB_CANN_HEADERS_INCLUDE_ACL_ACL_MDL_H

#include "acl/acl_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef void *aclmdlRI;

/// The calls that are refused during a capture: those that cannot be captured,
/// of all threads or of this thread only, or none.
typedef enum {
  ACL_MODEL_RI_CAPTURE_MODE_GLOBAL = 0,
  ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL = 1,
  ACL_MODEL_RI_CAPTURE_MODE_RELAXED = 2
} aclmdlRICaptureMode;

typedef enum {
  ACL_MODEL_RI_CAPTURE_STATUS_NONE = 0,
  ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE = 1,
  ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED = 2
} aclmdlRICaptureStatus;

aclError aclmdlRICaptureBegin(aclrtStream stream, aclmdlRICaptureMode mode);
aclError aclmdlRICaptureGetInfo(aclrtStream stream,
                                aclmdlRICaptureStatus *status,
                                aclmdlRI *modelRI);
/// All other streams of the capture must have joined the stream that began it.
aclError aclmdlRICaptureEnd(aclrtStream stream, aclmdlRI *modelRI);
/// The memory that the captured work uses must not have been freed.
aclError aclmdlRIExecuteAsync(aclmdlRI modelRI, aclrtStream stream);
aclError aclmdlRIDestroy(aclmdlRI modelRI);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_CANN_HEADERS_INCLUDE_ACL_ACL_MDL_H
