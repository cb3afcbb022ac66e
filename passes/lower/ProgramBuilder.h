//===- ProgramBuilder.h - One stage's ascend program -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The program under construction, with its streams, static buffers and
// routines.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_LOWER_PROGRAMBUILDER_H
#define MF_PASSES_LOWER_PROGRAMBUILDER_H

#include "dialects/ascend/AscendDialect.h"
#include "dialects/mf/MfOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace mf::passes {

/// Returns the name of the static that holds a rank's index in the group of
/// ranks that differ in their coordinates on `axes`, which may be in any order.
std::string getCoordinateName(mlir::Operation *op, mlir::ArrayAttr axes);

/// Returns the name of the static that holds a state of a parameter.
std::string getStateName(ir::State state, llvm::StringRef parameter);

/// Returns the name of the host's copy of a value that a step reports, and of a
/// static that the host passes to the step.
std::string getHostReportName(llvm::StringRef quantity);
std::string getHostName(ascend::Role role);

/// Returns the parameters whose gradients are computed on a stage.
llvm::StringSet<> getTrainedParameters(ir::ModelOp model, int64_t stage);

/// The names of streams, routines and buffers in lowered programs.
namespace names {
inline constexpr llvm::StringLiteral compute = "compute";
inline constexpr llvm::StringLiteral hostToDevice = "h2d";
inline constexpr llvm::StringLiteral deviceToHost = "d2h";
inline constexpr llvm::StringLiteral collective = "collective";
inline constexpr llvm::StringLiteral begin = "begin";
inline constexpr llvm::StringLiteral reduce = "reduce_gradients";
inline constexpr llvm::StringLiteral update = "update";
inline constexpr llvm::StringLiteral finish = "finish";
inline constexpr llvm::StringLiteral loss = "loss";
} // namespace names

/// A copy from host memory that starts before the routine that reads it. The
/// buffers of these copies are the routine's last buffer arguments, and the
/// events of their ends are event arguments, both in the order of these copies.
struct EarlyPrefetch {
  /// The index of the slot in the frame, in host memory.
  int64_t slot = 0;
  /// The number of kernels between the start of the copy and that of the
  /// routine.
  int64_t ahead = 0;
  ascend::BufferType type;
};

/// The point at which a routine has added all its summands to a gradient: after
/// `launches` launches.
struct GradientPlace {
  std::string routine;
  int64_t launches = 0;
};

/// A part of a routine, which is itself a routine. The compute stream may run a
/// part of another task between it and the next part.
struct RoutinePart {
  std::string name;
  /// The buffers that the part takes after those of the whole routine, as
  /// indices into RoutineParts::passed.
  llvm::SmallVector<int64_t, 4> passed;
  /// The streams on which exchanges are still running at the end of the part.
  /// The next part waits for them.
  llvm::SmallVector<llvm::StringRef, 2> streams;
  /// The number of launches of the whole routine before the part.
  int64_t firstLaunch = 0;
};

struct RoutineParts {
  /// The parts in order. There are at least two.
  std::vector<RoutinePart> parts;
  /// The types of the temporaries of the whole routine that several parts use,
  /// or that an exchange uses after the end of its part.
  llvm::SmallVector<mlir::Type> passed;
};

/// Builds the `ascend.program` of one stage and the parts that its routines
/// share.
class ProgramBuilder {
public:
  ProgramBuilder(ir::ModelOp model, mlir::SymbolTable &modelSymbols,
                 ir::ScheduleOp schedule, int64_t inFlight,
                 bool fusesAccumulation);

  ascend::ProgramOp getProgram() { return program; }
  ir::ModelOp getModel() { return model; }
  int64_t getStage() const { return stage; }
  /// Returns the number of runs of each chunk in a step.
  int64_t getRuns() const { return runs; }
  /// Returns the number of micro-batches that a step reads. A run has one for
  /// each copy of the model.
  int64_t getMicroBatches() const { return microBatches; }
  /// Returns the largest number of collectives on parameters that a routine has
  /// in flight.
  int64_t getInFlight() const { return inFlight; }
  /// Returns whether gradients are added to wider accumulators without a cast.
  bool fusesAccumulation() const { return isAccumulationFused; }
  /// Returns whether several backwards add to each gradient.
  bool addsGradients() const { return addsUp; }
  mlir::MLIRContext *getContext() { return model.getContext(); }

  ascend::BufferType getBufferType(mlir::Type tensor,
                                   ascend::Space space = ascend::Space::Hbm);

  /// Returns the buffer type of an fp32 scalar on the device.
  ascend::BufferType getScalarType();

  /// Declares a stream unless it exists.
  llvm::StringRef getStream(llvm::StringRef name, ascend::StreamKind kind);

  /// Returns the static buffer that holds a parameter's state. A parameter tied
  /// to one on the same stage shares its value.
  ascend::StaticOp getState(ir::State state, llvm::StringRef parameter);
  ir::ParamOp getParam(llvm::StringRef parameter) const {
    return modelSymbols.lookup<ir::ParamOp>(parameter);
  }

  /// Returns the static buffer of this name. If it is new, it gets `type`,
  /// `role` and `init`.
  ascend::StaticOp getStatic(llvm::StringRef name, ascend::BufferType type,
                             ascend::Role role, llvm::StringRef of = {},
                             mlir::Attribute init = {},
                             llvm::StringRef tied = {},
                             ascend::SliceAttr slice = {});

