//===- ChoiceCosts.cpp - Costs of MindSpore's choices ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Plan/Settings/ChoiceCosts.h"
#include "dialects/mf/DiscardableAttributes.h"
#include "dialects/mf/MfOps.h"
#include "mf/Frontend/Config/BatchRules.h"
#include "mf/Frontend/Config/ConfigReader.h"
#include "mf/Frontend/Config/ModelKeys.h"
#include "mf/Frontend/Config/RankLayout.h"
#include "mf/Frontend/Config/YamlReader.h"
#include "mf/Layers/LayerSettings.h"
#include "mf/Support/Diagnostic.h"

using namespace mf;
using namespace mf::planner;
using llvm::Expected;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

namespace {

/// The model of a step, and the context it is in.
struct ParsedModel {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;

  ParsedModel() : context(mlir::MLIRContext::Threading::DISABLED) {}

  llvm::Error read(const CompilerInput &input, StringRef yaml) {
    Expected<mlir::OwningOpRef<mlir::ModuleOp>> read =
        readModel(input, yaml, context);
    if (!read)
      return read.takeError();
    module = std::move(*read);
    return llvm::Error::success();
  }

  std::string print() {
    std::string text;
    llvm::raw_string_ostream os(text);
    module->print(os);
    return text;
  }
};

} // namespace

/// Returns the narrower value from which the input of an fp32 softmax was cast,
/// if all readers of its result cast it back. Null if there is none.
static mlir::Value findNarrowInput(ir::SoftmaxOp softmax) {
  auto widen = softmax.getInput().getDefiningOp<ir::CastOp>();
  if (!widen)
    return {};
  mlir::Value narrow = widen.getInput();
  auto isBack = [&](mlir::Operation *user) {
    return mlir::isa<ir::CastOp>(user) &&
           user->getResult(0).getType() == narrow.getType();
  };
  return llvm::all_of(softmax->getUsers(), isBack) ? narrow : mlir::Value();
}

static void narrow(ir::SoftmaxOp softmax) {
  const mlir::Value input = findNarrowInput(softmax);
  mlir::Operation *widen = softmax.getInput().getDefiningOp();
  softmax->setOperand(0, input);
  softmax->getResult(0).setType(input.getType());
  for (mlir::Operation *back :
       llvm::make_early_inc_range(softmax->getUsers())) {
    back->getResult(0).replaceAllUsesWith(softmax->getResult(0));
    back->erase();
  }
  if (widen->use_empty())
    widen->erase();
}

static void narrowSoftmax(mlir::ModuleOp module) {
  llvm::SmallVector<ir::SoftmaxOp> wide;
  module.walk([&](ir::SoftmaxOp softmax) {
    if (findNarrowInput(softmax))
      wide.push_back(softmax);
  });
  llvm::for_each(wide, narrow);
}

/// Returns whether the states of a parameter could be sharded, because nothing
/// about the parameter forbids it.
static bool isLeftWhole(ir::ParamOp param) {
  return !param.getParallelOptimizer() && !param.getFrozen() &&
         !param.getUpdateRule();
}

static void shareWhole(mlir::ModuleOp module) {
  module.walk([](ir::ParamOp param) {
    if (isLeftWhole(param))
      param.setParallelOptimizer(true);
  });
}

