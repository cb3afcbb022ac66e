//===- LowerToAscend.cpp - Schedules to ascend programs -------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/mf/Format.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"
#include "passes/lower/LowerFunctions.h"
#include "passes/lower/ProgramBuilder.h"
#include "passes/schedule/ModelChunks.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace mf::passes {

#define GEN_PASS_DEF_LOWERTOASCEND
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf;
using namespace mf::passes;

namespace {

/// Returns whether an operation only declares a buffer and has no place in the
/// routine's order.
bool isDeclaration(Operation *op) {
  return isa<ascend::SlotOp, ascend::GlobalOp, ascend::ViewOp, ascend::AllocOp>(
      op);
}

} // namespace

/// Follows a buffer to the temporary that it is a view of.
static Value getTemporary(Value buffer) {
  while (auto view = buffer.getDefiningOp<ascend::ViewOp>())
    buffer = view.getSource();
  return buffer.getDefiningOp<ascend::AllocOp>() ? buffer : Value();
}

namespace {

/// Finds the places to cut a routine at, and makes its parts.
class RoutineCutter {
public:
  RoutineCutter(ProgramBuilder &program, ascend::RoutineOp whole)
      : program(program), whole(whole) {}

  /// Returns false if there are less than two parts.
  bool findParts() {
    auto types = whole.getArgumentTypes();
    if (!llvm::all_of(whole.getBody().front(), canCut) ||
        llvm::any_of(types,
                     [](Type type) { return isa<ascend::EventType>(type); }))
      return false;
    for (Operation &op : whole.getBody().front()) {
      if (isDeclaration(&op))
        continue;
      if (auto wait = dyn_cast<ascend::WaitOp>(op)) {
        addWait(wait);
        continue;
      }
      parts.back().operations.push_back(&op);
      launches += isa<ascend::LaunchOp>(op);
      if (auto collective = dyn_cast<ascend::CollectiveOp>(op);
          collective && collective.getDone())
        pending.insert({collective.getDone(), {collective, launches}});
    }
    return parts.size() > 1;
  }

  RoutineParts build() {
    findPassed();
    RoutineParts result;
    for (Value temporary : passed)
      result.passed.push_back(temporary.getType());
    result.parts.resize(parts.size());
    Operation *last = whole;
    for (auto [number, made] : llvm::enumerate(result.parts)) {
      ascend::RoutineOp op = buildPart(number, made);
      op->moveAfter(last);
      last = op;
    }
    whole.erase();
    return result;
  }

private:
  /// The instructions of a part, in order.
  struct Part {
    SmallVector<Operation *> operations;
    llvm::SetVector<StringRef> streams;
    int64_t firstLaunch = 0;
  };
  /// A collective for whose end nothing has waited, and the launches before it.
  struct Pending {
    ascend::CollectiveOp op;
    int64_t launches;
  };

  /// Returns whether a routine may be cut before `op`. Exchanges of a routine
  /// run on streams of their own, and only the compute stream waits for them.
  static bool canCut(Operation &op) {
    if (auto collective = dyn_cast<ascend::CollectiveOp>(op))
      return !collective.getDone() ||
             llvm::all_of(collective.getDone().getUsers(), [](Operation *user) {
               return isa<ascend::WaitOp>(user);
             });
    return isDeclaration(&op) ||
           isa<ascend::LaunchOp, ascend::RecordOp, ascend::WaitOp>(op);
  }

  void addWait(ascend::WaitOp wait) {
    auto found = pending.find(wait.getEvent());
    if (found == pending.end()) {
      // The part has waited for a collective when it began.
      if (!wait.getEvent().getDefiningOp<ascend::CollectiveOp>())
        parts.back().operations.push_back(wait);
      return;
    }
    if (found->second.launches == launches)
      return cut();
    pending.erase(found);
    parts.back().operations.push_back(wait);
  }

  /// Begins the next part, which waits for all running collectives.
  void cut() {
    for (auto &[done, exchange] : pending) {
      parts.back().streams.insert(exchange.op.getStream());
      running.insert(exchange.op);
    }
    pending.clear();
    parts.emplace_back().firstLaunch = launches;
  }

  /// Finds the temporaries that several parts use, and those of exchanges that
  /// continue after the end of a part.
  void findPassed() {
    for (auto [number, part] : llvm::enumerate(parts))
      for (Operation *op : part.operations) {
        for (Value operand : op->getOperands()) {
          Value temporary = getTemporary(operand);
          if (!temporary)
            continue;
          auto [first, isNew] = firstUses.try_emplace(temporary, number);
          if (running.contains(op) || first->second != number)
            passed.insert(temporary);
        }
      }
  }

