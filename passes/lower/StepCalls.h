//===- StepCalls.h - The calls of a step ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PASSES_LOWER_STEPCALLS_H
#define MF_PASSES_LOWER_STEPCALLS_H

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

/// One call of a routine and its exchanges.
struct StepCall {
  std::string routine;
  mlir::Location loc;
  /// The loads and receives of values that it reads, and the sends of values
  /// that it writes.
  llvm::SmallVector<mlir::Operation *, 2> incoming = {}, outgoing = {};
  llvm::SmallVector<mlir::Value, 4> buffers = {};
  mlir::Value frame = {};
  mlir::IntegerAttr microBatch = {};
  /// True if it reads the values that change with every step.
  bool isUpdate = false;
  /// Events of copies that must end before the routine reads their buffers.
  llvm::SmallVector<mlir::Value> events = {};
  /// True if it shares a slot with the next call.
  bool isPaired = false;
  /// The call of the next part of a routine in parts. It waits for `streams`,
  /// on which exchanges of this part are still under way at its end.
  std::optional<size_t> next = {};
  llvm::SmallVector<llvm::StringRef, 2> streams = {};
};

struct StepCalls {
  std::vector<StepCall> calls;
  /// True if a call adds to the step's loss.
  bool hasLoss = false;
  /// The factor on the loss scale for backward. Null if this stage has no
  /// scaled loss.
  mlir::FloatAttr scaledGradient;
  /// The buffers of the schedule's tensors, and the frames of its frames.
  llvm::DenseMap<mlir::Value, mlir::Value> values;
};

/// Returns a call for each task of a schedule that runs a routine, in order.
/// Appends the frames, messages and statics that the calls use to the step.
mlir::FailureOr<StepCalls> collectCalls(StepBlock &step,
                                        ir::ScheduleOp schedule);

/// Replaces calls of routines in parts by those of the parts. A forward and a
/// backward that share a slot run part by part. The exchanges at the end of a
/// part of one of them continue during the next part of the other.
/// Returns the index of the first part of each call.
std::vector<size_t> cutCalls(StepBlock &step, std::vector<StepCall> &calls);

/// The events that a call records after some of its launches.
struct LaunchEvents {
  /// The numbers of launches after which the events are recorded, in ascending
  /// order without duplicates.
  llvm::SmallVector<int64_t> launches;
  mlir::ValueRange events;

  /// Returns the event after `count` launches, which must be among `launches`.
  mlir::Value getAfter(int64_t count) const {
    return events[llvm::lower_bound(launches, count) - launches.begin()];
  }
};

} // namespace mf::passes

#endif // MF_PASSES_LOWER_STEPCALLS_H
