//===- ParameterCasts.h - Conversions of a program -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_CAST_PARAMETERCASTS_H
#define MF_PASSES_CAST_PARAMETERCASTS_H

#include "dialects/ascend/AscendDialect.h"
#include "llvm/ADT/StringMap.h"

namespace mf::passes {

/// The launches that convert one parameter to one type, into temporaries.
struct ParameterCasts {
  ascend::StaticOp parameter;
  ascend::BufferType converted;
  llvm::SmallVector<ascend::LaunchOp> launches;
  /// How often they run in a step.
  int64_t runs = 0;
};

/// Returns the conversions of parameters by routines that run before parameters
/// are updated, in the order of the program. For each parameter, only
/// conversions to the first type are returned.
std::vector<ParameterCasts> findParameterCasts(ascend::ProgramOp program);

/// Replaces launches by copies that are made at the start of the step. Their
/// readers read the copies, which are statics.
void convertOnce(ascend::ProgramOp program,
                 llvm::MutableArrayRef<ParameterCasts> casts);

} // namespace mf::passes

#endif // MF_PASSES_CAST_PARAMETERCASTS_H