  ascend::RoutineOp buildPart(size_t number, RoutinePart &made) {
    made.name = whole.getSymName().str();
    if (number > 0)
      made.name += ".part" + std::to_string(number);
    made.streams.assign(parts[number].streams.begin(),
                        parts[number].streams.end());
    made.firstLaunch = parts[number].firstLaunch;
    ascend::RoutineOp op = program.createRoutine(
        made.name, whole.getArgumentTypes(), whole.getLayoutAttr());
    op->setLoc(whole.getLoc());
    op.setContinues(number > 0);
    Block &body = op.getBody().front();
    IRMapping mapping;
    mapping.map(whole.getBody().front().getArguments(), body.getArguments());
    OpBuilder builder = OpBuilder::atBlockEnd(&body);
    for (Operation *instruction : parts[number].operations) {
      for (Value operand : instruction->getOperands())
        get(operand, body, made, mapping, builder);
      builder.clone(*instruction, mapping);
    }
    op.setFunctionType(
        FunctionType::get(program.getContext(), body.getArgumentTypes(), {}));
    return op;
  }

  /// Returns the value in a part that replaces a value of the whole routine.
  Value get(Value value, Block &body, RoutinePart &made, IRMapping &mapping,
            OpBuilder &builder) {
    if (Value known = mapping.lookupOrNull(value))
      return known;
    Value result;
    if (auto *number = llvm::find(passed, value); number != passed.end()) {
      made.passed.push_back(number - passed.begin());
      result = body.addArgument(value.getType(), value.getLoc());
    } else {
      Operation *op = value.getDefiningOp();
      for (Value operand : op->getOperands())
        get(operand, body, made, mapping, builder);
      result = builder.clone(*op, mapping)->getResult(0);
    }
    mapping.map(value, result);
    return result;
  }

  ProgramBuilder &program;
  ascend::RoutineOp whole;
  std::vector<Part> parts = std::vector<Part>(1);
  /// The collectives for which nothing has waited yet, by the event of their
  /// end.
  llvm::MapVector<Value, Pending> pending;
  int64_t launches = 0;
  /// The collectives that continue after the end of their parts.
  DenseSet<Operation *> running;
  /// For each temporary, the first part that uses it.
  DenseMap<Value, size_t> firstUses;
  llvm::SetVector<Value> passed;
};

} // namespace

/// Cuts a routine at each wait of the compute stream for an exchange during
/// which the routine launches nothing. The first part gets the name and place
/// of the routine, and the others follow it. Returns none if there is no such
/// wait, or if the routine copies between device and host, because the distance
/// of a copy counts launches of whole routines.
static std::optional<RoutineParts> cutRoutine(ProgramBuilder &program,
                                              ascend::RoutineOp whole) {
  RoutineCutter cutter(program, whole);
  if (!cutter.findParts())
    return std::nullopt;
  return cutter.build();
}

/// Returns the function of a run, and whether the next run is in the same slot.
/// The name is empty for other operations.
static std::pair<StringRef, bool> getFunction(Operation &task) {
  if (auto run = dyn_cast<ir::RunForwardOp>(task))
    return {run.getForward(), run.getPaired()};
  if (auto run = dyn_cast<ir::RunBackwardOp>(task))
    return {run.getBackward(), run.getPaired()};
  if (auto run = dyn_cast<ir::RunBackwardWeightsOp>(task))
    return {run.getWeights(), false};
  return {};
}

/// Cuts the routines that a schedule runs in slots of several tasks.
static void cutPairedRoutines(ProgramBuilder &program,
                              ir::ScheduleOp schedule) {
  llvm::SetVector<StringRef> paired;
  bool isJoined = false;
  for (Operation &task : schedule.getBody().front()) {
    auto [function, isPaired] = getFunction(task);
    if (function.empty())
      continue;
    if (isJoined || isPaired)
      paired.insert(function);
    isJoined = isPaired;
  }
  auto routines = program.getProgram().getBody().getOps<ascend::RoutineOp>();
  for (ascend::RoutineOp routine : llvm::make_early_inc_range(routines)) {
    const std::string name = routine.getSymName().str();
    if (!paired.contains(name))
      continue;
    const Location loc = routine.getLoc();
    std::optional<RoutineParts> parts = cutRoutine(program, routine);
    remark::passed(loc,
                   remark::RemarkOpts::name("Parts").category("lower").function(
                       program.getProgram().getSymName()))
        << remark::add("{0} takes turns with the runs that share its slots",
                       name)
        << remark::metric("parts", parts ? parts->parts.size() : 1);
    if (parts)
      program.setParts(name, std::move(*parts));
  }
}

