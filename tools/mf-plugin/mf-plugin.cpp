//===- mf-plugin.cpp - mf's dialects and passes for mlir-opt --------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//   mlir-opt model.mlir --load-dialect-plugin=mf-plugin.so
//     --load-pass-plugin=mf-plugin.so
//     --pass-pipeline='builtin.module(mf-training-step{config=train.yaml})'
//
//===----------------------------------------------------------------------===//

#include "dialects/ascend/AscendDialect.h"
#include "dialects/mf/MfOps.h"
#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "passes/pipeline/Pipeline.h"

extern "C" mlir::DialectPluginLibraryInfo LLVM_ATTRIBUTE_WEAK
mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "mf", MF_VERSION,
          [](mlir::DialectRegistry *registry) {
            registry->insert<mf::ir::MfDialect, mf::ascend::AscendDialect,
                             mlir::DLTIDialect>();
          }};
}

extern "C" mlir::PassPluginLibraryInfo LLVM_ATTRIBUTE_WEAK
mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "mf", MF_VERSION,
          [] { mf::passes::registerAll(); }};
}
