//===- LayerReportWriter.cpp - mf-opt --json ------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "LayerReportWriter.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Support/FileUtilities.h"

using namespace mf;

llvm::LogicalResult LayerReportWriter::open(llvm::StringRef path) {
  if (path.empty())
    return llvm::success();
  std::string error;
  file = mlir::openOutputFile(path, &error);
  if (!file)
    llvm::errs() << "error: " << error << "\n";
  return llvm::success(file != nullptr);
}

void LayerReportWriter::countWarnings(mlir::MLIRContext &context) {
  context.getDiagEngine().registerHandler([this](mlir::Diagnostic &diagnostic) {
    warnings += diagnostic.getSeverity() == mlir::DiagnosticSeverity::Warning;
    // The next handler prints the diagnostic.
    return llvm::failure();
  });
}

void LayerReportWriter::write(llvm::json::Object report) {
  report["warnings"] = warnings;
  llvm::raw_ostream &stream =
      file ? static_cast<llvm::raw_ostream &>(file->os()) : llvm::errs();
  stream << llvm::json::Value(std::move(report)) << '\n';
  if (file)
    file->keep();
}
