//===- StepEngine.cpp - A program outside of mf as an engine --------------===//

#include "StepEngine.h"
#include "mf/Exec/Data/Safetensors.h"
#include "llvm/ADT/STLExtras.h"

using namespace mf::program;

namespace mf::step {

static llvm::Error toError(const std::string &text) {
  return text.empty() ? llvm::Error::success() : llvm::createStringError(text);
}

static Role parseRole(llvm::StringRef name) {
  for (int number = 0; number <= static_cast<int>(Role::Average); ++number)
    if (getName(static_cast<Role>(number)) == name)
      return static_cast<Role>(number);
  return Role::Constant;
}

static InitialValue makeInitial(const Initial &initial) {
  InitialValue value;
  value.kind = static_cast<InitialValue::Kind>(initial.kind);
  value.value = initial.value;
  value.scale = initial.scale;
  value.amplitude = initial.amplitude;
  value.frequencies = initial.frequencies;
  return value;
}

StepEngine::StepEngine(const Facts &facts, const StepDevice &device,
                       const ranks::TrainingOptions &options)
    : facts(facts), device(device), options(options) {
  for (const StepBuffer &buffer : facts.buffers) {
    Static &made = statics.emplace_back();
    made.name = buffer.name;
    made.role = parseRole(buffer.role);
    made.of = buffer.of;
    made.tied = buffer.tied;
    made.shape.type = parseDType(buffer.type).value_or(DType::F32);
    llvm::append_range(made.shape.dims, buffer.dims);
    made.bytes = buffer.bytes;
    made.space = buffer.onHost ? Space::Host : Space::Device;
    if (buffer.initial.kind >= 0)
      made.init = makeInitial(buffer.initial);
  }
  names.add(statics);
}

bool StepEngine::hasRole(Role role) const {
  return llvm::any_of(
      statics, [&](const Static &buffer) { return buffer.role == role; });
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
  training.batch.batchSize = facts.batchSize;
  training.batch.microBatches = facts.microBatches;
  training.batch.vocabularySize = facts.vocabularySize;
  training.batch.ignoreIndex = static_cast<int32_t>(facts.ignoreIndex);
  if (facts.padTokenId >= 0)
    training.batch.padTokenId = facts.padTokenId;
  training.readsData = hasRole(Role::Tokens) || hasRole(Role::Labels);
  if (facts.hasSchedule) {
    training.lrSchedule = makeRule(facts.schedule);
    for (const StepSchedule &group : facts.groups)
      training.lrSchedule->groups.push_back(makeRule(group));
  }
  training.lossScale.value = static_cast<float>(facts.lossScale);
  training.lossScale.factor = facts.lossScaleFactor;
  training.lossScale.window = facts.lossScaleWindow;
  training.flopsPerStep = facts.flopsPerStep;
  training.hasBackward = hasRole(Role::Gradient);
  training.hasUpdate = hasRole(Role::FirstMoment);
  return training;
}

llvm::Error StepEngine::check() {
  if (!options.checkpointFolder.empty() || options.resume)
    return llvm::createStringError(
        "programs on CANN have no checkpoints yet; expected --save-params");
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// First values
//===----------------------------------------------------------------------===//

llvm::Error StepEngine::write(size_t number,
                              llvm::ArrayRef<uint8_t> bytes) const {
  return toError(device.write(facts.buffers[number], bytes.data()));
}

llvm::Error StepEngine::initialize() {
  for (const auto &[number, buffer] : llvm::enumerate(statics)) {
    std::vector<uint8_t> bytes(static_cast<size_t>(buffer.bytes));
    if (buffer.init)
      if (llvm::Error error = ranks::fillInitialValue(
              *buffer.init, options.seed, names.getOwner(buffer), buffer.shape,
              0, bytes))
        return llvm::createStringError(
            "initial value of '" + buffer.name +
            "': " + llvm::toString(std::move(error)));
    // Values of a step may share memory with others.
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
  for (const auto &[number, buffer] : llvm::enumerate(statics)) {
    if (buffer.role != Role::Parameter)
      continue;
    const std::string owner = names.getOwner(buffer);
    auto tensor = file->find(owner);
    if (!tensor)
      return tensor.takeError();
    std::vector<uint8_t> bytes(static_cast<size_t>(buffer.bytes));
    if (llvm::Error error = readTensor(owner, *tensor, buffer.shape, bytes))
      return error;
    if (llvm::Error error = write(number, bytes))
      return error;
  }
  for (const std::string &name : file->getNames())
    if (known.count(name) == 0)
      note("tensor '" + name + "' is no parameter of the program");
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

/// Statics of one role follow each other; each takes its elements.
llvm::Error StepEngine::writeElements(Role role,
                                      llvm::ArrayRef<int32_t> values) const {
  for (const auto &[number, buffer] : llvm::enumerate(statics)) {
    if (buffer.role != role || buffer.space != Space::Host)
      continue;
    const auto count = static_cast<size_t>(buffer.shape.getNumElements());
    if (getBytes(buffer.shape.type) != sizeof(int32_t) || count > values.size())
      return llvm::createStringError("'" + buffer.name +
                                     "' does not fit the data of a step");
    if (llvm::Error error =
            write(number, getBytesOf(values.data(), count * sizeof(int32_t))))
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
  for (const auto &[number, buffer] : llvm::enumerate(statics)) {
    const Role role = buffer.role;
    const bool isScalar = role == Role::StepNumber || role == Role::LossScale;
    if (buffer.space != Space::Host ||
        (!isScalar && role != Role::LearningRate))
      continue;
    std::vector<float> values(static_cast<size_t>(buffer.bytes) /
                              sizeof(float));
    if (isScalar)
      llvm::fill(values, role == Role::StepNumber
                             ? static_cast<float>(input.stepNumber)
                             : input.lossScale);
    else
      std::copy_n(input.learningRates.begin(),
                  std::min(values.size(), input.learningRates.size()),
                  values.begin());
    if (llvm::Error error = write(
            number, getBytesOf(values.data(), values.size() * sizeof(float))))
      return error;
  }
  return llvm::Error::success();
}

llvm::Expected<ranks::StepOutput> StepEngine::readReports() const {
  ranks::StepReports reports;
  for (const auto &[number, buffer] : llvm::enumerate(statics)) {
    if (buffer.role != Role::Report || buffer.space != Space::Host ||
        buffer.shape.type != DType::F32)
      continue;
    std::vector<float> values(static_cast<size_t>(buffer.bytes) /
                              sizeof(float));
    if (llvm::Error error =
            toError(device.read(facts.buffers[number], values.data())))
      return error;
    reports.add(0, buffer.of, values);
  }
  return ranks::StepOutput(reports);
}

llvm::Expected<ranks::StepOutput>
StepEngine::runStep(const ranks::StepInput &input,
                    llvm::function_ref<llvm::Error()> useGradients) {
  if (llvm::Error error = writeInput(input))
    return error;
  if (llvm::Error error = toError(device.computeGradients()))
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

llvm::Expected<ranks::WholeTensors> StepEngine::collect(
    llvm::function_ref<std::string(const Static &)> getName) const {
  ranks::WholeTensors tensors(mesh);
  for (const auto &[number, buffer] : llvm::enumerate(statics)) {
    const std::string name = getName(buffer);
    if (name.empty())
      continue;
    ranks::RankTensor part;
    part.shape = buffer.shape;
    auto bytes = std::make_shared<std::vector<uint8_t>>();
    part.read = [this, &from = facts.buffers[number],
                 bytes]() -> llvm::Expected<llvm::ArrayRef<uint8_t>> {
      bytes->resize(static_cast<size_t>(from.bytes));
      if (llvm::Error error = toError(device.read(from, bytes->data())))
        return error;
      return llvm::ArrayRef<uint8_t>(*bytes);
    };
    if (llvm::Error error = tensors.add(name, std::move(part)))
      return error;
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

} // namespace mf::step
