//===- StepBlock.h - The step under construction ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_LOWER_STEPBLOCK_H
#define MF_PASSES_LOWER_STEPBLOCK_H

#include "passes/lower/ProgramBuilder.h"

namespace mf::passes {

/// Appends operations to the `ascend.step` of a stage, at the location that was
/// set last.
class StepBlock : public mlir::ImplicitLocOpBuilder {
public:
  /// Keeps a reference to `program`.
  StepBlock(ProgramBuilder &program, mlir::Location loc)
      : ImplicitLocOpBuilder(loc, program.getContext()), program(program) {}

  ProgramBuilder &getProgram() { return program; }
  ascend::EventType getEventType() {
    return ascend::EventType::get(getContext());
  }

  /// Returns the step's value for a static buffer, and creates it at the first
  /// call.
  mlir::Value getGlobal(ascend::StaticOp buffer) {
    mlir::Value &global = globals[buffer.getSymName()];
    if (!global)
      global = ascend::GlobalOp::create(*this, buffer.getType(),
                                        buffer.getSymName());
    return global;
  }
  /// Returns the value that getGlobal has created for the buffer of this name;
  /// null if there is none.
  mlir::Value findGlobal(llvm::StringRef name) const {
    return globals.lookup(name);
  }

  mlir::Value createMessage(mlir::Type buffer) {
    return ascend::MessageOp::create(*this, buffer, mlir::IntegerAttr());
  }
  mlir::Value record(llvm::StringRef stream) {
    return ascend::RecordOp::create(*this, stream);
  }
  void wait(llvm::StringRef stream, mlir::Value event) {
    ascend::WaitOp::create(*this, stream, event);
  }

private:
  ProgramBuilder &program;
  llvm::StringMap<mlir::Value> globals;
};

} // namespace mf::passes

#endif // MF_PASSES_LOWER_STEPBLOCK_H