namespace {

/// Emits a remark on the contents of a stage's program.
void emitRemark(ascend::ProgramOp program) {
  Region &body = program.getBody();
  int64_t launches = 0;
  for (auto routine : body.getOps<ascend::RoutineOp>())
    launches += static_cast<int64_t>(
        llvm::range_size(routine.getBody().getOps<ascend::LaunchOp>()));
  int64_t bytes = 0;
  for (auto buffer : body.getOps<ascend::StaticOp>())
    if (auto type = cast<ascend::BufferType>(buffer.getType());
        type.getSpace() == ascend::Space::Hbm)
      bytes += type.getBytes();
  remark::passed(program.getLoc(),
                 remark::RemarkOpts::name("Program").category("lower").function(
                     program.getSymName()))
      << remark::add("stage {0} has a program", program.getStage())
      << remark::metric("routines",
                        llvm::range_size(body.getOps<ascend::RoutineOp>()))
      << remark::metric("launches", launches)
      << remark::metric("streams",
                        llvm::range_size(body.getOps<ascend::StreamOp>()))
      << remark::metric("static bytes", bytes);
}

LogicalResult lowerSchedule(ir::ModelOp model, SymbolTable &symbols,
                            ModelChunks &chunks, ir::ScheduleOp schedule,
                            int64_t inFlight, bool fusesAccumulation) {
  ProgramBuilder program(model, symbols, schedule, inFlight, fusesAccumulation);
  SmallVector<ChunkFunctions> here;
  SmallVector<ir::ForwardOp> firstVersions;
  auto add = [&](ArrayRef<ChunkFunctions> functions, bool isFirst) {
    for (auto [number, chunk] : llvm::enumerate(functions)) {
      if (!chunk.forward ||
          chunks.getStage(static_cast<int64_t>(number) %
                          chunks.pipeline.getNumChunks()) != program.getStage())
        continue;
      here.push_back(chunk);
      firstVersions.push_back(isFirst ? ir::ForwardOp()
                                      : chunks.chunks[number].forward);
    }
  };
  add(chunks.chunks, /*isFirst=*/true);
  add(chunks.keeping, /*isFirst=*/false);
  for (auto [chunk, first] : llvm::zip_equal(here, firstVersions)) {
    auto addsLoss =
        llvm::map_to_vector(chunk.forward.getOutputTypes(), ir::isLoss);
    if (failed(lowerForward(program, chunk, first, addsLoss)))
      return failure();
  }
  for (ChunkFunctions &chunk : here)
    if (chunk.recompute && failed(lowerRecompute(program, chunk)))
      return failure();
  for (ChunkFunctions &chunk : here)
    if (chunk.backward && failed(lowerBackward(program, chunk)))
      return failure();
  for (ChunkFunctions &chunk : here)
    if (chunk.weights && failed(lowerBackwardWeights(program, chunk)))
      return failure();
  for (auto update : model.getBody().getOps<ir::UpdateOp>())
    if (static_cast<int64_t>(update.getStage()) == program.getStage() &&
        failed(lowerUpdate(program, update)))
      return failure();
  cutPairedRoutines(program, schedule);
  return buildStep(program, schedule);
}

/// Gives the module a mesh of one rank per stage if it has none.
LogicalResult setMesh(ModuleOp module, ir::ModelOp model, int64_t stages) {
  ir::MeshAttr mesh = ir::MeshAttr::find(module);
  if (!mesh) {
    MLIRContext *context = module.getContext();
    module->setAttr(
        ir::MeshAttr::attributeName,
        ir::MeshAttr::get(context, StringAttr::get(context, "pp"), stages));
    return success();
  }
  if (mesh.getSize("pp") == stages)
    return success();
  return model.emitOpError("has ")
         << stages << " stages, but the module's mesh is " << mesh;
}

struct LowerToAscendPass
    : mf::passes::impl::LowerToAscendBase<LowerToAscendPass> {
  using LowerToAscendBase::LowerToAscendBase;

  void runOnOperation() override {
    for (ir::ModelOp model :
         llvm::make_early_inc_range(getOperation().getOps<ir::ModelOp>())) {
      if (failed(mf::passes::checkTraining(model)))
        return signalPassFailure();
      int64_t stages = model.getTrainingAttr().getParallel().getStages();
      FailureOr<ModelChunks> chunks = readChunks(model);
      if (failed(setMesh(getOperation(), model, stages)) || failed(chunks) ||
          failed(verifySchedules(model, *chunks)))
        return signalPassFailure();
      ir::setFormat(getOperation());
      SymbolTable symbols(model);
      int64_t lowered = 0;
      for (auto schedule : model.getBody().getOps<ir::ScheduleOp>()) {
        if (failed(lowerSchedule(model, symbols, *chunks, schedule, inFlight,
                                 fuseAccumulation)))
          return signalPassFailure();
        ++lowered;
      }
      if (lowered != stages) {
        model.emitOpError("expected one schedule per stage, but has ")
            << lowered << " for " << stages << " stages";
        return signalPassFailure();
      }
      model.erase();
    }
    for (auto program : getOperation().getOps<ascend::ProgramOp>())
      emitRemark(program);
  }
};

} // namespace
