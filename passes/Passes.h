//===- Passes.h - All passes of mf -----------------------------*- C++ -*-===//

#ifndef MF_PASSES_PASSES_H
#define MF_PASSES_PASSES_H

#include "dialects/ascend/AscendDialect.h"
#include "dialects/mf/MfOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mf::passes {

#define GEN_PASS_DECL
#include "passes/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"

} // namespace mf::passes

#endif // MF_PASSES_PASSES_H
