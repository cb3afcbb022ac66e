//===- StageReport.cpp - Costs of a planned program -----------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/plan-memory/StageReport.h"
#include "dialects/mf/CellName.h"
#include "dialects/mf/MfDialect.h"
#include "mf/Decode/Attributes.h"
#include "mf/Perf/Simulator/TokenRouting.h"
#include "mf/Program/Program.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace mf;
using mf::passes::ExchangeKind;
using mf::passes::LayoutReport;
using mf::passes::StageReport;

//===----------------------------------------------------------------------===//
// Counting
//===----------------------------------------------------------------------===//

static void addStatics(ascend::ProgramOp program, StageReport &report) {
  for (auto buffer : program.getBody().getOps<ascend::StaticOp>()) {
    auto type = cast<ascend::BufferType>(buffer.getType());
    if (buffer.getRole() == ascend::Role::Parameter && !buffer.getTied())
      report.parameters += type.getTensor().getNumElements();
    if (type.getSpace() == ascend::Space::Hbm)
      report.statics[buffer.getRole()] += type.getBytes();
  }
}

/// Adds the slots of a layout that are in `space`, if there are any.
static void addSlots(ascend::FrameLayoutOp layout, ascend::Space space,
                     StageReport &report) {
  LayoutReport slots;
  slots.name = layout.getSymName();
  slots.isHost = space == ascend::Space::Host;
  for (auto [slot, name] :
       llvm::zip(layout.getTypes().getAsValueRange<TypeAttr>(),
                 layout.getNames().getAsValueRange<StringAttr>())) {
    auto type = cast<ascend::BufferType>(slot);
    if (type.getSpace() != space)
      continue;
    slots.layers[ir::getLayerOfCell(name)] += type.getBytes();
    slots.total += type.getBytes();
  }
  if (!slots.layers.empty())
    report.layouts.push_back(std::move(slots));
}

/// Returns the axes in the mesh's order.
static std::string getAxes(ascend::GroupAttr group, ir::MeshAttr mesh) {
  SmallVector<StringRef> axes;
  for (StringAttr axis : group.getAxes())
    axes.push_back(axis.getValue());
  auto getPlace = [&](StringRef name) {
    return llvm::find_if(mesh.getAxes(), [&](StringAttr axis) {
      return axis.getValue() == name;
    });
  };
  // No two axes have the same position.
  if (mesh)
    llvm::sort(axes, [&](StringRef a, StringRef b) {
      return getPlace(a) < getPlace(b);
    });
  return llvm::join(axes, ", ");
}

static ExchangeKind describe(const ascend::ExchangeRecord &exchange,
                             ArrayRef<ascend::BufferAccess> accesses,
                             ir::MeshAttr mesh) {
  ExchangeKind kind;
  for (const ascend::BufferAccess &access : accesses)
    kind.bytes = std::max<int64_t>(
        kind.bytes,
        cast<ascend::BufferType>(access.buffer.getType()).getBytes());
  if (!exchange.group) {
    ascend::PeerAttr peer = exchange.peer;
    kind.kind = exchange.isSend ? "send" : "receive";
    kind.ranks = peer.getAxis().getValue().str() +
                 (peer.getRelative() ? " + " : " = ") +
                 std::to_string(peer.getCoordinate());
    return kind;
  }
  kind.kind = ascend::stringifyCollectiveKind(exchange.kind).str();
  if (exchange.reduction == ascend::Reduction::Max)
    kind.kind += " max";
  kind.ranks = getAxes(exchange.group, mesh);
  if (!exchange.group.getStages().empty()) {
    kind.ranks += " stages ";
    llvm::raw_string_ostream os(kind.ranks);
    llvm::interleaveComma(exchange.group.getStages(), os);
  }
  return kind;
}

static void addExchanges(Block &body, int64_t times, ir::MeshAttr mesh,
                         StageReport &report) {
  for (auto op : body.getOps<ascend::InstructionOpInterface>()) {
    if (op.getWork() != ascend::WorkKind::Exchange)
      continue;
    SmallVector<ascend::BufferAccess, 2> accesses;
    op.getAccesses(accesses);
    report.exchanges[describe(*op.getExchange(), accesses, mesh)] += times;
  }
}

