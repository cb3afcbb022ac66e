//===- Interpreter.cpp - Runs models of the mf dialect --------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Interpreter/Interpreter.h"
#include "Chunks.h"
#include "Functions.h"
#include "Rank.h"
#include "mf/Decode/Attributes.h"
#include "mf/Exec/Data/Safetensors.h"
#include "llvm/ADT/TypeSwitch.h"
#include <thread>

using namespace mlir;

namespace mf::interpreter {

namespace {

/// Runs a schedule once.
class ScheduleRun {
public:
  explicit ScheduleRun(Rank &rank) : rank(rank), world(rank.getWorld()) {}

  LogicalResult runTask(Operation *task) {
    return llvm::TypeSwitch<Operation *, LogicalResult>(task)
        .Case<ir::LoadOp, ir::ReceiveOp, ir::SendOp, ir::RunForwardOp,
              ir::LossGradientOp, ir::RunRecomputeOp, ir::RunBackwardOp,
              ir::RunBackwardWeightsOp, ir::AccumulateLossOp, ir::RunUpdateOp>(
            [this](auto op) { return run(op); })
        .Default([](Operation *op) {
          return op->emitOpError("cannot be run: it is not a task of a "
                                 "schedule");
        });
  }

private:
  /// Values that a micro-batch keeps from a task of a chunk for later tasks.
  struct Frame {
    /// The residuals, followed by recomputed values and values that backward
    /// keeps for the half of the weights.
    SmallVector<Tensor> values;
    bool hasRunBackward = false;
  };

  LogicalResult bind(Value value, FailureOr<Tensor> tensor) {
    if (failed(tensor))
      return failure();
    values[value] = *tensor;
    return success();
  }
  SmallVector<Tensor> getTensors(ValueRange range) {
    return llvm::map_to_vector(
        range, [this](Value value) { return values.lookup(value); });
  }

  /// Binds the first tensors of a range, and returns the others.
  llvm::ArrayRef<Tensor> bindAll(ValueRange range,
                                 llvm::ArrayRef<Tensor> tensors) {
    for (auto [value, tensor] : llvm::zip(range, tensors))
      values[value] = tensor;
    return tensors.drop_front(range.size());
  }
  template <typename OpT> OpT lookup(FlatSymbolRefAttr symbol) {
    return world.symbols.lookup<OpT>(symbol.getValue());
  }

  LogicalResult run(ir::LoadOp load) {
    return bind(load.getResult(),
                rank.getInput(load, load.getInput(),
                              static_cast<int64_t>(load.getMicroBatch()),
                              load.getType()));
  }

  LogicalResult run(ir::ReceiveOp receive) {
    FailureOr<TensorShape> shape = getTensorShape(receive, receive.getType());
    if (failed(shape))
      return failure();
    return bind(receive.getResult(),
                world.exchange.receive(
                    receive,
                    {rank.getPeer(static_cast<int64_t>(receive.getStage())),
                     rank.getNumber(), receive.getChannel().str()},
                    static_cast<int64_t>(receive.getMicroBatch()), *shape));
  }

  LogicalResult run(ir::SendOp send) {
    world.exchange.send(send,
                        {rank.getNumber(),
                         rank.getPeer(static_cast<int64_t>(send.getStage())),
                         send.getChannel().str()},
                        static_cast<int64_t>(send.getMicroBatch()),
                        values.lookup(send.getValue()));
    return success();
  }

  LogicalResult run(ir::RunForwardOp run) {
    SmallVector<Tensor> results;
    rank.beginTask(static_cast<int64_t>(run.getMicroBatch()),
                   /*isForward=*/true);
    if (failed(runFunction(rank, lookup<ir::ForwardOp>(run.getForwardAttr()),
                           getTensors(run.getInputs()), &results)))
      return failure();
    llvm::append_range(frames[run.getFrame()].values,
                       bindAll(run.getOutputs(), results));
    return success();
  }

  LogicalResult run(ir::LossGradientOp loss) {
    return bind(loss.getResult(),
                rank.getLossGradient(loss, loss.getValue().convertToDouble(),
                                     loss.getScaled(), loss.getType()));
  }

