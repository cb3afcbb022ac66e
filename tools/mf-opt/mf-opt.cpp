//===- mf-opt.cpp - The optimizer driver ----------------------------------===//

#include "dialects/ascend/AscendDialect.h"
#include "dialects/mf/MfOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<mf::ir::MfDialect, mf::ascend::AscendDialect>();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "mf training-step compiler\n", registry));
}