template <typename OpT>
static bool has(mlir::ModuleOp module, bool (*matches)(OpT)) {
  return module
      ->walk([&](OpT op) {
        return matches(op) ? mlir::WalkResult::interrupt()
                           : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

static std::string show(const KeyChange::Value &value) {
  if (const bool *isOn = std::get_if<bool>(&value))
    return *isOn ? "True" : "False";
  if (const int64_t *number = std::get_if<int64_t>(&value))
    return std::to_string(*number);
  return std::get<std::string>(value);
}

static bool isTrue(const LayerSetting &setting) {
  return setting.kind == LayerSetting::Kind::Selection &&
         setting.selection.kind == LayerSelection::Kind::Bool &&
         setting.selection.flag;
}

/// Returns whether a layer rounds a weight itself, because the rank has no
/// rounded copy of it.
static bool roundsWeight(ir::CastOp cast) {
  auto read = cast.getInput().getDefiningOp<ir::GetParamOp>();
  if (!read)
    return false;
  auto param = cast->getParentOfType<ir::ModelOp>().lookupSymbol<ir::ParamOp>(
      read.getParam());
  return ir::KeptType::find(param) !=
         mlir::getElementTypeOrSelf(cast.getType());
}

namespace {

class ChoiceFinder {
public:
  ChoiceFinder(const TrainingConfig &config, Node written)
      : config(config), written(std::move(written)) {}

  std::vector<MemoryChoice> find(const CompilerInput &input,
                                 mlir::ModuleOp model) {
    if (config.isOfDynamicGraph()) {
      addSharing();
    } else {
      addRecompute();
      addOptimizer();
    }
    addModel(model);
    if (config.isOfDynamicGraph())
      addCopies(input.lowering, model);
    if (!input.lowering.fuseAccumulation) {
      MemoryChoice choice{"gradients added up in fp32", "converted first",
                          "converted as they are added"};
      choice.lowering = input.lowering;
      choice.lowering->fuseAccumulation = true;
      choices.push_back(std::move(choice));
    }
    return std::move(choices);
  }

private:
  /// Adds a bool of recompute_config that is False and could be True.
  void addSwitch(StringRef key) {
    const Node value = config.recompute.node[key];
    addKey("recompute_config." + key.str(), value ? value.repr(24) : "False",
           true);
  }
  void addKey(const std::string &path, const std::string &given,
              KeyChange::Value value) {
    std::string instead = show(value);
    choices.push_back({path, given, std::move(instead), {{path, value}}});
  }

  void addRecompute() {
    const RecomputeConfig &recompute = config.recompute;
    const ParallelConfig &parallel = config.parallel;
    const bool hasTensorRanks =
        parallel.isSemiOrAuto() && parallel.modelParallel > 1;
    if (hasTensorRanks && !recompute.mpCommRecompute)
      addSwitch("mp_comm_recompute");
    if (hasTensorRanks && parallel.useSeqParallel &&
        !isTrue(recompute.selectCommRecompute))
      addSwitch(getName(LayerKey::SelectCommRecompute));
    if (hasTensorRanks && !recompute.recomputeSliceActivation)
      addSwitch("recompute_slice_activation");
    // With several backward passes, weights are gathered once in a step.
    if (sharesStates() && parallel.enableParallelOptimizer &&
        parallel.pipelineStage == 1 &&
        !recompute.parallelOptimizerCommRecompute)
      addSwitch("parallel_optimizer_comm_recompute");
  }

  void addOptimizer() {
    const ParallelConfig &parallel = config.parallel;
    if (!sharesStates())
      return;
    if (!parallel.enableParallelOptimizer)
      return addKey("parallel.enable_parallel_optimizer", "False", true);
    const std::string section = "parallel.parallel_optimizer_config.";
    for (int64_t level = parallel.optimizerShard.level + 1; level <= 3; ++level)
      addKey(section + "optimizer_level",
             "level" + std::to_string(parallel.optimizerShard.level),
             "level" + std::to_string(level));
    if (parallel.optimizerShard.weightShardSize > 0)
      addKey(section + "optimizer_weight_shard_size",
             std::to_string(parallel.optimizerShard.weightShardSize),
             int64_t(-1));
    if (parallel.optimizerShard.threshold > 0)
      addKey(section + "parallel_optimizer_threshold",
             std::to_string(parallel.optimizerShard.threshold), int64_t(0));
  }

  void addModel(mlir::ModuleOp model) {
    const int64_t blocks =
        keys::rowBlocks.find(config.model.config).getInt().value_or(1);
    if (blocks > 1)
      addKey("model.model_config." + keys::rowBlocks.getName().str(),
             std::to_string(blocks), int64_t(1));
    if (has<ir::SoftmaxOp>(model, [](ir::SoftmaxOp softmax) {
          return findNarrowInput(softmax) != nullptr;
        }))
      choices.push_back(
          {"softmax", "in fp32", "in its input's type", {}, narrowSoftmax});
    // The dynamic graph's trainer cuts all of these states, so there is nothing
    // to decide.
    const ParallelConfig &parallel = config.parallel;
    if (!config.isOfDynamicGraph() && parallel.enableParallelOptimizer &&
        sharesStates() && has<ir::ParamOp>(model, isLeftWhole))
      choices.push_back({"states of tables, norms and biases",
                         "on each rank",
                         "sharded",
                         {},
                         shareWhole});
  }

  /// Adds keys of the dynamic graph's YAML that decide what ranks store in
  /// parts.
  void addSharing() {
    const ParallelConfig &parallel = config.parallel;
    if (parallel.getDeviceCount() == parallel.pipelineStage)
      return;
    const Node section = written["parallelism"];
    const std::string path = "parallelism.";
    if (parallel.pipelineStage == 1) {
      const StringRef key = "reshard_after_forward_policy";
      const Node value = section[key];
      const std::string given = value ? value.getText().str() : "default";
      for (const char *other : {"default", "always", "never"})
        if (given != other)
          addKey(path + key.str(), given, other);
    }
    if (parallel.optimizerShard.weightShardSize > 0)
      addKey(path + "data_parallel_shard",
             section["data_parallel_shard"].repr(24), int64_t(-1));
  }

  /// Returns whether a stage has several ranks, in whatever parallel mode.
  bool sharesStates() const {
    DiagnosticList ignored;
    const RankLayout ranks = resolveRanks(config, ignored);
    return ranks.getNumRanks() > ranks.pipelineStages;
  }

  /// As lowering does, the trainer converts such weights wherever they are
  /// read.
  void addCopies(const passes::LoweringOptions &lowering,
                 mlir::ModuleOp model) {
    if (lowering.castOnce || !has<ir::CastOp>(model, roundsWeight))
      return;
    MemoryChoice choice{"weights that layers read in a narrower type",
                        "converted where they are read",
                        "converted once per step"};
    choice.lowering = lowering;
    choice.lowering->castOnce = true;
    choices.push_back(std::move(choice));
  }

  const TrainingConfig &config;
  /// The document, before sections of the dynamic graph are translated.
  Node written;
  std::vector<MemoryChoice> choices;
};

} // namespace

Expected<std::vector<MemoryChoice>>
planner::findChoices(const CompilerInput &input, StringRef yaml) {
  DiagnosticList diagnostics;
  const TrainingConfig config =
      parseTrainingConfig(yaml, input.fileName, diagnostics);
  if (diagnostics.hasErrors())
    return toError(diagnostics);
  ParsedModel model;
  if (llvm::Error error = model.read(input, yaml))
    return std::move(error);
  DiagnosticList known;
  return ChoiceFinder(config, parseYaml(yaml, input.fileName, known))
      .find(input, *model.module);
}

/// Returns the settings of a choice with the passes that the YAML then has.
/// Several choices may have changed these before.
static MemorySettings addPasses(StringRef yaml, StringRef fileName,
                                const MemoryChoice &choice) {
  MemorySettings settings = choice.settings.value_or(MemorySettings());
  DiagnosticList ignored;
  const TrainingConfig config = parseTrainingConfig(yaml, fileName, ignored);
  const int64_t stages = config.parallel.pipelineStage;
  const int64_t stagesThen = settings.stages.value_or(stages);
  int64_t passes = resolveBatch(config, std::nullopt, ignored).getPasses();
  const int64_t multiple = passes * choice.passes->times;
  if (multiple % choice.passes->by == 0 &&
      multiple / choice.passes->by >= stagesThen)
    passes = multiple / choice.passes->by;
  (stagesThen > 1 ? settings.microBatches : settings.gradientAccumulation) =
      passes;
  if (stages == 1 && stagesThen > 1)
    settings.gradientAccumulation = 1;
  return settings;
}

Expected<std::string> planner::applyChoice(StringRef yaml, StringRef fileName,
                                           const MemoryChoice &choice) {
  std::string text = yaml.str();
  if (!choice.changes.empty()) {
    Expected<std::string> changed =
        applyKeyChanges(text, fileName, choice.changes);
    if (!changed)
      return changed.takeError();
    text = std::move(*changed);
  }
  if (choice.passes)
    return applySettings(text, fileName, addPasses(yaml, fileName, choice));
  return choice.settings ? applySettings(text, fileName, *choice.settings)
                         : Expected<std::string>(std::move(text));
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

static StagePeak findFullest(const program::Program &program) {
  StagePeak peak;
  for (const program::StageProgram &stage : program.stages)
    if (stage.getLimitedBytes() > peak.bytes)
      peak = {stage.stage, stage.getLimitedBytes()};
  return peak;
}

static ChoiceCost measure(MemoryChoice choice, CompilerInput input,
                          StringRef yaml) {
  ChoiceCost cost{std::move(choice), std::nullopt, ""};
  auto fail = [&](llvm::Error error) {
    cost.problem = llvm::toString(std::move(error));
    return cost;
  };
  Expected<std::string> text = applyChoice(yaml, input.fileName, cost.choice);
  if (!text)
    return fail(text.takeError());
  if (cost.choice.editModel) {
    ParsedModel model;
    if (llvm::Error error = model.read(input, *text))
      return fail(std::move(error));
    cost.choice.editModel(*model.module);
    input.model = model.print();
  }
  if (cost.choice.lowering)
    input.lowering = *cost.choice.lowering;
  Expected<CompiledStep> step = compileStep(input, *text, PlanEffort::Full);
  if (!step)
    return fail(step.takeError());
  cost.peak = findFullest(step->program);
  return cost;
}

/// Returns the tables that MindSpore Transformers keeps in memory although a
/// kernel could do without them.
static std::vector<HeldBytes> findHeld(const program::StageProgram &stage) {
  using Kind = program::InitialValue::Kind;
  HeldBytes masks{"attention masks"}, gathered{"parameters gathered for the "
                                               "whole step"};
  for (const program::Static &held : stage.statics) {
    if (held.space != program::Space::Device)
      continue;
    if (held.init &&
        (held.init->kind == Kind::CausalMask || held.init->kind == Kind::Alibi))
      masks.bytes += held.bytes;
    if (held.role == program::Role::Gathered)
      gathered.bytes += held.bytes;
  }
  std::vector<HeldBytes> all = {masks, gathered};
  llvm::erase_if(all, [](const HeldBytes &held) { return held.bytes == 0; });
  return all;
}

Expected<ChoiceCosts> planner::measureChoices(const CompilerInput &input,
                                              StringRef yaml) {
  Expected<CompiledStep> step = compileStep(input, yaml, PlanEffort::Full);
  if (!step)
    return step.takeError();
  Expected<std::vector<MemoryChoice>> choices = findChoices(input, yaml);
  if (!choices)
    return choices.takeError();
  ChoiceCosts result;
  result.given = findFullest(step->program);
  for (const program::StageProgram &stage : step->program.stages)
    if (stage.stage == result.given.stage)
      result.held = findHeld(stage);
  for (MemoryChoice &choice : *choices)
    result.costs.push_back(measure(std::move(choice), input, yaml));
  return result;
}
