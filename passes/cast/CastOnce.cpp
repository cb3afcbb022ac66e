//===- CastOnce.cpp - Parameters converted once per step ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/ascend/AscendDialect.h"
#include "mf/Program/Signatures/KernelSignature.h"
#include "mlir/IR/Remarks.h"
#include "passes/Passes.h"
#include "passes/PrintedPlan.h"
#include "passes/lower/ProgramBuilder.h"
#include "passes/plan-memory/MemoryLimit.h"
#include "passes/plan-memory/StageProblem.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace mf::passes {
#define GEN_PASS_DEF_CASTONCE
#include "passes/Passes.h.inc"
} // namespace mf::passes

using namespace mlir;
using namespace mf;
using namespace mf::passes;

namespace {

/// The launches that convert one parameter to one type, into temporaries.
struct ParameterCasts {
  ascend::StaticOp parameter;
  ascend::BufferType converted;
  llvm::SmallVector<ascend::LaunchOp> launches;
  /// How often they run in a step.
  int64_t runs = 0;

  /// Returns the bytes of a copy.
  int64_t getBytesKept() { return converted.getBytes(); }
  /// Returns the bytes that all conversions but one read and write.
  int64_t getBytesSaved() {
    return (runs - 1) *
           (getBytesKept() +
            cast<ascend::BufferType>(parameter.getType()).getBytes());
  }
};

/// The parameters that get a copy. A copy uses memory until its last reader in
/// the step, and saves all conversions but one.
struct CastPlan {
  /// Their indices, in ascending order.
  std::vector<size_t> copied;
  int64_t castsSaved = 0;
  int64_t bytesSaved = 0;
  int64_t bytesKept = 0;
  /// The number of parameters that are converted several times but get no copy
  /// for lack of memory.
  int64_t withoutRoom = 0;
};

} // namespace

//===----------------------------------------------------------------------===//
// Launches that convert parameters
//===----------------------------------------------------------------------===//

static ascend::StepOp getStep(ascend::ProgramOp program) {
  auto steps = program.getBody().getOps<ascend::StepOp>();
  return steps.empty() ? ascend::StepOp() : *steps.begin();
}

/// Counts how often a step calls each routine before parameters change.
static llvm::StringMap<int64_t> countRuns(ascend::ProgramOp program) {
  llvm::StringSet<> updating;
  for (auto routine : program.getBody().getOps<ascend::RoutineOp>())
    if (routine.getUpdatesParameters())
      updating.insert(routine.getSymName());
  llvm::StringMap<int64_t> runs;
  bool isUpdated = false;
  for (auto call : getStep(program).getBody().getOps<ascend::CallOp>()) {
    isUpdated |= updating.contains(call.getRoutine());
    int64_t &count = runs[call.getRoutine()];
    // Conversions after an update read other values.
    if (isUpdated)
      count = -1;
    else if (count >= 0)
      ++count;
  }
  return runs;
}

/// Returns the parameter that `launch` converts to a temporary; null for any
/// other launch.
static ascend::GlobalOp getConverted(ascend::LaunchOp launch) {
  const KernelSignature *signature = findKernelSignature(launch.getKernel());
  if (!signature || signature->kind != "cast" ||
      launch.getInputs().size() != 1 || launch.getOutputs().size() != 1 ||
      !launch.getOutputs().front().getDefiningOp<ascend::AllocOp>())
    return {};
  return launch.getInputs().front().getDefiningOp<ascend::GlobalOp>();
}

/// Returns whether only `writer` writes `buffer` or a view of it.
static bool isOnlyWriter(ascend::LaunchOp writer, Value buffer) {
  return llvm::all_of(buffer.getUsers(), [&](Operation *user) {
    if (user == writer)
      return true;
    if (auto view = dyn_cast<ascend::ViewOp>(user))
      return isOnlyWriter(writer, view.getResult());
    auto reader = dyn_cast<ascend::InstructionOpInterface>(user);
    if (!reader)
      return false;
    SmallVector<ascend::BufferAccess> accesses;
    reader.getAccesses(accesses);
    return llvm::all_of(accesses, [&](const ascend::BufferAccess &access) {
      return access.buffer != buffer || access.access == Access::In;
    });
  });
}