  LogicalResult run(ir::RunRecomputeOp run) {
    auto frame = frames.find(run.getFrame());
    if (frame == frames.end() || frame->second.hasRunBackward)
      return run.emitOpError("cannot be run: expected its frame before the "
                             "backward run that reads it");
    rank.beginTask(static_cast<int64_t>(run.getMicroBatch()),
                   /*isForward=*/false);
    return runRecomputeFunction(
        rank, lookup<ir::RecomputeOp>(run.getRecomputeAttr()),
        getTensors(run.getArguments()), frame->second.values);
  }

  LogicalResult run(ir::RunBackwardOp run) {
    auto frame = frames.find(run.getFrame());
    if (frame == frames.end() || frame->second.hasRunBackward)
      return run.emitOpError("cannot be run: another backward run has read "
                             "its frame already");
    rank.beginTask(static_cast<int64_t>(run.getMicroBatch()),
                   /*isForward=*/false);
    FailureOr<SmallVector<Tensor>> hidden = runBackwardFunction(
        rank, lookup<ir::BackwardOp>(run.getBackwardAttr()),
        getTensors(run.getArguments()), frame->second.values);
    if (failed(hidden))
      return failure();
    (void)bindAll(run.getInputGradients(), *hidden);
    frame->second.hasRunBackward = true;
    // Its weights' half reads on.
    if (llvm::none_of(run.getFrame().getUsers(), [](Operation *user) {
          return isa<ir::RunBackwardWeightsOp>(user);
        }))
      frames.erase(frame);
    return success();
  }

  LogicalResult run(ir::RunBackwardWeightsOp run) {
    auto frame = frames.find(run.getFrame());
    if (frame == frames.end() || !frame->second.hasRunBackward)
      return run.emitOpError("cannot be run: expected its frame behind the "
                             "backward run that adds to it, and once");
    SmallVector<Tensor> values = std::move(frame->second.values);
    frames.erase(frame);
    rank.beginTask(static_cast<int64_t>(run.getMicroBatch()),
                   /*isForward=*/false);
    return runWeightsFunction(
        rank, lookup<ir::BackwardWeightsOp>(run.getWeightsAttr()),
        getTensors(run.getArguments()), values);
  }

  LogicalResult run(ir::AccumulateLossOp add) {
    return rank.addLoss(add, values.lookup(add.getLoss()),
                        getPart(add.getLoss()));
  }

  /// Returns the part of a forward run's output in the step's loss.
  ir::LossPart getPart(Value output) {
    auto result = dyn_cast<OpResult>(output);
    auto run = output.getDefiningOp<ir::RunForwardOp>();
    if (!run)
      return {};
    SmallVector<ir::LossPart> parts =
        ir::findLossParts(lookup<ir::ForwardOp>(run.getForwardAttr()));
    const size_t number = llvm::count_if(
        run.getOutputs().take_front(result.getResultNumber()),
        [](Value before) { return ir::isLoss(before.getType()); });
    return number < parts.size() ? parts[number] : ir::LossPart();
  }

  LogicalResult run(ir::RunUpdateOp run) {
    return rank.runUpdate(lookup<ir::UpdateOp>(run.getUpdateAttr()));
  }

