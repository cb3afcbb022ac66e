//===- StepEngine.cpp - A standalone program as an engine -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "StepEngine.h"
#include "KeptValues.h"
#include "StepNumbers.h"
#include "mf/Exec/Data/Safetensors.h"
#include "mf/Exec/Ranks/CheckpointParts.h"
#include "mf/Exec/Ranks/SliceRuns.h"
#include "llvm/ADT/STLExtras.h"

using namespace mf::program;

namespace mf::step {

StepEngine::StepEngine(const Facts &facts, ReadFacts read,
                       const StepDevice &device,
                       const ranks::TrainingOptions &options)
    : facts(facts), device(device), options(options), read(std::move(read)),
      mesh(this->read.mesh), stages(this->read.stages), group(facts, device) {
  for (const Statics &statics : stages)
    names.add(statics);
}

bool StepEngine::hasRole(Role role, bool onHost) const {
  return llvm::any_of(stages, [&](const Statics &statics) {
    return llvm::any_of(statics, [&](const Static &buffer) {
      return buffer.role == role && (!onHost || buffer.space == Space::Host);
    });
  });
}

/// Returns the number of rows of all ranks or, without tokens, of a
/// micro-batch.
int64_t StepEngine::countBatchRows() const {
  for (const Statics &statics : stages) {
    int64_t elements = 0;
    for (const Static &buffer : statics)
      if (buffer.role == Role::Tokens && buffer.space == Space::Host)
        elements += ranks::getWholeShape(buffer).getNumElements();
    if (elements > 0)
      return elements /
             std::max<int64_t>(1, facts.microBatches * facts.sequenceLength);
  }
  return facts.batchSize;
}

static LearningRateRule makeRule(const StepSchedule &schedule) {
  LearningRateRule rule;
  rule.type = schedule.type;
  for (const auto &[key, value] : schedule.parameters)
    rule.parameters[key] = value;
  return rule;
}

ranks::TrainingFacts StepEngine::getFacts() const {
  ranks::TrainingFacts training;
  training.kind = "program";
  training.batch.sequenceLength = facts.sequenceLength;
  training.batch.batchSize = countBatchRows();
  training.batch.microBatches = facts.microBatches;
  training.batch.vocabularySize = facts.vocabularySize;
  training.batch.ignoreIndex = static_cast<int32_t>(facts.ignoreIndex);
  if (facts.padTokenId >= 0)
    training.batch.padTokenId = facts.padTokenId;
  training.batch.sampleOrder = read.sampleOrder;
  training.batch.replicas = mesh.getNumParts(mesh.getFactors("dp"));
  training.numRanks = group.getNumRanks();
  training.ranksPerStage = mesh.getRanksPerStage();
  training.readsData =
      hasRole(Role::Tokens, true) || hasRole(Role::Labels, true);
  if (facts.hasSchedule) {
    training.lrSchedule = makeRule(facts.schedule);
    for (const StepSchedule &group : facts.groups)
      training.lrSchedule->groups.push_back(makeRule(group));
  }
  training.lossScale.value = static_cast<float>(facts.lossScale);
  training.lossScale.factor = facts.lossScaleFactor;
  training.lossScale.window = facts.lossScaleWindow;
  training.flopsPerStep = facts.flopsPerStep;
  training.hasBackward = hasRole(Role::Gradient, false);
  training.hasUpdate = hasRole(Role::FirstMoment, false);
  return training;
}

//===----------------------------------------------------------------------===//
// First values
//===----------------------------------------------------------------------===//

llvm::Error StepEngine::write(size_t number,
                              llvm::ArrayRef<uint8_t> bytes) const {
  return toError(device.write(getBuffers(facts.rank)[number], bytes.data()));
}

llvm::Error StepEngine::initialize() {
  for (const auto &[number, buffer] : llvm::enumerate(getStatics(facts.rank))) {
    std::vector<uint8_t> bytes(static_cast<size_t>(buffer.bytes));
    if (buffer.init)
      if (llvm::Error error = ranks::fillInitialSlice(
              *buffer.init, options.seed, names.getOwner(buffer),
              ranks::getWholeShape(buffer),
              ranks::SliceRuns(mesh, buffer, facts.rank), 0,
              buffer.shape.getNumElements(), bytes))
        return llvm::createStringError(
            "initial value of '" + buffer.name +
            "': " + llvm::toString(std::move(error)));
    // A value that each step makes anew may share memory with others, so it is
    // not written without an initial value.
    if (isOfStep(buffer.role) && !buffer.init)
      continue;
    if (llvm::Error error = write(number, bytes))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error StepEngine::loadParameters(ranks::NoteUser note) {
  const std::vector<std::string> paths = options.getInitPaths();
  if (paths.empty())
    return llvm::Error::success();
  auto file = SafetensorsCheckpoint::openAll(paths);
  if (!file)
    return file.takeError();
  const std::set<std::string> known = names.getParameters();
  for (const auto &[number, buffer] : llvm::enumerate(getStatics(facts.rank))) {
    if (buffer.role != Role::Parameter)
      continue;
    const std::string owner = names.getOwner(buffer);
    auto tensor = file->find(owner);
    if (!tensor)
      return tensor.takeError();
    const TensorShape shape = ranks::getWholeShape(buffer);
    std::vector<uint8_t> whole(static_cast<size_t>(shape.getBytes()));
    if (llvm::Error error = readTensor(owner, *tensor, shape, whole))
      return error;
    std::vector<uint8_t> bytes(static_cast<size_t>(buffer.bytes));
    ranks::SliceRuns(mesh, buffer, facts.rank)
        .take(whole, bytes, getBytes(shape.type));
    if (llvm::Error error = write(number, bytes))
      return error;
  }
  for (const std::string &name : file->getNames())
    if (known.count(name) == 0)
      note("tensor '" + name + "' is not a parameter of the program");
  return llvm::Error::success();
}

llvm::Error StepEngine::start(ranks::NoteUser note) {
  if (llvm::Error error = initialize())
    return error;
  return loadParameters(note);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

static llvm::ArrayRef<uint8_t> getBytesOf(const void *values, size_t bytes) {
  return {static_cast<const uint8_t *>(values), bytes};
}

/// Writes the elements of a step to the statics of a role. Statics follow each
/// other: each takes as many elements as it has.
llvm::Error StepEngine::writeElements(Role role,
                                      llvm::ArrayRef<int32_t> values) const {
  for (const auto &[number, buffer] : llvm::enumerate(getStatics(facts.rank))) {
    if (buffer.role != role || buffer.space != Space::Host)
      continue;
    const auto count =
        static_cast<size_t>(ranks::getWholeShape(buffer).getNumElements());
    if (getBytes(buffer.shape.type) != sizeof(int32_t) || count > values.size())
      return llvm::createStringError("'" + buffer.name +
                                     "' does not fit the data of a step");
    std::vector<uint8_t> own(static_cast<size_t>(buffer.bytes));
    ranks::SliceRuns(mesh, buffer, facts.rank)
        .take(getBytesOf(values.data(), count * sizeof(int32_t)), own,
              sizeof(int32_t));
    if (llvm::Error error = write(number, own))
      return error;
    values = values.drop_front(count);
  }
  return llvm::Error::success();
}

llvm::Error StepEngine::writeInput(const ranks::StepInput &input) const {
  if (llvm::Error error = writeElements(Role::Tokens, input.tokens))
    return error;
  if (llvm::Error error = writeElements(Role::Labels, input.labels))
    return error;
  for (const auto &[number, buffer] : llvm::enumerate(getStatics(facts.rank))) {
    if (buffer.space != Space::Host)
      continue;
    const std::vector<uint8_t> bytes = makeStepBytes(buffer, input);
    if (bytes.empty())
      continue;
    if (llvm::Error error = write(number, bytes))
      return error;
  }
  return llvm::Error::success();
}

static bool isHostReport(const Static &buffer) {
  return buffer.role == Role::Report && buffer.space == Space::Host &&
         buffer.shape.type == DType::F32;
}

/// All reports of a rank are sent in one message.
llvm::Error StepEngine::readRankReports(int64_t rank,
                                        ranks::StepReports &reports) const {
  std::vector<uint8_t> bytes;
  for (const auto &[number, buffer] : llvm::enumerate(getStatics(rank)))
    if (isHostReport(buffer)) {
      const size_t begin = bytes.size();
      bytes.resize(begin + static_cast<size_t>(buffer.bytes));
      if (!group.isOwn(rank))
        continue;
      if (llvm::Error error = toError(
              device.read(getBuffers(rank)[number], bytes.data() + begin)))
        return error;
    }
  if (llvm::Error error = group.share(rank, bytes))
    return error;
  const auto *from = reinterpret_cast<const float *>(bytes.data());
  for (const Static &buffer : getStatics(rank))
    if (isHostReport(buffer)) {
      const size_t count = static_cast<size_t>(buffer.bytes) / sizeof(float);
      reports.add(mesh.getStage(rank), buffer.of, {from, count});
      from += count;
    }
  return llvm::Error::success();
}

llvm::Expected<ranks::StepOutput> StepEngine::readReports() const {
  ranks::StepReports reports;
  for (int64_t rank = 0; rank < group.getNumRanks(); ++rank)
    if (llvm::Error error = readRankReports(rank, reports))
      return std::move(error);
  return ranks::StepOutput(reports);
}

llvm::Expected<ranks::StepOutput>
StepEngine::runStep(const ranks::StepInput &input,
                    llvm::function_ref<llvm::Error()> useGradients) {
  if (llvm::Error error = writeInput(input))
    return error;
  const bool isKept = options.dump && options.dump->isActive();
  if (isKept)
    device.startKeeping();
  if (llvm::Error error = toError(device.computeGradients()))
    return error;
  if (isKept)
    if (llvm::Error error = shareKept(group, device.takeKept(), *options.dump))
      return error;
  if (useGradients) {
    if (llvm::Error error = toError(device.synchronize()))
      return error;
    if (llvm::Error error = useGradients())
      return error;
  }
  if (llvm::Error error = toError(device.finishStep()))
    return error;
  if (llvm::Error error = toError(device.synchronize()))
    return error;
  return readReports();
}

//===----------------------------------------------------------------------===//
// Tensors of the run
//===----------------------------------------------------------------------===//

ranks::RankTensor StepEngine::makePart(int64_t rank, size_t number) const {
  const Static &buffer = getStatics(rank)[number];
  ranks::RankTensor part;
  part.rank = rank;
  part.shape = buffer.shape;
  part.slice = buffer.slice;
  auto bytes = std::make_shared<std::vector<uint8_t>>();
  part.read = [this, rank, &from = getBuffers(rank)[number],
               bytes]() -> llvm::Expected<llvm::ArrayRef<uint8_t>> {
    bytes->resize(static_cast<size_t>(from.bytes));
    if (group.isOwn(rank))
      if (llvm::Error error = toError(device.read(from, bytes->data())))
        return std::move(error);
    if (llvm::Error error = group.share(rank, *bytes))
      return std::move(error);
    return llvm::ArrayRef<uint8_t>(*bytes);
  };
  return part;
}

llvm::Expected<ranks::WholeTensors> StepEngine::collect(
    llvm::function_ref<std::string(const Static &)> getName) const {
  ranks::WholeTensors tensors(mesh, isWriter());
  for (int64_t rank = 0; rank < group.getNumRanks(); ++rank)
    for (const auto &[number, buffer] : llvm::enumerate(getStatics(rank))) {
      const std::string name = getName(buffer);
      if (name.empty())
        continue;
      if (llvm::Error error = tensors.add(name, makePart(rank, number)))
        return std::move(error);
    }
  return tensors;
}

llvm::Expected<ranks::WholeTensors> StepEngine::collectGradients() const {
  return collect(ranks::StateNames::getGradientName);
}

llvm::Expected<ranks::WholeTensors> StepEngine::collectParameters() const {
  return collect(
      [&](const Static &buffer) { return names.getParameterName(buffer); });
}

llvm::Expected<ranks::WholeTensors> StepEngine::collectTrained() const {
  return collect(
      [&](const Static &buffer) { return names.getTrainedName(buffer); });
}

llvm::Error StepEngine::saveRank(int64_t rank, llvm::StringRef path) const {
  // The part that has the bytes of the last static that was read.
  ranks::RankTensor part;
  return ranks::saveCheckpointRank(mesh, getStatics(rank), rank, path,
                                   [&](uint32_t number) {
                                     part = makePart(rank, number);
                                     return part.read();
                                   });
}

llvm::Error StepEngine::loadRanks(llvm::ArrayRef<std::string> paths) {
  auto parts = ranks::CheckpointParts::open(paths);
  if (!parts)
    return parts.takeError();
  for (const auto &[number, buffer] : llvm::enumerate(getStatics(facts.rank))) {
    if (ranks::StateNames::getCheckpointName(buffer).empty())
      continue;
    std::vector<uint8_t> bytes(static_cast<size_t>(buffer.bytes));
    if (llvm::Error error =
            parts->readStatic(names, mesh, buffer, facts.rank, bytes))
      return error;
    if (llvm::Error error = write(number, bytes))
      return error;
  }
  return llvm::Error::success();
}

} // namespace mf::step