static FailureOr<StageReport> makeReport(ascend::ProgramOp program) {
  if (!program.getArenaBytes() || !program.getMaxLiveBytes())
    return program.emitOpError("has no memory plan; run ascend-plan-memory "
                               "first");
  StageReport report;
  report.stage = static_cast<int64_t>(program.getStage());
  ir::MeshAttr mesh = ir::MeshAttr::find(program);
  if (mesh)
    for (int64_t size : mesh.getSizes().drop_front())
      report.numRanks *= size;
  report.firstRank = report.stage * report.numRanks;
  report.arenaBytes = static_cast<int64_t>(*program.getArenaBytes());
  report.maxLiveBytes = static_cast<int64_t>(*program.getMaxLiveBytes());
  report.hostBytes = static_cast<int64_t>(program.getHostBytes().value_or(0));
  if (DictionaryAttr memory = program.getTrainerMemoryAttr()) {
    FailureOr<trainer::TrainerPeak> peak =
        program::decodeTrainerMemory(program, memory);
    if (failed(peak))
      return failure();
    report.trainer = std::move(*peak);
  }
  addStatics(program, report);
  for (auto layout : program.getBody().getOps<ascend::FrameLayoutOp>()) {
    addSlots(layout, ascend::Space::Hbm, report);
    addSlots(layout, ascend::Space::Host, report);
  }
  SymbolTable symbols(program);
  for (auto step : program.getBody().getOps<ascend::StepOp>()) {
    addExchanges(step.getBody().front(), 1, mesh, report);
    std::map<StringRef, int64_t> calls;
    for (auto call : step.getBody().getOps<ascend::CallOp>())
      ++calls[call.getRoutine()];
    for (auto [name, times] : calls)
      if (auto routine = symbols.lookup<ascend::RoutineOp>(name))
        addExchanges(routine.getBody().front(), times, mesh, report);
  }
  return report;
}

/// Adds the rows of experts, if ranks exchange any.
static LogicalResult
addExpertRows(function_ref<const program::Program *()> getProgram,
              MutableArrayRef<StageReport> reports) {
  const StringRef kind =
      ascend::stringifyCollectiveKind(ascend::CollectiveKind::AllToAllV);
  auto exchangesRows = [&](const StageReport &report) {
    return llvm::any_of(report.exchanges, [&](const auto &exchange) {
      return exchange.first.kind == kind;
    });
  };
  if (llvm::none_of(reports, exchangesRows))
    return success();
  const program::Program *decoded = getProgram();
  if (!decoded)
    return failure();
  const program::Program &program = *decoded;
  llvm::Expected<simulator::ExpertGroup> group =
      simulator::findExpertGroup(program);
  // Without kernels that multiply by expert, nothing says which rows these are.
  if (!group) {
    llvm::consumeError(group.takeError());
    return success();
  }
  const int64_t most = group->getMostRows();
  for (StageReport &report : reports) {
    if (!exchangesRows(report))
      continue;
    const program::StageProgram &stage = program.stages[report.stage];
    auto getPeak = [&](int64_t rows) {
      return simulator::getPeakBytes(program, stage, *group, rows);
    };
    report.expertRows = {group->getMeanRows(), group->room, most,
                         getPeak(most) - getPeak(group->room)};
  }
  return success();
}

