//===- mf-lsp-server.cpp - Language server for .mlir and YAML files -------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Diagnostics, definitions, completion and costs of mf and ascend IR in an
// editor; with --yaml, of training YAMLs.
//
//===----------------------------------------------------------------------===//

#include "dialects/ascend/AscendDialect.h"
#include "dialects/mf/MfOps.h"
#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/IR/DialectRegistry.h"
#include "tools/help/ToolHelp.h"
#include "tools/main/ToolMains.h"
#include "tools/mf-lsp-server/Servers.h"
#include "llvm/ADT/STLExtras.h"

static int serveYaml(int argc, char **argv,
                     const mlir::DialectRegistry &registry) {
  llvm::cl::ParseCommandLineOptions(argc, argv,
                                    "Language server for training YAMLs\n");
  // Editors restart a server at each new setting; one thread is enough.
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  llvm::lsp::JSONTransport transport(stdin, llvm::outs());
  return mf::lsp::runYamlServer(transport, context) ? 0 : 1;
}

int mf::tools::mfLspServerMain(int argc, char **argv) {
  llvm::cl::OptionCategory category("Files to serve");
  const llvm::cl::opt<bool> servesYaml(
      "yaml",
      llvm::cl::desc("serve training YAMLs of both formats instead of .mlir "
                     "files"),
      llvm::cl::cat(category));
  mf::tools::setUpHelp(
      {&category}, "\nEXAMPLES:\n\n"
                   "  mf-lsp-server                 # an editor starts it and "
                   "talks to it over stdio\n"
                   "  mf-lsp-server --yaml          # the same for training "
                   "YAMLs\n"
                   "  mf-lsp-server --log=verbose   # the first, with what "
                   "they say on standard error\n");
  mlir::DialectRegistry registry;
  registry.insert<mf::ir::MfDialect, mf::ascend::AscendDialect,
                  mlir::DLTIDialect>();
  // MLIR's server reads its own options, so this one is looked for first.
  auto isYaml = [](llvm::StringRef argument) {
    return argument == "--yaml" || argument == "-yaml";
  };
  if (llvm::any_of(llvm::ArrayRef<const char *>(argv, argc), isYaml))
    return serveYaml(argc, argv, registry);
  return mf::lsp::runIrServer(argc, argv, registry);
}
