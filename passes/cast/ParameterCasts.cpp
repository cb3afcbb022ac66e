//===- ParameterCasts.cpp - Conversions of a program ----------------------===//

#include "passes/cast/ParameterCasts.h"
#include "mf/Program/Signatures/KernelSignature.h"
#include "passes/lower/ProgramBuilder.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mf;
using namespace mf::passes;

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

std::vector<ParameterCasts>
mf::passes::findParameterCasts(ascend::ProgramOp program) {
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
// Copies
//===----------------------------------------------------------------------===//

/// The numbers, from 1, of launches that were removed from each routine.
using DroppedLaunches = llvm::StringMap<SmallVector<int64_t>>;

static DroppedLaunches getDropped(ascend::ProgramOp program,
                                  const llvm::DenseSet<Operation *> &launches) {
  DroppedLaunches dropped;
  for (auto routine : program.getBody().getOps<ascend::RoutineOp>()) {
    int64_t number = 0;
    for (auto launch : routine.getBody().getOps<ascend::LaunchOp>()) {
      ++number;
      if (launches.contains(launch))
        dropped[routine.getSymName()].push_back(number);
    }
  }
  return dropped;
}

/// Renumbers the launches after which `call` records its events. Events that
/// become equal are merged.
static void renumberRecords(ascend::CallOp call, ArrayRef<int64_t> dropped) {
  ArrayRef<int64_t> records = call.getRecords().value_or(ArrayRef<int64_t>());
  if (records.empty())
    return;
  SmallVector<int64_t> numbers;
  SmallVector<size_t> places;
  for (int64_t record : records) {
    const int64_t before = llvm::upper_bound(dropped, record) - dropped.begin();
    // If no launch before it is left, the event is recorded after the first
    // launch.
    const int64_t number = std::max<int64_t>(record - before, 1);
    if (numbers.empty() || numbers.back() != number)
      numbers.push_back(number);
    places.push_back(numbers.size() - 1);
  }
  OpBuilder builder(call);
  SmallVector<Type> types(numbers.size(),
                          ascend::EventType::get(call.getContext()));
  auto renumbered = ascend::CallOp::create(
      builder, call.getLoc(), types, call.getRoutineAttr(), call.getArguments(),
      call.getFrame(), call.getMicroBatchAttr(), call.getScratchOffsetAttr(),
      builder.getDenseI64ArrayAttr(numbers), call.getAfter());
  for (auto [event, place] : llvm::zip_equal(call.getEvents(), places))
    event.replaceAllUsesWith(renumbered.getEvents()[place]);
  call.erase();
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

void mf::passes::convertOnce(ascend::ProgramOp program,
                             MutableArrayRef<ParameterCasts> casts) {
  if (casts.empty())
    return;
  llvm::DenseSet<Operation *> launches;
  for (const ParameterCasts &entry : casts)
    launches.insert(entry.launches.begin(), entry.launches.end());
  DroppedLaunches dropped = getDropped(program, launches);
  for (auto call : llvm::make_early_inc_range(
           getStep(program).getBody().getOps<ascend::CallOp>()))
    if (auto found = dropped.find(call.getRoutine()); found != dropped.end())
      renumberRecords(call, found->second);
  OpBuilder begin = getPlaceInBegin(getBegin(program));
  for (ParameterCasts &entry : casts) {
    ascend::StaticOp copy = createCopy(entry);
    copyInBegin(begin, entry, copy);
    for (ascend::LaunchOp launch : entry.launches)
      readCopy(launch, copy);
  }
}
