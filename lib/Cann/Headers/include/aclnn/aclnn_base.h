//===----------------------------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Every operator of aclnn includes this. Operators run in two calls: the first
// checks its arguments, makes an executor and says how many bytes of workspace
// the second needs, which puts the operator on a stream and, unless the
// executor was made repeatable, frees it.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_CANN_HEADERS_INCLUDE_ACLNN_ACLNN_BASE_H
#define MF_LIB_CANN_HEADERS_INCLUDE_ACLNN_ACLNN_BASE_H

#include "acl/acl_base.h"
#include "aclnn/acl_meta.h"

#endif // MF_LIB_CANN_HEADERS_INCLUDE_ACLNN_ACLNN_BASE_H