/// Returns the conversions of parameters by routines that run before parameters
/// are updated, in the order of the program. For each parameter, only
/// conversions to the first type are returned.
static std::vector<ParameterCasts>
findParameterCasts(ascend::ProgramOp program) {
  std::vector<ParameterCasts> found;
  if (!getStep(program))
    return found;
  SymbolTable symbols(program);
  llvm::MapVector<Operation *, ParameterCasts> casts;
  llvm::StringMap<int64_t> runs = countRuns(program);
  for (auto routine : program.getBody().getOps<ascend::RoutineOp>()) {
    const int64_t count = runs.lookup(routine.getSymName());
    if (count < 1)
      continue;
    for (auto launch : routine.getBody().getOps<ascend::LaunchOp>()) {
      ascend::GlobalOp global = getConverted(launch);
      if (!global || !isOnlyWriter(launch, launch.getOutputs().front()))
        continue;
      auto parameter = symbols.lookup<ascend::StaticOp>(global.getBuffer());
      auto type =
          cast<ascend::BufferType>(launch.getOutputs().front().getType());
      if (!parameter || parameter.getRole() != ascend::Role::Parameter)
        continue;
      ParameterCasts &entry = casts[parameter];
      if (entry.launches.empty())
        entry = {parameter, type, {}, 0};
      if (entry.converted != type)
        continue;
      entry.launches.push_back(launch);
      entry.runs += count;
    }
  }
  for (auto &[parameter, entry] : casts)
    found.push_back(std::move(entry));
  return found;
}

//===----------------------------------------------------------------------===//
// Choice of copies
//===----------------------------------------------------------------------===//

/// Compares exactly: the bytes of a step may have more digits than a double.
static bool isWorthMore(ParameterCasts &a, ParameterCasts &b) {
  return static_cast<__int128>(a.getBytesSaved()) * b.getBytesKept() >
         static_cast<__int128>(b.getBytesSaved()) * a.getBytesKept();
}

/// Chooses copies in descending order of bytes saved per byte kept, ties in
/// their order, until `room` bytes are used; all copies if there is no limit. A
/// copy that does not fit is skipped, so that smaller ones may still fit. A
/// parameter that is converted once gets none.
static CastPlan planCasts(MutableArrayRef<ParameterCasts> casts,
                          std::optional<int64_t> room) {
  std::vector<size_t> order;
  for (auto [index, entry] : llvm::enumerate(casts))
    if (entry.runs > 1)
      order.push_back(index);
  llvm::sort(order, [&](size_t a, size_t b) {
    const bool isMore = isWorthMore(casts[a], casts[b]);
    const bool isLess = isWorthMore(casts[b], casts[a]);
    return isMore || (!isLess && a < b);
  });
  CastPlan plan;
  for (size_t index : order) {
    ParameterCasts &entry = casts[index];
    if (room && plan.bytesKept + entry.getBytesKept() > *room) {
      ++plan.withoutRoom;
      continue;
    }
    plan.copied.push_back(index);
    plan.castsSaved += entry.runs - 1;
    plan.bytesSaved += entry.getBytesSaved();
    plan.bytesKept += entry.getBytesKept();
  }
  llvm::sort(plan.copied);
  return plan;
}

