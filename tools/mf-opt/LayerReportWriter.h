//===- LayerReportWriter.h - mf-opt --json ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_MF_OPT_LAYERREPORTWRITER_H
#define MF_TOOLS_MF_OPT_LAYERREPORTWRITER_H

#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/LLVM.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/ToolOutputFile.h"
#include <memory>

namespace mf {

/// Writes the settings of each model's layers, one JSON object per line, with
/// the number of warnings about the configuration so far.
class LayerReportWriter {
public:
  /// Opens `path`; standard error if it is empty. Prints the error if that
  /// fails.
  llvm::LogicalResult open(llvm::StringRef path);

  /// Counts the warnings of `context` from now on; they are still printed.
  void countWarnings(mlir::MLIRContext &context);

  void write(llvm::json::Object report);

private:
  std::unique_ptr<llvm::ToolOutputFile> file;
  int64_t warnings = 0;
};

} // namespace mf

#endif // MF_TOOLS_MF_OPT_LAYERREPORTWRITER_H
