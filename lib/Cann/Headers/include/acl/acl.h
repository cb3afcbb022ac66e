//===----------------------------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The start and the end of a process's use of AscendCL.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_CANN_HEADERS_INCLUDE_ACL_ACL_H
#define MF_LIB_CANN_HEADERS_INCLUDE_ACL_ACL_H

#include "acl/acl_base.h"
#include "acl/acl_mdl.h"
#include "acl/acl_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

/// `configPath` is a file of settings and may be null.
aclError aclInit(const char *configPath);
aclError aclFinalize(void);

#ifdef __cplusplus
}
#endif

#endif // MF_LIB_CANN_HEADERS_INCLUDE_ACL_ACL_H