  Rank &rank;
  World &world;
  Environment values;
  /// The frames by the values of the IR.
  llvm::DenseMap<Value, Frame> frames;
};

} // namespace

/// Runs the tasks of `schedule` in order.
static LogicalResult runSchedule(Rank &rank, ir::ScheduleOp schedule) {
  ScheduleRun run(rank);
  for (Operation &task : schedule.getBody().front())
    if (failed(run.runTask(&task)))
      return failure();
  return success();
}

/// A model whose layers have no placement yet is whole on the ranks of one
/// stage.
static FailureOr<program::Mesh> decodeMesh(ir::ModelOp model,
                                           int64_t numStages) {
  auto module = model->getParentOfType<ModuleOp>();
  auto layers = model.getBody().getOps<ir::LayerOp>();
  auto mesh = ir::MeshAttr::find(model);
  if (!mesh || layers.empty() || llvm::any_of(layers, [](ir::LayerOp layer) {
        return layer.getPlacementAttr() != nullptr;
      }))
    return program::decodeMesh(module, numStages);
  FailureOr<program::Mesh> given =
      program::decodeMesh(module, mesh.getSize(program::stageAxis));
  if (failed(given))
    return failure();
  std::vector<program::Axis> axes = given->getAxes();
  axes.front().size = 1;
  return program::Mesh(std::move(axes));
}

static program::LossScale getLossScale(ir::TrainingAttr training) {
  program::LossScale scale;
  scale.value = static_cast<float>(training.getLossScale().convertToDouble());
  if (ir::LossScaleUpdateAttr update = training.getLossScaleUpdate()) {
    scale.factor = update.getFactor();
    scale.window = update.getWindow();
  }
  return scale;
}

class Interpreter::State {
public:
  State(ir::ModelOp model, const ranks::TrainingOptions &options)
      : world(model, options,
              options.threads > 0
                  ? options.threads
                  : static_cast<int>(std::thread::hardware_concurrency())) {}

  LogicalResult prepare() {
    ir::ModelOp model = world.model;
    ir::TrainingAttr training = model.getTrainingAttr();
    int64_t copies = training ? training.getParallel().getCopies() : 1;
    world.runs = training ? training.getParallel().getMicroBatches()
                          : world.options.microBatches;
    world.microBatches = world.runs * copies;
    // Layers are not copied yet.
    if (!model.getBody().getOps<ir::LayerOp>().empty())
      world.runs = world.microBatches;
    FailureOr<std::vector<std::unique_ptr<Chunk>>> collected =
        collectChunks(model);
    if (failed(collected) || failed(collectSchedules()))
      return failure();
    llvm::ArrayRef<std::unique_ptr<Chunk>> chunks = *collected;
    llvm::append_range(updates, model.getBody().getOps<ir::UpdateOp>());
    if (failed(collectProperties(haveBackward(chunks))))
      return failure();

    auto numStages = static_cast<int64_t>(schedules.size());
    const auto most =
        static_cast<int64_t>(std::max(schedules.size(), chunks.size()));
    for (const std::unique_ptr<Chunk> &chunk : chunks) {
      if (chunk->getStage() < 0 || chunk->getStage() >= most)
        return chunk->getFunction()->emitOpError("is on stage ")
               << chunk->getStage() << ", but there are no more than " << most
               << " stages";
      numStages = std::max(numStages, chunk->getStage() + 1);
    }
    FailureOr<program::Mesh> mesh = decodeMesh(model, numStages);
    if (failed(mesh))
      return failure();
    world.mesh = std::move(*mesh);
    properties.ranksPerStage = world.mesh.getRanksPerStage();
    for (int64_t number = 0; number < world.mesh.getNumRanks(); ++number) {
      const int64_t stage = world.mesh.getStage(number);
      llvm::StringSet<> trained;
      for (const std::unique_ptr<Chunk> &chunk : chunks)
        if (chunk->getStage() == stage && chunk->getGradients())
          for (auto name :
               chunk->getGradients().getAsRange<FlatSymbolRefAttr>())
            trained.insert(name.getValue());
      ranks.emplace_back(world, number, stage, std::move(trained));
      chunksOfRanks.push_back(*collectChunks(model));
    }
    return success();
  }

  LogicalResult runStep(const ranks::StepInput &input) {
    world.input = input;
    world.exchange.clear();
    return success(
        succeeded(world.scheduler.run(
            ranks.size(), [&](size_t rank) { return runRank(ranks[rank]); })) &&
        succeeded(world.exchange.checkAllReceived()));
  }

  ranks::StepOutput getOutput() const {
    ranks::StepReports reports;
    for (const Rank &rank : ranks)
      rank.forEachReport([&](const std::string &quantity, const Tensor &value) {
        reports.add(rank.getStage(), quantity, value.getElements<float>());
      });
    return ranks::StepOutput(reports);
  }

