//===- ErrorCollector.h - Messages of an MLIR context -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_DIALECTS_MF_ERRORCOLLECTOR_H
#define MF_DIALECTS_MF_ERRORCOLLECTOR_H

#include "mf/Support/Diagnostic.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include <functional>

namespace mf {

/// Gathers the errors that a context reports, with their places, and passes
/// warnings on.
class ErrorCollector {
public:
  /// `handleWarning` must outlive the collector.
  explicit ErrorCollector(
      mlir::MLIRContext &context,
      const std::function<void(Diagnostic)> &handleWarning = {})
      : handler(&context, [this, &handleWarning](mlir::Diagnostic &emitted) {
          if (emitted.getSeverity() == mlir::DiagnosticSeverity::Error)
            addNotes(emitted, errors.error(getPlace(emitted.getLocation()),
                                           emitted.str()));
          else if (emitted.getSeverity() == mlir::DiagnosticSeverity::Warning &&
                   handleWarning)
            warn(emitted, handleWarning);
          return mlir::success();
        }) {}

  /// Returns the errors, or one with this text if there are none.
  llvm::Error take(llvm::StringRef otherwise = "the step does not compile") {
    if (!errors.hasErrors())
      errors.error({}, otherwise);
    return toError(std::move(errors));
  }

private:
  DiagnosticList errors;
  mlir::ScopedDiagnosticHandler handler;

  static Location getPlace(mlir::Location location) {
    const auto place = mlir::dyn_cast<mlir::FileLineColLoc>(location);
    if (!place)
      return {};
    return {place.getFilename().str(), place.getLine(), place.getColumn()};
  }

  static void addNotes(mlir::Diagnostic &emitted, Diagnostic &diagnostic) {
    for (mlir::Diagnostic &note : emitted.getNotes())
      diagnostic.attachNote(note.str(), getPlace(note.getLocation()));
  }

  static void warn(mlir::Diagnostic &emitted,
                   const std::function<void(Diagnostic)> &handleWarning) {
    Diagnostic warning{
        Severity::Warning, emitted.str(), getPlace(emitted.getLocation()), {}};
    addNotes(emitted, warning);
    handleWarning(std::move(warning));
  }
};

} // namespace mf

#endif // MF_DIALECTS_MF_ERRORCOLLECTOR_H
