//===- StepEngine.cpp - A program outside of mf as an engine --------------===//

#include "StepEngine.h"
#include "mf/Exec/Data/Safetensors.h"
#include "llvm/ADT/STLExtras.h"
#include <set>

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
    State state;
    state.buffer = &buffer;
    state.record.name = buffer.name;
    state.record.role = parseRole(buffer.role);
    state.record.of = buffer.of;
    state.record.tied = buffer.tied;
    state.record.shape.type = parseDType(buffer.type).value_or(DType::F32);
    llvm::append_range(state.record.shape.dims, buffer.dims);
    state.record.bytes = buffer.bytes;
    state.record.space = buffer.onHost ? Space::Host : Space::Device;
    if (buffer.initial.kind >= 0)
      state.record.init = makeInitial(buffer.initial);
    states.push_back(std::move(state));
  }
}

bool StepEngine::hasRole(Role role) const {
  return llvm::any_of(
      states, [&](const State &state) { return state.record.role == role; });
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

std::string StepEngine::getOwner(const State &state) const {
  const Static &record = state.record;
  if (record.tied.empty())
    return record.of.empty() ? record.name : record.of;
  for (const State &other : states)
    if (other.record.name == record.tied && !other.record.of.empty())
      return other.record.of;
  return record.tied;
}

llvm::Error StepEngine::write(const State &state,
                              llvm::ArrayRef<uint8_t> bytes) const {
  return toError(device.write(*state.buffer, bytes.data()));
}

llvm::Error StepEngine::initialize() {
  for (const State &state : states) {
    std::vector<uint8_t> bytes(static_cast<size_t>(state.record.bytes));
    if (state.record.init)
      if (llvm::Error error = ranks::fillInitialValue(
              *state.record.init, options.seed, getOwner(state),
              state.record.shape, 0, bytes))
        return llvm::createStringError(
            "initial value of '" + state.record.name +
            "': " + llvm::toString(std::move(error)));
    // Values of a step may share memory with others.
    if (isOfStep(state.record.role) && !state.record.init)
      continue;
    if (llvm::Error error = write(state, bytes))
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
  std::set<std::string> known;
  for (const State &state : states) {
    if (state.record.role != Role::Parameter)
      continue;
    const std::string owner = getOwner(state);
    known.insert({owner, state.record.of});
    auto tensor = file->find(owner);
    if (!tensor)
      return tensor.takeError();
    std::vector<uint8_t> bytes(static_cast<size_t>(state.record.bytes));
    if (llvm::Error error =
            readTensor(owner, *tensor, state.record.shape, bytes))
      return error;
    if (llvm::Error error = write(state, bytes))
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
  for (const State &state : states) {
    if (state.record.role != role || state.record.space != Space::Host)
      continue;
    const auto count = static_cast<size_t>(state.record.shape.getNumElements());
    if (getBytes(state.record.shape.type) != sizeof(int32_t) ||
        count > values.size())
      return llvm::createStringError("'" + state.record.name +
                                     "' does not fit the data of a step");
    if (llvm::Error error =
            write(state, getBytesOf(values.data(), count * sizeof(int32_t))))
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
  for (const State &state : states) {
    const Role role = state.record.role;
    const bool isScalar = role == Role::StepNumber || role == Role::LossScale;
    if (state.record.space != Space::Host ||
        (!isScalar && role != Role::LearningRate))
      continue;
    std::vector<float> values(static_cast<size_t>(state.record.bytes) /
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
            state, getBytesOf(values.data(), values.size() * sizeof(float))))
      return error;
  }
  return llvm::Error::success();
}

llvm::Expected<ranks::StepOutput> StepEngine::readReports() const {
  ranks::StepReports reports;
  for (const State &state : states) {
    if (state.record.role != Role::Report ||
        state.record.space != Space::Host ||
        state.record.shape.type != DType::F32)
      continue;
    std::vector<float> values(static_cast<size_t>(state.record.bytes) /
                              sizeof(float));
    if (llvm::Error error = toError(device.read(*state.buffer, values.data())))
      return error;
    reports.add(0, state.record.of, values);
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

bool StepEngine::isTrained(const State &state) const {
  return llvm::any_of(states, [&](const State &other) {
    return other.record.role == Role::FirstMoment &&
           other.record.of == state.record.of;
  });
}

llvm::Expected<ranks::WholeTensors> StepEngine::collect(
    llvm::function_ref<std::string(const State &)> getName) const {
  ranks::WholeTensors tensors(mesh);
  for (const State &state : states) {
    const std::string name = getName(state);
    if (name.empty())
      continue;
    ranks::RankTensor part;
    part.shape = state.record.shape;
    auto bytes = std::make_shared<std::vector<uint8_t>>();
    part.read = [this, &state,
                 bytes]() -> llvm::Expected<llvm::ArrayRef<uint8_t>> {
      bytes->resize(static_cast<size_t>(state.record.bytes));
      if (llvm::Error error =
              toError(device.read(*state.buffer, bytes->data())))
        return error;
      return llvm::ArrayRef<uint8_t>(*bytes);
    };
    if (llvm::Error error = tensors.add(name, std::move(part)))
      return error;
  }
  return tensors;
}

llvm::Expected<ranks::WholeTensors> StepEngine::collectGradients() const {
  return collect([](const State &state) {
    if (state.record.role != Role::Gradient)
      return std::string();
    return state.record.of.empty() ? state.record.name : state.record.of;
  });
}

llvm::Expected<ranks::WholeTensors> StepEngine::collectParameters() const {
  return collect([&](const State &state) {
    return state.record.role == Role::Parameter && state.record.tied.empty()
               ? getOwner(state)
               : std::string();
  });
}

llvm::Expected<ranks::WholeTensors> StepEngine::collectTrained() const {
  return collect([&](const State &state) {
    return state.record.role == Role::Parameter && state.record.tied.empty() &&
                   isTrained(state)
               ? getOwner(state)
               : std::string();
  });
}

} // namespace mf::step