FailureOr<std::vector<StageReport>> mf::passes::makeStageReports(
    ModuleOp module, function_ref<const program::Program *()> getProgram) {
  std::vector<StageReport> reports;
  for (auto program : module.getOps<ascend::ProgramOp>()) {
    FailureOr<StageReport> report = makeReport(program);
    if (failed(report))
      return failure();
    reports.push_back(std::move(*report));
  }
  if (failed(addExpertRows(getProgram, reports)))
    return failure();
  return reports;
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

static void printRow(raw_ostream &os, unsigned indent, StringRef name,
                     int64_t bytes, unsigned width = 24) {
  os.indent(indent) << llvm::left_justify(name, width - indent)
                    << llvm::format("%16lld\n", static_cast<long long>(bytes));
}

static void printSpan(raw_ostream &os, unsigned indent, StringRef name,
                      const target::ByteSpan &bytes) {
  printRow(os, indent, name, bytes.least, /*width=*/34);
  if (bytes.most > bytes.least)
    printRow(os, indent, "  or as much as", bytes.most, /*width=*/34);
}

void StageReport::print(raw_ostream &os) const {
  os << "stage " << stage << ": arena " << arenaBytes << " bytes, max-live "
     << maxLiveBytes << " bytes, pinned host " << hostBytes
     << " bytes, parameters per rank " << parameters << ", "
     << (numRanks == 1 ? "rank " : "ranks ") << firstRank;
  if (numRanks > 1)
    os << " to " << firstRank + numRanks - 1;
  os << "\n";
  if (trainer) {
    os << "  the trainer holds " << trainer->moment.bytes.getTotal()
       << " bytes in " << trainer->task << " at " << trainer->moment.at << "\n";
    trainer->moment.bytes.visit(
        [&](trainer::TrainerCategory category, int64_t bytes) {
          printRow(os, 4, trainer::getName(category), bytes, /*width=*/34);
        });
  }
  if (need) {
    printSpan(os, 2, "a device needs", need->getTotal());
    printSpan(os, 4, "pool of the allocator", need->pool);
    printSpan(os, 4, "buffers of communicators",
              {need->communicators, need->communicators});
    printSpan(os, 4, "runtime", need->runtime);
    printSpan(os, 4, "device without a job", {need->idle, need->idle});
  }
  for (auto [role, bytes] : statics)
    printRow(os, 2, ascend::stringifyRole(role), bytes);
  for (const LayoutReport &layout : layouts) {
    os << "  " << layout.name << (layout.isHost ? " swapped out" : "")
       << " of one micro-batch\n";
    for (auto &[layer, bytes] : layout.layers)
      printRow(os, 4, layer, bytes);
    printRow(os, 4, "total", layout.total);
  }
  if (expertRows)
    os << "  rows for experts: " << expertRows->mean << " on average, room for "
       << expertRows->room << ", at most " << expertRows->most
       << ", which would take " << expertRows->growthBytes << " bytes more\n";
  if (exchanges.empty())
    return;
  os << "  exchanges of a rank per step                count   bytes of one    "
        "bytes in all\n";
  for (const auto &[kind, count] : exchanges)
    os.indent(4) << llvm::left_justify(kind.kind, 15)
                 << llvm::left_justify(kind.ranks, 22)
                 << llvm::format("%12lld %14lld %15lld\n",
                                 static_cast<long long>(count),
                                 static_cast<long long>(kind.bytes),
                                 static_cast<long long>(count * kind.bytes));
}

llvm::Error mf::passes::addDeviceNeed(StageReport &report,
                                      const program::Program &program,
                                      const target::Memory &device) {
  llvm::Expected<int64_t> buffer = target::readBufferBytes();
  if (!buffer)
    return buffer.takeError();
  if (device.deviceBytes == 0)
    return llvm::Error::success();
  report.need = target::getDeviceNeed(
      device,
      program.stages[static_cast<size_t>(report.stage)].getLimitedBytes(),
      {target::countCommunicators(program, report.stage), *buffer});
  return llvm::Error::success();
}

llvm::json::Object StageReport::toJson() const {
  llvm::json::Object roles;
  for (auto [role, bytes] : statics)
    roles[ascend::stringifyRole(role)] = bytes;
  llvm::json::Array frames;
  for (const LayoutReport &layout : layouts) {
    llvm::json::Object layers;
    for (auto &[layer, bytes] : layout.layers)
      layers[layer] = bytes;
    frames.push_back(llvm::json::Object{{"name", layout.name},
                                        {"host", layout.isHost},
                                        {"layers", std::move(layers)},
                                        {"total", layout.total}});
  }
  llvm::json::Array rows;
  for (const auto &[kind, count] : exchanges)
    rows.push_back(llvm::json::Object{{"kind", kind.kind},
                                      {"ranks", kind.ranks},
                                      {"bytes", kind.bytes},
                                      {"count", count},
                                      {"total", count * kind.bytes}});
  // The compiler of the static graph plans a step as mf does.
  const int64_t trainerBytes =
      trainer ? trainer->moment.bytes.getTotal() : arenaBytes;
  llvm::json::Object categories;
  if (trainer)
    trainer->moment.bytes.visit(
        [&](trainer::TrainerCategory category, int64_t bytes) {
          categories[trainer::getKey(category)] = bytes;
        });
  llvm::json::Object report{
      {"stage", stage},
      {"trainer_live_bytes", trainerBytes},
      {"trainer_peak_at",
       trainer ? trainer->task + ": " + trainer->moment.at : std::string()},
      {"trainer_parts", std::move(categories)},
      {"program_bytes", arenaBytes},
      {"first_rank", firstRank},
      {"ranks", numRanks},
      {"arena_bytes", arenaBytes},
      {"max_live_bytes", maxLiveBytes},
      {"host_bytes", hostBytes},
      {"parameters", parameters},
      {"statics", std::move(roles)},
      {"frames", std::move(frames)},
      {"exchanges", std::move(rows)}};
  if (need) {
    report["pool_bytes"] = need->pool.least;
    report["pool_most_bytes"] = need->pool.most;
    report["communicator_bytes"] = need->communicators;
    report["runtime_bytes"] = need->runtime.least;
    report["runtime_most_bytes"] = need->runtime.most;
    report["device_bytes"] = need->getTotal().least;
    report["device_most_bytes"] = need->getTotal().most;
  }
  if (expertRows)
    report["expert_rows"] =
        llvm::json::Object{{"mean", expertRows->mean},
                           {"room", expertRows->room},
                           {"most", expertRows->most},
                           {"growth_bytes", expertRows->growthBytes}};
  return report;
}
