//===- ModelState.cpp - Parameters, moments, gradients --------------------===//

#include "mf/Runner/ModelState.h"
#include "mf/Data/Safetensors.h"
#include "mf/Data/SafetensorsWriter.h"
#include "mf/Program/LocatedError.h"
#include "mf/Runner/InitialValues.h"
#include <cstring>
#include <mutex>
#include <set>

using namespace mf::program;

namespace mf::runner {

std::string ModelState::getOwner(const Static &parameter) const {
  if (parameter.tied.empty())
    return parameter.of.empty() ? parameter.name : parameter.of;
  for (const Rank &rank : runner.getProgram().ranks)
    for (const Static &other : rank.statics)
      if (other.name == parameter.tied && !other.of.empty())
        return other.of;
  return parameter.tied;
}

/// Elements that one thread initializes at a time.
static constexpr int64_t tileElements = 1 << 16;

namespace {
/// Part of a static to initialize.
struct Tile {
  size_t rank = 0;
  uint32_t number = 0;
  int64_t firstElement = 0;
};
} // namespace

llvm::Error ModelState::initialize(uint64_t seed) {
  const Program &program = runner.getProgram();
  std::vector<Tile> tiles;
  for (size_t rank = 0; rank < program.ranks.size(); ++rank)
    for (uint32_t i = 0; i < program.ranks[rank].statics.size(); ++i) {
      const Static &buffer = program.ranks[rank].statics[i];
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
        tiles.push_back({rank, i, at});
    }

  std::mutex mutex;
  llvm::Error result = llvm::Error::success();
  runner.parallelFor(static_cast<int64_t>(tiles.size()), [&](int64_t number) {
    const Tile &tile = tiles[number];
    const Static &buffer = program.ranks[tile.rank].statics[tile.number];
    const int64_t elementBytes = getBytes(buffer.shape.type);
    const int64_t count = std::min(tileElements, buffer.shape.getNumElements() -
                                                     tile.firstElement);
    llvm::Error error = fillInitialValue(
        *buffer.init, seed, getOwner(buffer), buffer.shape, tile.firstElement,
        runner.getStatic(tile.rank, tile.number)
            .slice(tile.firstElement * elementBytes, count * elementBytes));
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

llvm::Error ModelState::loadParameters(llvm::StringRef path,
                                       std::vector<std::string> &notes) {
  auto file = SafetensorsCheckpoint::open(path);
  if (!file)
    return file.takeError();
  const Program &program = runner.getProgram();
  std::set<std::string> known;
  for (size_t rank = 0; rank < program.ranks.size(); ++rank)
    for (uint32_t i = 0; i < program.ranks[rank].statics.size(); ++i) {
      const Static &buffer = program.ranks[rank].statics[i];
      if (buffer.role != Role::Parameter)
        continue;
      const std::string owner = getOwner(buffer);
      known.insert(owner);
      known.insert(buffer.of);
      auto tensor = file->find(owner);
      if (!tensor)
        return tensor.takeError();
      if (llvm::Error error = readTensor(owner, *tensor, buffer.shape,
                                         runner.getStatic(rank, i)))
        return error;
    }
  for (const std::string &name : file->getNames())
    if (known.count(name) == 0)
      notes.push_back(path.str() + ": tensor '" + name +
                      "' is no parameter of the program");
  return llvm::Error::success();
}

/// Tensors to write; each name once.
namespace {
class TensorList {
public:
  explicit TensorList(Runner &runner) : runner(runner) {}

  void add(const std::string &name, size_t rank, uint32_t number) {
    if (names.insert(name).second)
      tensors.push_back({name,
                         runner.getProgram().ranks[rank].statics[number].shape,
                         runner.getStatic(rank, number)});
  }

  llvm::Error write(llvm::StringRef path) const {
    return writeSafetensors(path, tensors, {{"format", "mf"}});
  }

private:
  Runner &runner;
  std::set<std::string> names;
  std::vector<NamedTensor> tensors;
};
} // namespace

llvm::Error ModelState::saveParameters(llvm::StringRef path) const {
  TensorList list(runner);
  const Program &program = runner.getProgram();
  for (size_t rank = 0; rank < program.ranks.size(); ++rank)
    for (uint32_t i = 0; i < program.ranks[rank].statics.size(); ++i) {
      const Static &buffer = program.ranks[rank].statics[i];
      if (buffer.role == Role::Parameter && buffer.tied.empty())
        list.add(getOwner(buffer), rank, i);
    }
  return list.write(path);
}

llvm::Error ModelState::saveGradients(llvm::StringRef path) const {
  TensorList list(runner);
  const Program &program = runner.getProgram();
  for (size_t rank = 0; rank < program.ranks.size(); ++rank)
    for (uint32_t i = 0; i < program.ranks[rank].statics.size(); ++i) {
      const Static &buffer = program.ranks[rank].statics[i];
      if (buffer.role == Role::Gradient)
        list.add(buffer.of.empty() ? buffer.name : buffer.of, rank, i);
    }
  return list.write(path);
}

/// The name of a static in a checkpoint; empty if it is not in one.
static std::string getCheckpointName(const Static &buffer) {
  const std::string &name = buffer.of.empty() ? buffer.name : buffer.of;
  switch (buffer.role) {
  case Role::Parameter:
    return name;
  case Role::FirstMoment:
    return "adam_m." + name;
  case Role::SecondMoment:
    return "adam_v." + name;
  default:
    return {};
  }
}

llvm::Error ModelState::saveRank(size_t rank, llvm::StringRef path) const {
  TensorList list(runner);
  const std::vector<Static> &statics = runner.getProgram().ranks[rank].statics;
  for (uint32_t i = 0; i < statics.size(); ++i)
    if (const std::string name = getCheckpointName(statics[i]); !name.empty())
      list.add(name, rank, i);
  return list.write(path);
}

llvm::Error ModelState::loadRank(size_t rank, llvm::StringRef path) {
  auto file = SafetensorsFile::open(path);
  if (!file)
    return file.takeError();
  const std::vector<Static> &statics = runner.getProgram().ranks[rank].statics;
  for (uint32_t i = 0; i < statics.size(); ++i) {
    const std::string name = getCheckpointName(statics[i]);
    if (name.empty())
      continue;
    auto tensor = file->find(name);
    if (!tensor)
      return tensor.takeError();
    if (tensor->shape.type != statics[i].shape.type)
      return llvm::createStringError(
          path + ": tensor '" + name + "' is " + getName(tensor->shape.type) +
          ", but the program holds " + getName(statics[i].shape.type));
    if (llvm::Error error = readTensor(name, *tensor, statics[i].shape,
                                       runner.getStatic(rank, i)))
      return error;
  }
  return llvm::Error::success();
}

} // namespace mf::runner
