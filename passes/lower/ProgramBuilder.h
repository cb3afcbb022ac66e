//===- ProgramBuilder.h - One stage's ascend program -----------*- C++ -*-===//
//
// The program under construction: its streams, static buffers and routines.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_LOWER_PROGRAMBUILDER_H
#define MF_PASSES_LOWER_PROGRAMBUILDER_H

#include "dialects/ascend/AscendDialect.h"
#include "dialects/mf/MfOps.h"
#include "llvm/ADT/StringMap.h"

namespace mf::passes {

/// The name of the static that holds a rank's number in the group of ranks that
/// differ in their coordinates on `axes`, in whatever order these are.
std::string getCoordinateName(mlir::Operation *op, mlir::ArrayAttr axes);

/// Names that lowering gives to streams, routines and buffers.
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
/// routine takes the buffer as one of its last buffers, and the event of the
/// copy's end as one of its events, both in the order of these.
struct EarlyPrefetch {
  /// Index of the slot in the frame, in host memory.
  int64_t slot = 0;
  /// Kernels between the copy's start and that of the routine.
  int64_t ahead = 0;
  ascend::BufferType type;
};

/// Where a routine has added all that it adds to a gradient: behind `launches`.
struct GradientPlace {
  std::string routine;
  int64_t launches = 0;
};

/// Makes the `ascend.program` of one stage and what its routines share.
class ProgramBuilder {
public:
  ProgramBuilder(ir::ModelOp model, mlir::SymbolTable &modelSymbols,
                 ir::ScheduleOp schedule, int64_t inFlight,
                 bool fusesAccumulation);

  ascend::ProgramOp getProgram() { return program; }
  ir::ModelOp getModel() { return model; }
  int64_t getStage() const { return stage; }
  /// Runs of each chunk in a step.
  int64_t getRuns() const { return runs; }
  /// The number of micro-batches that a step reads: a run has one for each copy
  /// of the model.
  int64_t getMicroBatches() const { return microBatches; }
  /// Collectives of parameters that a routine has in flight at most.
  int64_t getInFlight() const { return inFlight; }
  /// Whether gradients are added to accumulators of a wider type as they are.
  bool fusesAccumulation() const { return isAccumulationFused; }
  /// Whether several backwards add to each gradient.
  bool addsGradients() const { return addsUp; }
  mlir::MLIRContext *getContext() { return model.getContext(); }

  /// Buffer type of a tensor type.
  ascend::BufferType getBufferType(mlir::Type tensor,
                                   ascend::Space space = ascend::Space::Hbm);

  /// Buffer type of an fp32 scalar on the device.
  ascend::BufferType getScalarType();

  /// Makes sure that a stream is declared.
  llvm::StringRef getStream(llvm::StringRef name, ascend::StreamKind kind);

  /// The static buffer that holds a parameter's state. A parameter tied to one
  /// of the same stage shares its value.
  ascend::StaticOp getState(ir::State state, llvm::StringRef parameter);

  /// A static buffer of this name, made with `type`, `role` and `init` if new.
  ascend::StaticOp getStatic(llvm::StringRef name, ascend::BufferType type,
                             ascend::Role role, llvm::StringRef of = {},
                             mlir::Attribute init = {},
                             llvm::StringRef tied = {},
                             ascend::SliceAttr slice = {});

  /// The static buffer that holds a rank's number among those that differ in
  /// their coordinates on `axes` alone.
  ascend::StaticOp getCoordinate(mlir::ArrayAttr axes);

  /// Whether only the last micro-batch's value for a parameter counts.
  bool keepsLast(llvm::StringRef parameter);
  /// The device tensor of a quantity that the host reads after each step.
  ascend::StaticOp getReport(llvm::StringRef quantity,
                             mlir::RankedTensorType type);
  /// The quantities reported so far, in order.
  llvm::ArrayRef<ascend::StaticOp> getReports() const { return reports; }

  /// The gradients that this stage's backward functions add to.
  llvm::ArrayRef<ascend::StaticOp> getGradients() const { return gradients; }
  /// The parameters that its routines read as the step's begin gathers them, in
  /// the model's order.
  llvm::SmallVector<ir::ParamOp> getGathered() const;

  /// Says that a routine adds to the gradient of a parameter.
  void addGradientPlace(llvm::StringRef parameter, GradientPlace place) {
    gradientPlaces[parameter].push_back(std::move(place));
  }
  /// Where routines do, in the order in which they were lowered. Each piece of
  /// the sequence has a routine of its own.
  llvm::ArrayRef<GradientPlace>
  getGradientPlaces(llvm::StringRef parameter) const {
    auto found = gradientPlaces.find(parameter);
    if (found == gradientPlaces.end())
      return {};
    return found->second;
  }

  bool hasRoutine(llvm::StringRef name);
  /// Makes an empty routine behind those made before.
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

  /// Launches of a routine that is complete.
  int64_t countLaunches(llvm::StringRef routine);

private:
  ascend::StaticOp getAccumulated(ir::ParamOp param);
  ascend::StaticOp getGathered(ir::ParamOp param);
  /// Moves `op` behind the declaration before it.
  mlir::Operation *declare(mlir::Operation *op);
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
  /// Streams and statics stand together at the beginning.
  mlir::Operation *lastDeclaration = nullptr;
  llvm::StringMap<mlir::Operation *> declared;
  llvm::StringMap<bool> trainedHere;
  llvm::SmallVector<ascend::StaticOp> gradients;
  llvm::SmallVector<ir::ParamOp> gathered;
  llvm::SmallVector<ascend::StaticOp> reports;
  llvm::StringMap<llvm::SmallVector<EarlyPrefetch>> earlyPrefetches;
  llvm::StringMap<int64_t> launchCounts;
  llvm::StringMap<llvm::SmallVector<GradientPlace, 1>> gradientPlaces;
};

} // namespace mf::passes

#endif // MF_PASSES_LOWER_PROGRAMBUILDER_H