  World world;
  /// Either a schedule for each stage, or chunks. Each rank has its own chunks,
  /// because ranks take turns while a chunk runs.
  SmallVector<ir::ScheduleOp> schedules;
  std::vector<std::vector<std::unique_ptr<Chunk>>> chunksOfRanks;
  SmallVector<ir::UpdateOp> updates;
  std::vector<Rank> ranks;
  ranks::TrainingProperties properties;

private:
  /// Orders schedules by stage. There must be one for each.
  LogicalResult collectSchedules() {
    for (auto schedule : world.model.getBody().getOps<ir::ScheduleOp>())
      schedules.push_back(schedule);
    llvm::sort(schedules, [](ir::ScheduleOp a, ir::ScheduleOp b) {
      return a.getStage() < b.getStage();
    });
    for (auto [stage, schedule] : llvm::enumerate(schedules))
      if (schedule.getStage() != stage)
        return schedule.emitOpError(
                   "expected one schedule for each stage, but stage ")
               << stage << " has none or two";
    return success();
  }

  LogicalResult collectProperties(bool hasBackward) {
    ir::ModelOp model = world.model;
    properties.kind = "model";
    properties.hasBackward = hasBackward;
    properties.hasUpdate =
        schedules.empty()
            ? !updates.empty()
            : llvm::any_of(schedules, [](ir::ScheduleOp schedule) {
                return !schedule.getBody().getOps<ir::RunUpdateOp>().empty();
              });
    BatchOptions &batch = properties.batch;
    batch.sequenceLength = static_cast<int64_t>(model.getSequenceLength());
    batch.batchSize = static_cast<int64_t>(model.getMicroBatchSize());
    batch.microBatches = world.microBatches;
    batch.vocabularySize = static_cast<int64_t>(model.getVocabSize());
    batch.ignoreIndex = static_cast<int32_t>(model.getIgnoreIndex());
    if (static_cast<int64_t>(model.getPadTokenId()) >= 0)
      batch.padTokenId = model.getPadTokenId();
    auto module = model->getParentOfType<ModuleOp>();
    if (auto mesh = ir::MeshAttr::find(model); module && mesh) {
      FailureOr<program::Mesh> decoded =
          program::decodeMesh(module, mesh.getSize(program::stageAxis));
      if (failed(decoded) ||
          failed(program::decodeSampleOrder(module, batch.sampleOrder)))
        return failure();
      batch.replicas = decoded->getNumParts(decoded->getFactors("dp"));
    }
    ir::TrainingAttr training = model.getTrainingAttr();
    if (!training)
      return success();
    properties.lossScale = getLossScale(training);
    NamedAttrList attributes(training.getLrSchedule().getParameters());
    attributes.set("type", training.getLrSchedule().getType());
    FailureOr<program::LearningRateRule> schedule = program::decodeLrSchedule(
        model, attributes.getDictionary(model.getContext()));
    if (failed(schedule))
      return failure();
    properties.lrSchedule = *schedule;
    return success();
  }

