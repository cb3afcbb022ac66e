//===- KeptTypes.h - Types in which ranks keep weights ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_FRONTEND_IMPORT_KEPTTYPES_H
#define MF_LIB_FRONTEND_IMPORT_KEPTTYPES_H

#include "dialects/mf/MfOps.h"

namespace mf {

/// Marks each weight whose readers all convert it to the same narrower type as
/// kept in that type. Weights that are marked already stay as they are.
void keepReadTypes(ir::ModelOp model);

} // namespace mf

#endif // MF_LIB_FRONTEND_IMPORT_KEPTTYPES_H
