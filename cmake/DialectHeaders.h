// SPDX-License-Identifier: Apache-2.0
//
// Our dialects with MLIR below them, precompiled: what tablegen generates for
// their operations takes seconds to read.
#include "MlirHeaders.h"
#include "dialects/ascend/AscendDialect.h"
#include "dialects/mf/MfOps.h"