  LogicalResult runRank(Rank &rank) {
    rank.beginStep();
    if (!schedules.empty()) {
      if (failed(runSchedule(rank, schedules[rank.getStage()])))
        return failure();
      return rank.endStep();
    }
    if (failed(runChunks(rank, chunksOfRanks[rank.getNumber()])))
      return failure();
    for (ir::UpdateOp update : updates)
      if (static_cast<int64_t>(update.getStage()) == rank.getStage() &&
          failed(rank.runUpdate(update)))
        return failure();
    return rank.endStep();
  }
};

Interpreter::Interpreter(std::unique_ptr<State> state)
    : state(std::move(state)) {}
Interpreter::~Interpreter() = default;

FailureOr<std::unique_ptr<Interpreter>>
Interpreter::create(ir::ModelOp model, const ranks::TrainingOptions &options) {
  auto state = std::make_unique<State>(model, options);
  if (failed(state->prepare()))
    return failure();
  return std::unique_ptr<Interpreter>(new Interpreter(std::move(state)));
}

ranks::TrainingProperties Interpreter::getProperties() const {
  return state->properties;
}

llvm::Error Interpreter::check() {
  const ranks::TrainingOptions &options = state->world.options;
  const char *wrong = nullptr;
  if (!options.checkpointFolder.empty())
    wrong = "--checkpoint-dir";
  else if (options.debugMemory)
    wrong = "--debug-memory";
  else if (options.deviceToHostRate > 0 || options.hostToDeviceRate > 0)
    wrong = "--d2h-gbps and --h2d-gbps";
  if (wrong)
    return llvm::createStringError(
        llvm::Twine(wrong) +
        ": a model has no memory and no streams; lower it with mf-opt "
        "--recompute-config=FILE");
  const bool dumpsGradients = !options.dumpGradientsPath.empty() ||
                              !options.dumpGradientsFolder.empty();
  if (dumpsGradients && !state->properties.hasBackward)
    return llvm::createStringError("--dump-gradients: the model has no "
                                   "backward yet; run mf-build-backward "
                                   "or lower it");
  return llvm::Error::success();
}

llvm::Error Interpreter::start(ranks::NoteUser note) {
  ranks::TrainingOptions &options = state->world.options;
  const std::vector<std::string> paths = options.getInitPaths();
  if (paths.empty())
    return llvm::Error::success();
  auto file = SafetensorsCheckpoint::openAll(paths);
  if (!file)
    return file.takeError();
  state->world.parameters.emplace(std::move(*file));
  for (const std::string &name : state->world.parameters->getNames())
    if (!state->world.symbols.lookup<ir::ParamOp>(name))
      note(llvm::join(paths, ", ") + ": tensor '" + name +
           "' is not a parameter of the model");
  // Adapters are not in the files of the model without them.
  const bool tunes =
      llvm::any_of(state->world.model.getBody().getOps<ir::ParamOp>(),
                   [](ir::ParamOp param) { return param.getUntrained(); });
  options.changeParameter =
      [this, tunes](llvm::StringRef name, const TensorShape &shape,
                    llvm::MutableArrayRef<uint8_t> bytes) -> llvm::Error {
    auto param = state->world.symbols.lookup<ir::ParamOp>(name);
    if (tunes && param && param.needsGradient() &&
        !state->world.parameters->lookup(name))
      return llvm::Error::success();
    auto tensor = state->world.parameters->find(name);
    return tensor ? readTensor(name, *tensor, shape, bytes)
                  : tensor.takeError();
  };
  return llvm::Error::success();
}

llvm::Expected<ranks::StepOutput>
Interpreter::runStep(const ranks::StepInput &input,
                     llvm::function_ref<llvm::Error()> useGradients) {
  if (failed(state->runStep(input)))
    return llvm::make_error<ranks::ReportedError>();
  // The ranks keep their gradients.
  if (useGradients)
    if (llvm::Error error = useGradients())
      return error;
  return state->getOutput();
}

/// A gradient that has not been reduced is a sum over the ranks.
llvm::Expected<ranks::WholeTensors> Interpreter::collectGradients() const {
  ranks::WholeTensors gradients(state->world.mesh);
  for (const Rank &rank : state->ranks)
    if (llvm::Error error = rank.addGradients(gradients))
      return error;
  return gradients;
}

llvm::Expected<ranks::WholeTensors> Interpreter::collectParameters() const {
  ranks::WholeTensors parameters(state->world.mesh);
  for (const Rank &rank : state->ranks)
    if (llvm::Error error = rank.addParameters(parameters))
      return error;
  return parameters;
}

llvm::Expected<ranks::WholeTensors> Interpreter::collectTrained() const {
  ranks::WholeTensors parameters(state->world.mesh);
  for (const Rank &rank : state->ranks)
    if (llvm::Error error =
            rank.addParameters(parameters, /*trainedOnly=*/true))
      return error;
  return parameters;
}

} // namespace mf::interpreter
