//===- ParsedProgram.h - Programs from text, for tests ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_UNIT_PROGRAM_PARSEDPROGRAM_H
#define MF_TEST_UNIT_PROGRAM_PARSEDPROGRAM_H

#include "dialects/ascend/AscendDialect.h"
#include "dialects/mf/MfDialect.h"
#include "mf/Decode/Decoder.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/raw_ostream.h"

namespace mf::program {

/// The program in `text`, or what is wrong with it.
struct ParsedProgram {
  mlir::MLIRContext context;
  std::optional<DecodedProgram> decoded;
  /// Diagnostics as `line: message`, a line each.
  std::string messages;

  explicit ParsedProgram(llvm::StringRef text) {
    context.loadDialect<ascend::AscendDialect, ir::MfDialect>();
    mlir::ScopedDiagnosticHandler handler(
        &context, [&](mlir::Diagnostic &diagnostic) { add(diagnostic); });
    mlir::OwningOpRef<mlir::ModuleOp> module =
        mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!module)
      return;
    mlir::FailureOr<DecodedProgram> result = decodeProgram(*module);
    if (mlir::succeeded(result))
      decoded = std::move(*result);
  }

  const Program &get() const { return decoded->program; }

  /// The line of an entry of the table of locations.
  unsigned getLine(uint32_t location) const {
    return getLine(decoded->locations[location]);
  }

private:
  static unsigned getLine(mlir::Location location) {
    auto place = mlir::dyn_cast<mlir::FileLineColLoc>(location);
    return place ? place.getLine() : 0;
  }

  void add(mlir::Diagnostic &diagnostic) {
    llvm::raw_string_ostream os(messages);
    os << getLine(diagnostic.getLocation()) << ": " << diagnostic.str() << '\n';
    for (mlir::Diagnostic &note : diagnostic.getNotes())
      add(note);
  }
};

} // namespace mf::program

#endif // MF_TEST_UNIT_PROGRAM_PARSEDPROGRAM_H
