//===- mf-reduce.cpp - Reduces IR that shows a problem --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// mlir-reduce with mf's dialects and passes: it reduces a file as long as a
// script reports the result as interesting.
//
//===----------------------------------------------------------------------===//

#include "dialects/ascend/AscendDialect.h"
#include "dialects/mf/MfOps.h"
#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"
#include "mlir/Transforms/Passes.h"
#include "passes/pipeline/Pipeline.h"
#include "tools/help/ToolHelp.h"
#include "tools/main/ToolMains.h"

int mf::tools::mfReduceMain(int argc, char **argv) {
  mf::tools::setUpHelp(
      {},
      "\nEXAMPLES:\n\n"
      "  mf-reduce --reduction-tree='traversal-mode=0 test=fails.sh' "
      "step.mlir -o smaller.mlir\n"
      "  mf-reduce --opt-reduction-pass='opt-pass=canonicalize "
      "test=fails.sh' model.mlir\n",
      /*hasShortHelp=*/true);
  mlir::registerTransformsPasses();
  mf::passes::registerAll();
  mlir::DialectRegistry registry;
  registry.insert<mf::ir::MfDialect, mf::ascend::AscendDialect,
                  mlir::DLTIDialect>();
  mlir::MLIRContext context(registry);
  return failed(mlir::mlirReduceMain(argc, argv, context));
}