  /// Returns the static buffer that holds a rank's index among those that
  /// differ only in their coordinates on `axes`.
  ascend::StaticOp getCoordinate(mlir::ArrayAttr axes);

  /// Returns the rule by which a step updates a statistic; none for parameters
  /// that have gradients.
  std::optional<ir::UpdateRule> getUpdateRule(llvm::StringRef parameter);
  /// Returns the device tensor of a quantity that the host reads after each
  /// step.
  ascend::StaticOp getReport(llvm::StringRef quantity,
                             mlir::RankedTensorType type);
  /// Returns the quantities reported so far, in order.
  llvm::ArrayRef<ascend::StaticOp> getReports() const { return reports; }

  /// Returns the gradients to which this stage's backward functions add.
  llvm::ArrayRef<ascend::StaticOp> getGradients() const { return gradients; }
  /// Returns the parameters that are gathered at the start of the step for its
  /// routines, in the model's order.
  llvm::SmallVector<ir::ParamOp> getGathered() const;
  /// Returns the static buffer with the rank's part of a parameter in the
  /// narrower type `element`; null if ranks keep none of that type.
  ascend::StaticOp getRounded(llvm::StringRef parameter, mlir::Type element);
  /// Returns the parameters of which routines use such a buffer, in the model's
  /// order.
  llvm::SmallVector<ir::ParamOp> getRounded() const;

  /// Records that a routine adds to the gradient of a parameter.
  void addGradientPlace(llvm::StringRef parameter, GradientPlace place) {
    gradientPlaces[parameter].push_back(std::move(place));
  }
  /// Returns the points at which routines complete their summands, in the order
  /// in which the routines were lowered. Each piece of the sequence has its own
  /// routine.
  llvm::ArrayRef<GradientPlace>
  getGradientPlaces(llvm::StringRef parameter) const {
    auto found = gradientPlaces.find(parameter);
    if (found == gradientPlaces.end())
      return {};
    return found->second;
  }

  bool hasRoutine(llvm::StringRef name);
  /// Makes an empty routine after the existing ones.
  ascend::RoutineOp createRoutine(llvm::StringRef name,
                                  llvm::ArrayRef<mlir::Type> arguments,
                                  mlir::FlatSymbolRefAttr layout = {});

  void addEarlyPrefetch(llvm::StringRef routine,
                        const EarlyPrefetch &prefetch) {
    earlyPrefetches[routine].push_back(prefetch);
  }
  llvm::ArrayRef<EarlyPrefetch>
  getEarlyPrefetches(llvm::StringRef routine) const {
    auto found = earlyPrefetches.find(routine);
    if (found == earlyPrefetches.end())
      return {};
    return found->second;
  }

  /// Records that a routine now consists of parts (LowerToAscend.cpp).
  void setParts(llvm::StringRef routine, RoutineParts made);
  /// Returns the parts of a routine, or null if it is not cut.
  const RoutineParts *getParts(llvm::StringRef routine) const {
    auto found = parts.find(routine);
    return found == parts.end() ? nullptr : &found->second;
  }

  /// Returns the number of launches of a routine that is complete.
  int64_t countLaunches(llvm::StringRef routine);

private:
  ascend::StaticOp getAccumulated(ir::ParamOp param);
  ascend::StaticOp getGathered(ir::ParamOp param);
  /// Moves `op` after the last declaration.
  mlir::Operation *declare(mlir::Operation *op);
  /// Returns the parameter of this stage whose storage a tied parameter uses,
  /// or an empty name.
  llvm::StringRef getOwnerHere(ir::ParamOp param) const;
  bool isTrainedHere(llvm::StringRef parameter) const {
    return trainedHere.contains(parameter);
  }

  ir::ModelOp model;
  mlir::SymbolTable &modelSymbols;
  int64_t stage, runs, microBatches, inFlight;
  bool isAccumulationFused;
  bool addsUp;
  ascend::ProgramOp program;
  mlir::OpBuilder declarations, routines;
  /// Streams and statics are declared together at the beginning.
  mlir::Operation *lastDeclaration = nullptr;
  llvm::StringMap<mlir::Operation *> declared;
  llvm::StringSet<> trainedHere;
  llvm::SmallVector<ascend::StaticOp> gradients;
  llvm::SmallVector<ir::ParamOp> gathered, rounded;
  llvm::SmallVector<ascend::StaticOp> reports;
  llvm::StringMap<llvm::SmallVector<EarlyPrefetch>> earlyPrefetches;
  llvm::StringMap<RoutineParts> parts;
  llvm::StringMap<int64_t> launchCounts;
  llvm::StringMap<llvm::SmallVector<GradientPlace, 1>> gradientPlaces;
};

// Summing a gradient over ranks often needs only collectives. Then no routine
// is needed: the step issues them as soon as the gradient is complete,
// concurrently with the rest of backward.

/// A collective between two states of one parameter.
struct StateCollective {
  ir::EmittedCollective collective;
  ir::State input = ir::State::Accumulated, output = ir::State::Gradient;
};

/// Returns the collectives of `reduction`, in order. None if it needs anything
/// else, or if no routine of the program is known to add to the gradient.
std::optional<llvm::SmallVector<StateCollective>>
findPlainReduction(const ProgramBuilder &program,
                   ir::ReduceGradientOp reduction);

} // namespace mf::passes

#endif // MF_PASSES_LOWER_PROGRAMBUILDER_H
