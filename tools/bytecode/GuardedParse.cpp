//===- GuardedParse.cpp - Reads IR that may be damaged --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/bytecode/GuardedParse.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/WithColor.h"

using namespace llvm;

namespace mf::tools {

/// Ends the program without cleaning up, because the reader was interrupted in
/// an inconsistent state.
[[noreturn]] static void refuse(StringRef name) {
  WithColor::error() << name
                     << ": damaged bytecode, on which MLIR's reader aborts; "
                        "expected a file as mf-opt --emit-bytecode wrote it\n";
  outs().flush();
  sys::Process::Exit(EXIT_FAILURE, /*NoCleanup=*/true);
}

mlir::OwningOpRef<mlir::ModuleOp> parseGuarded(SourceMgr &sources,
                                               mlir::MLIRContext &context) {
  const MemoryBufferRef buffer =
      sources.getMemoryBuffer(sources.getMainFileID())->getMemBufferRef();
  mlir::OwningOpRef<mlir::ModuleOp> module;
  auto parse = [&] {
    module = mlir::parseSourceFile<mlir::ModuleOp>(sources, &context);
  };
  // The reader of text is reliable, and a crash in it should be visible.
  if (!mlir::isBytecode(buffer)) {
    parse();
    return module;
  }
  CrashRecoveryContext::Enable();
  CrashRecoveryContext recovery;
  if (!recovery.RunSafely(parse))
    refuse(buffer.getBufferIdentifier());
  CrashRecoveryContext::Disable();
  return module;
}

void refuseAbortingBytecode(MemoryBufferRef buffer,
                            const mlir::DialectRegistry &registry) {
  if (!mlir::isBytecode(buffer))
    return;
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  mlir::ScopedDiagnosticHandler handler(&context, [](mlir::Diagnostic &) {});
  SourceMgr sources;
  sources.AddNewSourceBuffer(
      MemoryBuffer::getMemBuffer(buffer, /*RequiresNullTerminator=*/false),
      SMLoc());
  parseGuarded(sources, context);
}

} // namespace mf::tools
