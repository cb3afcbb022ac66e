//===- PrintedPlan.h - Plans in the order of operations --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Passes run on threads, one operation each. They print plans as diagnostics
// with a mark, because MLIR puts the diagnostics of threads into the order of
// the operations. The code that started the pass prints marked diagnostics as
// plain text.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_PRINTEDPLAN_H
#define MF_PASSES_PRINTEDPLAN_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"
#include "llvm/Support/raw_ostream.h"
#include <memory>

namespace mf::passes {

/// Collects text about an operation, and prints it as a whole on standard error
/// when it goes out of scope. The pass must be a PrintingPass.
class PrintedPlan {
public:
  explicit PrintedPlan(mlir::Operation *op) : op(op) {}
  PrintedPlan(const PrintedPlan &) = delete;
  PrintedPlan &operator=(const PrintedPlan &) = delete;
  ~PrintedPlan() {
    if (text.empty())
      return;
    // A remark on the operation itself would print the operation below it.
    mlir::InFlightDiagnostic remark = mlir::emitRemark(op->getLoc());
    remark << llvm::Twine(text);
    remark.getUnderlyingDiagnostic()->getMetadata().emplace_back(
        mlir::StringAttr::get(op->getContext(), mark));
  }

  llvm::raw_ostream &os() { return stream; }

  /// Prints the text of a plan. Fails for any other diagnostic.
  static mlir::LogicalResult print(mlir::Diagnostic &diagnostic) {
    if (!llvm::any_of(diagnostic.getMetadata(), isMark))
      return mlir::failure();
    llvm::errs() << diagnostic.str();
    return mlir::success();
  }

private:
  static constexpr llvm::StringLiteral mark = "mf.plan-text";

  mlir::Operation *op;
  std::string text;
  llvm::raw_string_ostream stream{text};

  static bool isMark(const mlir::DiagnosticArgument &argument) {
    using Kind = mlir::DiagnosticArgument::DiagnosticArgumentKind;
    if (argument.getKind() != Kind::Attribute)
      return false;
    auto name = mlir::dyn_cast<mlir::StringAttr>(argument.getAsAttribute());
    return name && name.getValue() == mark;
  }
};

/// A base class between a pass and its ODS class. It allows the pass to use
/// PrintedPlan.
template <typename Base> class PrintingPass : public Base {
public:
  using Base::Base;

  /// Called before threads start. The passes on these threads are copies of
  /// this one.
  mlir::LogicalResult initialize(mlir::MLIRContext *context) override {
    printer = std::make_shared<mlir::ScopedDiagnosticHandler>(
        context, [](mlir::Diagnostic &diagnostic) {
          return PrintedPlan::print(diagnostic);
        });
    return mlir::success();
  }

private:
  std::shared_ptr<mlir::ScopedDiagnosticHandler> printer;
};

} // namespace mf::passes

#endif // MF_PASSES_PRINTEDPLAN_H
