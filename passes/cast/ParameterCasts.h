//===- ParameterCasts.h - Conversions of a program -------------*- C++ -*-===//

#ifndef MF_PASSES_CAST_PARAMETERCASTS_H
#define MF_PASSES_CAST_PARAMETERCASTS_H

#include "dialects/ascend/AscendDialect.h"
#include "llvm/ADT/StringMap.h"

namespace mf::passes {

/// The launches that convert one parameter to one type, in temporaries.
struct ParameterCasts {
  ascend::StaticOp parameter;
  ascend::BufferType converted;
  llvm::SmallVector<ascend::LaunchOp> launches;
  /// The number of times they run in a step.
  int64_t runs = 0;
};

/// The conversions of parameters by routines that run before parameters are
/// updated, in the order of the program; of each parameter those to the type
/// that comes first.
std::vector<ParameterCasts> findParameterCasts(ascend::ProgramOp program);

/// Replaces launches by copies that the step's begin makes: the statics that
/// their readers read instead.
void convertOnce(ascend::ProgramOp program,
                 llvm::MutableArrayRef<ParameterCasts> casts);

} // namespace mf::passes

#endif // MF_PASSES_CAST_PARAMETERCASTS_H