static void print(MutableArrayRef<ParameterCasts> casts, const CastPlan &plan,
                  raw_ostream &os) {
  for (auto [index, entry] : llvm::enumerate(casts)) {
    os << entry.parameter.getSymName() << ": " << entry.runs
       << (entry.runs == 1 ? " conversion" : " conversions");
    if (llvm::is_contained(plan.copied, index))
      os << ", once with a copy of " << entry.getBytesKept() << " bytes";
    else if (entry.runs > 1)
      os << ", no room for a copy of " << entry.getBytesKept() << " bytes";
    os << '\n';
  }
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Returns, for each changed routine, the numbers of its launches after some
/// are removed. A removed launch gets the number of the launch before it, or
/// that of the first launch.
static llvm::StringMap<SmallVector<int64_t>>
getNumbersWithout(ascend::ProgramOp program,
                  const llvm::DenseSet<Operation *> &removed) {
  llvm::StringMap<SmallVector<int64_t>> numbers;
  for (auto routine : program.getBody().getOps<ascend::RoutineOp>()) {
    SmallVector<int64_t> own = {0};
    int64_t left = 0;
    bool isChanged = false;
    for (auto launch : routine.getBody().getOps<ascend::LaunchOp>()) {
      const bool isLeft = !removed.contains(launch);
      left += isLeft;
      isChanged |= !isLeft;
      own.push_back(std::max<int64_t>(left, 1));
    }
    if (isChanged)
      numbers[routine.getSymName()] = std::move(own);
  }
  return numbers;
}

/// Returns the routine that runs first in each step.
static ascend::RoutineOp getBegin(ascend::ProgramOp program) {
  for (auto routine : program.getBody().getOps<ascend::RoutineOp>())
    if (routine.getSymName() == names::begin)
      return routine;
  ascend::StepOp step = getStep(program);
  OpBuilder builder(step);
  auto routine = ascend::RoutineOp::create(
      builder, program.getLoc(), builder.getStringAttr(names::begin),
      TypeAttr::get(builder.getFunctionType({}, {})), FlatSymbolRefAttr(),
      UnitAttr(), UnitAttr(), UnitAttr(), ArrayAttr(), ArrayAttr());
  routine.getBody().emplaceBlock();
  builder.setInsertionPoint(*step.getBody().getOps<ascend::CallOp>().begin());
  ascend::CallOp::create(
      builder, program.getLoc(), TypeRange(),
      FlatSymbolRefAttr::get(builder.getContext(), names::begin), ValueRange(),
      Value(), IntegerAttr(), IntegerAttr(), DenseI64ArrayAttr(), ValueRange());
  return routine;
}

/// Returns a position before the waits for collectives, so that conversions and
/// collectives run concurrently.
static OpBuilder getPlaceInBegin(ascend::RoutineOp begin) {
  Block &body = begin.getBody().front();
  auto waits = body.getOps<ascend::WaitOp>();
  return waits.empty() ? OpBuilder::atBlockEnd(&body)
                       : OpBuilder(*waits.begin());
}

static ascend::StaticOp createCopy(ParameterCasts &casts) {
  ascend::StaticOp parameter = casts.parameter;
  OpBuilder builder(parameter);
  builder.setInsertionPointAfter(parameter);
  return ascend::StaticOp::create(
      builder, parameter.getLoc(),
      builder.getStringAttr("cast." + parameter.getSymName()),
      TypeAttr::get(casts.converted),
      ascend::RoleAttr::get(builder.getContext(), ascend::Role::Gathered),
      parameter.getOfAttr(), /*init=*/Attribute(),
      /*tied=*/FlatSymbolRefAttr(), parameter.getSliceAttr(), IntegerAttr());
}

static void copyInBegin(OpBuilder &builder, ParameterCasts &casts,
                        ascend::StaticOp copy) {
  ascend::LaunchOp first = casts.launches.front();
  Location loc = first.getLoc();
  auto from = ascend::GlobalOp::create(builder, loc, casts.parameter.getType(),
                                       casts.parameter.getSymName());
  auto to =
      ascend::GlobalOp::create(builder, loc, copy.getType(), copy.getSymName());
  ascend::LaunchOp::create(
      builder, loc, first.getKernelAttr(), ValueRange(from), ValueRange(to),
      Value(), first.getKernelAttributesAttr(), first.getCellAttr());
}

static void readCopy(ascend::LaunchOp launch, ascend::StaticOp copy) {
  Operation *temporary = launch.getOutputs().front().getDefiningOp();
  OpBuilder builder(temporary);
  auto global = ascend::GlobalOp::create(builder, launch.getLoc(),
                                         copy.getType(), copy.getSymName());
  Operation *parameter = launch.getInputs().front().getDefiningOp();
  launch.erase();
  temporary->replaceAllUsesWith(ValueRange(global));
  temporary->erase();
  if (parameter->use_empty())
    parameter->erase();
}

/// Replaces launches by copies that are made at the start of the step. Their
/// readers read the copies, which are statics.
static void convertOnce(ascend::ProgramOp program,
                        MutableArrayRef<ParameterCasts> casts) {
  if (casts.empty())
    return;
  llvm::DenseSet<Operation *> launches;
  for (const ParameterCasts &entry : casts)
    launches.insert(entry.launches.begin(), entry.launches.end());
  const auto numbers = getNumbersWithout(program, launches);
  for (auto call : llvm::make_early_inc_range(
           getStep(program).getBody().getOps<ascend::CallOp>()))
    if (auto found = numbers.find(call.getRoutine()); found != numbers.end())
      ascend::renumberRecords(call, found->second);
  OpBuilder begin = getPlaceInBegin(getBegin(program));
  for (ParameterCasts &entry : casts) {
    ascend::StaticOp copy = createCopy(entry);
    copyInBegin(begin, entry, copy);
    for (ascend::LaunchOp launch : entry.launches)
      readCopy(launch, copy);
  }
}

namespace {

/// The fraction of the free memory that copies may use. The margin lets the
/// planner find offsets for all buffers, because arenas are slightly larger
/// than the live bytes.
constexpr double usableShare = 0.99;

struct CastOncePass
    : mf::passes::PrintingPass<mf::passes::impl::CastOnceBase<CastOncePass>> {
  using PrintingPass::PrintingPass;

  void runOnOperation() override {
    // Without --cast-once the pass only reports what it would do.
    if (!apply && !printPlan && !getContext().getRemarkEngine())
      return;
    ascend::ProgramOp program = getOperation();
    std::vector<ParameterCasts> casts = findParameterCasts(program);
    if (casts.empty())
      return;
    std::optional<int64_t> room;
    if (apply && failed(getRoom(program, room)))
      return signalPassFailure();
    const CastPlan plan = planCasts(casts, room);
    if (printPlan)
      print(casts, plan, PrintedPlan(program).os());
    emitRemark(program, plan);
    if (!apply)
      return;
    std::vector<ParameterCasts> chosen;
    for (size_t index : plan.copied)
      chosen.push_back(casts[index]);
    convertOnce(program, chosen);
  }

private:
  /// Returns the memory between the stage's peak and its limit; none without a
  /// limit.
  LogicalResult getRoom(ascend::ProgramOp program,
                        std::optional<int64_t> &room) {
    FailureOr<std::optional<int64_t>> limit = getMemoryLimit(program, hbm);
    if (failed(limit))
      return failure();
    if (!*limit)
      return success();
    FailureOr<program::UnplannedStage> decoded =
        program::decodeUnplanned(program);
    if (failed(decoded))
      return failure();
    StageProblem stage(*decoded);
    // ascend-plan-memory reports the error.
    if (stage.getBrokenSlot())
      return success();
    if (llvm::Error error = stage.getDevice().check()) {
      llvm::consumeError(std::move(error));
      return success();
    }
    const auto usable =
        static_cast<int64_t>(static_cast<double>(**limit) * usableShare);
    room = std::max<int64_t>(usable - stage.getDevice().maxLive().bytes, 0);
    return success();
  }

  void emitRemark(ascend::ProgramOp program, const CastPlan &plan) {
    if (plan.castsSaved == 0 && plan.withoutRoom == 0)
      return;
    remark::RemarkOpts options = remark::RemarkOpts::name("CastOnce")
                                     .category("cast")
                                     .function(program.getSymName());
    const auto copied = static_cast<int64_t>(plan.copied.size());
    auto add = [&](auto &&remark) {
      remark << remark::metric("parameters", copied)
             << remark::metric("conversions saved", plan.castsSaved)
             << remark::metric("bytes kept", plan.bytesKept)
             << remark::metric("bytes not moved", plan.bytesSaved);
      if (plan.withoutRoom > 0)
        remark << remark::metric("parameters without room", plan.withoutRoom);
    };
    if (!apply)
      return add(remark::missed(program.getLoc(), options) << remark::add(
                     "stage {0} converts parameters wherever they are read; "
                     "cast-once would save",
                     program.getStage()));
    if (copied == 0)
      return add(remark::missed(program.getLoc(), options) << remark::add(
                     "stage {0} has no memory left for converted parameters",
                     program.getStage()));
    add(remark::passed(program.getLoc(), options) << remark::add(
            "stage {0} converts parameters once per step", program.getStage()));
  }
};

} // namespace
