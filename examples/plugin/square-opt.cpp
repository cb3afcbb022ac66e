//===- square-opt.cpp - mf's driver with one more operator and pass -------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//   square-opt --square-expand model.mlir | mf-opt
//   --recompute-config=train.yaml
//
//===----------------------------------------------------------------------===//

#include "dialects/ascend/AscendDialect.h"
#include "dialects/mf/MfOps.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "passes/pipeline/Pipeline.h"

#include "SquareDialect.h.inc"
#define GET_OP_CLASSES
#include "Square.h.inc"

#include "SquareDialect.cpp.inc"
#define GET_OP_CLASSES
#include "Square.cpp.inc"

void square::SquareDialect::initialize() { addOperations<SquareOp>(); }

namespace {

/// Replaces each `square.square` by `mf.mul`, which has a gradient, a sharding
/// rule and a kernel.
struct ExpandSquares
    : public mlir::PassWrapper<ExpandSquares, mlir::OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandSquares)

  llvm::StringRef getArgument() const override { return "square-expand"; }
  llvm::StringRef getDescription() const override {
    return "make products of squares";
  }
  void getDependentDialects(mlir::DialectRegistry &registry) const override {
    registry.insert<mf::ir::MfDialect>();
  }
  void runOnOperation() override {
    getOperation()->walk([](square::SquareOp op) {
      mlir::OpBuilder builder(op);
      auto product = mf::ir::MulOp::create(builder, op.getLoc(), op.getInput(),
                                           op.getInput());
      if (op.getName())
        product->setAttr("name", op.getNameAttr());
      op.replaceAllUsesWith(product.getResult());
      op.erase();
    });
  }
};

} // namespace

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<square::SquareDialect, mf::ir::MfDialect,
                  mf::ascend::AscendDialect, mlir::DLTIDialect>();
  mf::passes::registerAll();
  mlir::PassRegistration<ExpandSquares>();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "mf with squares\n", registry));
}
