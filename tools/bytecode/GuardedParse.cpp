//===- GuardedParse.cpp - Reads IR that may be damaged --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/bytecode/GuardedParse.h"
#include "dialects/mf/Format.h"
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

/// Returns the format that the text of a module has; empty if it has none.
static StringRef findFormat(StringRef text) {
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    if (line.starts_with("module") || line.starts_with("builtin.module"))
      return line.split((ir::formatAttribute + " = \"").str())
          .second.split('"')
          .first;
    text = rest;
  }
  return "";
}

/// Reports a text in a format that this mf does not read. The parser would
/// only say at which word it stops.
static bool isReadable(SourceMgr &sources) {
  const StringRef format =
      findFormat(sources.getMemoryBuffer(sources.getMainFileID())->getBuffer());
  if (format.empty())
    return true;
  const std::string problem = ir::describeUnreadFormat(format);
  if (problem.empty())
    return true;
  sources.PrintMessage(SMLoc::getFromPointer(format.begin()),
                       SourceMgr::DK_Error, "the file " + problem);
  return false;
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
    if (isReadable(sources))
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

void refuseUnreadable(MemoryBufferRef buffer,
                      const mlir::DialectRegistry &registry) {
  SourceMgr sources;
  sources.AddNewSourceBuffer(
      MemoryBuffer::getMemBuffer(buffer, /*RequiresNullTerminator=*/false),
      SMLoc());
  if (!mlir::isBytecode(buffer)) {
    if (!isReadable(sources))
      sys::Process::Exit(EXIT_FAILURE, /*NoCleanup=*/true);
    return;
  }
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  mlir::ScopedDiagnosticHandler handler(&context, [](mlir::Diagnostic &) {});
  parseGuarded(sources, context);
}

} // namespace mf::tools
