//===- ModelState.cpp - Parameters, moments, gradients --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Runner/ModelState.h"
#include "mf/Exec/Data/ElementConversion.h"
#include "mf/Exec/Data/Safetensors.h"
#include "mf/Exec/Ranks/CheckpointParts.h"
#include "mf/Exec/Ranks/TokenExperts.h"
#include "mf/Exec/Runner/ProcessGroup.h"
#include "mf/Exec/Runner/Runner.h"
#include "mf/Program/LocatedError.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"
#include <cstring>
#include <mutex>
#include <set>

using namespace mf::program;
using namespace mf::ranks;

namespace mf::runner {

namespace {

/// Brings statics to the process that writes files, one at a time.
class GatheredStatics {
public:
  /// `processes` is null if all ranks of interest live in this process.
  GatheredStatics(Runner &runner, ProcessGroup *processes)
      : runner(runner), processes(processes) {}

  bool isWriter() const { return !processes || processes->isFirst(); }

  /// Returns the bytes of a static, until the next call, in the writer, and
  /// nothing in other processes. All processes call it for the same statics in
  /// the same order.
  llvm::Expected<llvm::ArrayRef<uint8_t>> get(int64_t rank, uint32_t number);

private:
  Runner &runner;
  ProcessGroup *processes;
  /// Bytes from another process.
  std::vector<uint8_t> received;
};

} // namespace

llvm::Expected<llvm::ArrayRef<uint8_t>> GatheredStatics::get(int64_t rank,
                                                             uint32_t number) {
  const bool isHere = llvm::is_contained(runner.getLocalRanks(), rank);
  if (isWriter() && isHere)
    return llvm::ArrayRef<uint8_t>(runner.getStatic(rank, number));
  if (isWriter()) {
    received.resize(runner.getProgram().getStageOf(rank).statics[number].bytes);
    if (llvm::Error error =
            processes->receive(processes->getProcess(rank), received))
      return error;
    return llvm::ArrayRef<uint8_t>(received);
  }
  if (isHere)
    if (llvm::Error error =
            processes->sendToFirst(runner.getStatic(rank, number)))
      return error;
  return llvm::ArrayRef<uint8_t>();
}

static const std::vector<Static> &getStatics(const Runner &runner,
                                             int64_t rank) {
  return runner.getProgram().getStageOf(rank).statics;
}

ModelState::ModelState(Runner &runner, ProcessGroup *processes)
    : runner(runner), processes(processes) {
  for (const StageProgram &stage : runner.getProgram().stages)
    names.add(stage.statics);
}

//===----------------------------------------------------------------------===//
// Initial values
//===----------------------------------------------------------------------===//

/// Elements that one thread initializes at a time.
static constexpr int64_t tileElements = 1 << 16;

namespace {
/// Elements [begin, end) of a static to initialize.
struct Tile {
  int64_t rank = 0;
  uint32_t number = 0;
  int64_t begin = 0;
  int64_t end = 0;
};
} // namespace

static llvm::Error fillTile(Runner &runner, const Tile &tile, uint64_t seed,
                            llvm::StringRef owner) {
  const Static &buffer = getStatics(runner, tile.rank)[tile.number];
  return fillInitialSlice(
      *buffer.init, seed, owner, getWholeShape(buffer),
      SliceRuns(runner.getProgram().mesh, buffer, tile.rank), tile.begin,
      tile.end, runner.getStatic(tile.rank, tile.number));
}

llvm::Error ModelState::changeParameters(uint64_t seed,
                                         const TensorChange &change) {
  for (const int64_t rank : runner.getLocalRanks())
    for (const auto &[number, buffer] :
         llvm::enumerate(getStatics(runner, rank)))
      if (buffer.role == Role::Parameter)
        if (llvm::Error error = fillChangedSlice(
                *buffer.init, seed, names.getOwner(buffer),
                getWholeShape(buffer),
                SliceRuns(runner.getProgram().mesh, buffer, rank), change,
                runner.getStatic(rank, number)))
          return error;
  return llvm::Error::success();
}

llvm::Error ModelState::initialize(uint64_t seed) {
  std::vector<Tile> tiles;
  for (const int64_t rank : runner.getLocalRanks()) {
    const std::vector<Static> &statics = getStatics(runner, rank);
    for (uint32_t i = 0; i < statics.size(); ++i) {
      const Static &buffer = statics[i];
      llvm::MutableArrayRef<uint8_t> bytes = runner.getStatic(rank, i);
      std::memset(bytes.data(), 0, bytes.size());
      const bool needsValue =
          buffer.role == Role::Parameter || buffer.role == Role::Table;
      if (needsValue && !buffer.init)
        return llvm::make_error<LocatedError>(
            buffer.location,
            "'" + buffer.name +
                "' has no initial value (init = #mf.init<...>)");
      if (!buffer.init)
        continue;
      const int64_t count = buffer.shape.getNumElements();
      for (int64_t at = 0; at < count; at += tileElements)
        tiles.push_back({rank, i, at, std::min(at + tileElements, count)});
    }
  }

  std::mutex mutex;
  llvm::Error result = llvm::Error::success();
  runner.parallelFor(static_cast<int64_t>(tiles.size()), [&](int64_t number) {
    const Tile &tile = tiles[number];
    const Static &buffer = getStatics(runner, tile.rank)[tile.number];
    llvm::Error error = fillTile(runner, tile, seed, names.getOwner(buffer));
    if (!error)
      return;
    std::lock_guard<std::mutex> lock(mutex);
    if (result)
      llvm::consumeError(std::move(error));
    else
      result = llvm::make_error<LocatedError>(
          buffer.location, "initial value of '" + buffer.name +
                               "': " + llvm::toString(std::move(error)));
  });
  return result;
}

//===----------------------------------------------------------------------===//
// Whole tensors
//===----------------------------------------------------------------------===//

/// Copies a rank's slice of `tensor`, which is the whole, to its static.
static llvm::Error readSlice(Runner &runner, llvm::StringRef name,
                             const TensorView &tensor, int64_t rank,
                             uint32_t number) {
  const Static &buffer = getStatics(runner, rank)[number];
  llvm::MutableArrayRef<uint8_t> to = runner.getStatic(rank, number);
  const SliceRuns runs(runner.getProgram().mesh, buffer, rank);
  const TensorShape whole = getWholeShape(buffer);
  if (runs.getNumRuns() * runs.getRunElements() == whole.getNumElements() ||
      tensor.shape.dims != whole.dims)
    return readTensor(name, tensor, whole, to);
  const int64_t fromBytes = getBytes(tensor.shape.type);
  const int64_t toBytes = getBytes(buffer.shape.type);
  llvm::Error result = llvm::Error::success();
  runs.forEach([&](int64_t from, int64_t local, int64_t count) {
    if (!result)
      result = convertElements(
          tensor.shape.type,
          tensor.bytes.slice(from * fromBytes, count * fromBytes),
          buffer.shape.type, to.slice(local * toBytes, count * toBytes));
  });
  if (!result)
    return result;
  return llvm::createStringError("tensor '" + name +
                                 "': " + llvm::toString(std::move(result)));
}

/// Says which trained parameters keep their first values.
static std::string describeKept(const std::set<std::string> &kept) {
  std::string text = "'" + *kept.begin() + "'";
  if (kept.size() > 1)
    text += " and " + std::to_string(kept.size() - 1) + " more";
  return text + (kept.size() > 1 ? " are" : " is") +
         " in no file and trained from initial values";
}

llvm::Error ModelState::loadParameters(llvm::ArrayRef<std::string> paths,
                                       std::vector<std::string> &notes) {
  auto file = SafetensorsCheckpoint::openAll(paths);
  if (!file)
    return file.takeError();
  // Parameters of all ranks count: one that only others read is known too.
  const std::set<std::string> known = names.getParameters(),
                              &trained = names.getTrained();
  const bool tunes = !llvm::all_of(
      known, [&](const std::string &name) { return trained.count(name) > 0; });
  std::set<std::string> kept;
  for (const int64_t rank : runner.getLocalRanks()) {
    const std::vector<Static> &statics = getStatics(runner, rank);
    for (uint32_t i = 0; i < statics.size(); ++i) {
      const std::string owner = names.getOwner(statics[i]);
      if (statics[i].role == Role::Table && file->lookup(owner)) {
        const SliceRuns runs(runner.getProgram().mesh, statics[i], rank);
        auto given = file->find(owner);
        if (!given)
          return given.takeError();
        if (llvm::Error error = loadTable(owner, *given, *statics[i].init,
                                          getWholeShape(statics[i]), runs,
                                          runner.getStatic(rank, i)))
          return error;
      }
      if (statics[i].role != Role::Parameter)
        continue;
      if (tunes && trained.count(owner) > 0 && !file->lookup(owner)) {
        kept.insert(owner);
        continue;
      }
      auto tensor = file->find(owner);
      if (!tensor)
        return tensor.takeError();
      if (llvm::Error error = readSlice(runner, owner, *tensor, rank, i))
        return error;
    }
  }
  if (!kept.empty())
    notes.push_back(describeKept(kept));
  for (const std::string &name : file->getNames())
    if (known.count(name) == 0 && names.getTables().count(name) == 0)
      notes.push_back(llvm::join(paths, ", ") + ": tensor '" + name +
                      "' is not a parameter of the program");
  return llvm::Error::success();
}

std::vector<int64_t> ModelState::getSavedRanks() const {
  if (!processes)
    return runner.getLocalRanks().vec();
  const auto ranks = llvm::seq<int64_t>(0, runner.getProgram().getNumRanks());
  return {ranks.begin(), ranks.end()};
}

llvm::Expected<WholeTensors> ModelState::collect(
    llvm::function_ref<std::string(const Static &)> getName) const {
  auto gathered = std::make_shared<GatheredStatics>(runner, processes);
  WholeTensors tensors(runner.getProgram().mesh, gathered->isWriter());
  for (const int64_t rank : getSavedRanks()) {
    const std::vector<Static> &statics = getStatics(runner, rank);
    for (uint32_t i = 0; i < statics.size(); ++i) {
      const std::string name = getName(statics[i]);
      if (name.empty())
        continue;
      RankTensor part;
      part.rank = rank;
      part.shape = statics[i].shape;
      part.slice = statics[i].slice;
      part.isTokenExperts = isTokenExperts(statics[i]);
      part.location = statics[i].location;
      part.read = [gathered, rank, i] { return gathered->get(rank, i); };
      if (llvm::Error error = tensors.add(name, std::move(part)))
        return error;
    }
  }
  return tensors;
}

llvm::Expected<WholeTensors> ModelState::collectParameters() const {
  return collect(
      [&](const Static &buffer) { return names.getParameterName(buffer); });
}

llvm::Expected<WholeTensors> ModelState::collectTrained() const {
  return collect(
      [&](const Static &buffer) { return names.getTrainedName(buffer); });
}

llvm::Expected<WholeTensors> ModelState::collectGradients() const {
  return collect(StateNames::getGradientName);
}

//===----------------------------------------------------------------------===//
// Checkpoints
//===----------------------------------------------------------------------===//

llvm::Error ModelState::saveRank(int64_t rank, llvm::StringRef path) const {
  GatheredStatics gathered(runner, processes);
  return saveCheckpointRank(
      runner.getProgram().mesh, getStatics(runner, rank), rank, path,
      [&](uint32_t number) { return gathered.get(rank, number); });
}

llvm::Error ModelState::loadRanks(llvm::ArrayRef<std::string> paths) {
  auto parts = CheckpointParts::open(paths);
  if (!parts)
    return parts.takeError();
  for (const int64_t rank : runner.getLocalRanks())
    for (const auto &[number, buffer] :
         llvm::enumerate(getStatics(runner, rank)))
      if (!StateNames::getCheckpointName(buffer).empty())
        if (llvm::Error error = parts->readStatic(
                names, runner.getProgram().mesh, buffer, rank,
                runner.getStatic(rank, static_cast<uint32_t>(number))))
          return error;
  return llvm::Error::success();
}

} // namespace mf::runner
