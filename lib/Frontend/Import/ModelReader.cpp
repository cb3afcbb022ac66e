//===- ModelReader.cpp - Reads the model of a YAML ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Import/ModelReader.h"
#include "ExpertReader.h"
#include "FamilyReaders.h"
#include "mf/Frontend/Config/KnownKeys.h"
#include "mf/Support/NearestName.h"
#include "llvm/ADT/StringExtras.h"

namespace mf {

//===----------------------------------------------------------------------===//
// The config.json of a YAML's model
//===----------------------------------------------------------------------===//

/// Returns pretrained_model_dir if it is text, or an undefined node if it is
/// missing or empty.
static Node findPretrainedFolder(const TrainingConfig &config) {
  Node folder = config.root["pretrained_model_dir"];
  return folder.isString() && !folder.getText().empty() ? folder : Node();
}

void addPretrainedConfig(const Node &root, TrainingConfig &config,
                         DiagnosticList &diagnostics) {
  if (!root.isMap()) {
    if (!diagnostics.hasErrors())
      diagnostics.error(root.getLocation(),
                        "expected a map, but got " + describe(root.getKind()));
    return;
  }
  const Node &written = config.model.config;
  auto merged = std::make_shared<NodeData>();
  merged->kind = NodeKind::Map;
  const Location place =
      (written.isMap() ? written : config.root).getLocation();
  merged->line = place.line;
  merged->column = place.column;
  merged->file = std::make_shared<std::string>(place.file);
  merged->entries = written.getEntries();
  for (const Node::Entry &entry : root.getEntries())
    if (!written[entry.key.getText()])
      merged->entries.push_back(entry);
  config.model.config = Node(std::move(merged));
}

/// Emits an error if a config.json was added: only mcore models read it.
/// Returns true if there was none.
static bool checkNoPretrainedConfig(const TrainingConfig &config,
                                    DiagnosticList &diagnostics) {
  const Node written = config.model.node["model_config"];
  if (config.model.config.getEntries().size() == written.getEntries().size())
    return true;
  diagnostics.error(
      {},
      "expected an mcore model (Qwen3) for --pretrained-config: other networks "
      "take all from model_config; --import-hf imports a config.json alone");
  return false;
}

/// Emits an error if the YAML of an mcore model leaves sizes to the config.json
/// in pretrained_model_dir and that file was not given. Returns true if no size
/// is missing.
static bool checkPretrainedSizes(const TrainingConfig &config,
                                 DiagnosticList &diagnostics) {
  const Node folder = findPretrainedFolder(config);
  if (!folder)
    return true;
  llvm::SmallVector<llvm::StringRef> missing;
  for (const ModelKey *key :
       {&keys::vocabSize, &keys::hiddenSize, &keys::numLayers, &keys::numHeads,
        &keys::feedForwardSize}) {
    const auto names = key->getNames(keys::Mcore);
    if (!config.model.config[findWritten(config.model.config, names)])
      missing.push_back(names.front());
  }
  if (missing.empty())
    return true;
  diagnostics.error(folder.getLocation(),
                    "model_config leaves " + llvm::join(missing, ", ") +
                        " to the config.json in 'pretrained_model_dir'; pass "
                        "that file with --pretrained-config");
  return false;
}

//===----------------------------------------------------------------------===//
// Architecture
//===----------------------------------------------------------------------===//

namespace {
struct Architecture {
  llvm::StringLiteral name;
  FamilyReader read;
  keys::Naming naming;

  bool isMcore() const { return naming == keys::Mcore; }
};
} // namespace

/// Network classes of model.arch.type or, in the mcore training graph, of
/// model_config.architectures and model_config.model_type. Two classes of one
/// name differ in where it is written.
static constexpr Architecture architectures[] = {
#define MODEL_CLASS(NAME, READER, NAMING) {NAME, READER, keys::NAMING},
#include "ModelClasses.def"
};

/// Returns the node that names the network: model.arch.type, or else the first
/// of architectures, or else model_type, or else the configuration's class.
static Node findArchitecture(const TrainingConfig &config) {
  Node arch = config.model.node["arch"];
  for (const Node &node : {arch["type"], arch})
    if (node.isString())
      return node;
  Node list = keys::architectures.find(config.model.config);
  if (list.isList() && !list.getElements().empty())
    return list.getElements().front();
  if (list.isString())
    return list;
  for (const ModelKey *key : {&keys::modelType, &keys::configType})
    if (Node node = key->find(config.model.config); node.isString())
      return node;
  return {};
}

/// Reads the low-rank adapters of a model without a prefix.
static std::optional<LoraSpec> readAdapters(const TrainingConfig &config,
                                            bool isMcore,
                                            std::optional<Release> release,
                                            DiagnosticList &diagnostics) {
  const Node &adapters = config.model.adapters;
  const Node network = findArchitecture(config);
  if (config.isOfDynamicGraph()) {
    if (Node other = keys::adapters.find(config.model.config))
      diagnostics.error(other.getLocation(),
                        "the dynamic graph has no 'pet_config'; expected "
                        "lora_config, a section beside 'model'");
    return readDynamicLora(adapters, diagnostics);
  }
  if (!isMcore && asksForPrefix(adapters, network))
    return std::nullopt;
  return readLora(adapters, network, isMcore, release, diagnostics);
}

/// Adds a note if the description of the model is in a folder that the YAML
/// names.
static void attachPretrainedNote(const TrainingConfig &config,
                                 Diagnostic &error) {
  if (Node folder = findPretrainedFolder(config))
    error.attachNote(
        "pass the config.json of this folder with --pretrained-config",
        folder.getLocation());
}

static const Architecture *readArchitecture(const TrainingConfig &config,
                                            DiagnosticList &diagnostics) {
  Node name = findArchitecture(config);
  if (!name.isString()) {
    Location place =
        name ? name.getLocation() : config.model.node.getLocation();
    Diagnostic &error = diagnostics.error(
        place, "expected the network's class in model.arch.type or "
               "model.model_config.architectures");
    attachPretrainedNote(config, error);
    return nullptr;
  }
  Node arch = config.model.node["arch"];
  const bool isInArch = arch.isString() || arch["type"].isString();
  const llvm::StringRef wanted = getAdaptedClass(name.getText());
  llvm::SmallVector<llvm::StringRef> names;
  const Architecture *found = nullptr;
  for (const Architecture &architecture : architectures) {
    if (!llvm::is_contained(names, architecture.name))
      names.push_back(architecture.name);
    if (wanted == architecture.name &&
        (!found || architecture.isMcore() != isInArch))
      found = &architecture;
  }
  if (found)
    return found;
  diagnostics
      .error(name.getLocation(), "unknown architecture " +
                                     quote(name.getText()) +
                                     suggestName(name.getText(), names))
      .attachNote("supported are " + llvm::join(names, ", "));
  return nullptr;
}

/// Says whether the class of the configuration, which has the defaults of
/// missing keys in MindSpore Transformers, is another than that of the network,
/// whose defaults hold here. A class of the user's own is not known.
static void checkConfigClass(const TrainingConfig &config,
                             const Architecture &network,
                             DiagnosticList &diagnostics) {
  const ModelKey &key = network.isMcore() ? keys::modelType : keys::configType;
  const Node type = key.find(config.model.config);
  const Node name = findArchitecture(config);
  if (type.isUndefinedOrNull() || type.getLocation() == name.getLocation() ||
      config.model.config["auto_register"])
    return;
  llvm::SmallVector<llvm::StringRef> names;
  const Architecture *found = nullptr;
  for (const Architecture &known : architectures) {
    const llvm::StringRef other = known.name;
    if (known.isMcore() != network.isMcore() ||
        (known.isMcore() ? other.lower() != other : !other.ends_with("Config")))
      continue;
    names.push_back(other);
    if (other == type.getText())
      found = &known;
  }
  const std::string own =
      " (missing keys have the defaults of " + quote(name.getText());
  if (!found)
    diagnostics.warning(type.getLocation(),
                        "unknown " + key.getName() + " " + type.repr(60) +
                            suggestName(type.getText(), names) + own +
                            "; MindSpore Transformers fails unless a "
                            "configuration class is registered by this name)");
  else if (network.isMcore() && found->read != network.read)
    diagnostics.warning(type.getLocation(),
                        key.getName() + " " + type.repr(60) +
                            " is not that of " + quote(name.getText()) + own +
                            ", in MindSpore Transformers those of " +
                            key.getName() + ")");
}

std::optional<Release> parseRelease(llvm::StringRef text) {
  Release release;
  text.consume_front("r");
  if (text.consumeInteger(10, release.major) || !text.consume_front(".") ||
      text.consumeInteger(10, release.minor))
    return std::nullopt;
  if (!text.empty() && text.front() != '.' && text.front() != '-')
    return std::nullopt;
  return release;
}

//===----------------------------------------------------------------------===//
// The rest
//===----------------------------------------------------------------------===//

/// Returns trainer.model_name if it is a valid symbol name, otherwise the name
/// of the family.
static std::string chooseName(const TrainingConfig &config,
                              ModelFamily family) {
  llvm::StringRef name = config.root["trainer"]["model_name"].getText();
  auto isSymbolCharacter = [](char c) {
    return llvm::isAlnum(c) || c == '_' || c == '.';
  };
  if (!name.empty() && name.size() < 80 && llvm::isAlpha(name.front()) &&
      llvm::all_of(name, isSymbolCharacter))
    return name.str();
  return getName(family).str();
}

void applyOverrides(const ModelOverrides &overrides, ModelSpec &spec,
                    DiagnosticList &diagnostics) {
  auto apply = [&](std::optional<int64_t> value, llvm::StringRef option,
                   int64_t &size) {
    if (!value)
      return;
    if (*value < 1 || *value > INT32_MAX)
      diagnostics.error({}, "expected at least 1 for " + option + ", but got " +
                                llvm::Twine(*value));
    else
      size = *value;
  };
  apply(overrides.numLayers, "--num-layers", spec.numLayers);
  apply(overrides.sequenceLength, "--seq-length", spec.sequenceLength);
  apply(overrides.batchSize, "--batch-size", spec.microBatchSize);
}

/// A head that shares the embedding's table has the layout of the table.
static void placeTiedHead(const SpecReader &reader, ModelSpec &spec) {
  if (!spec.tiesWordEmbeddings)
    return;
  auto getParts = [&](VocabularyCut cut) {
    const RankLayout &ranks = spec.ranks;
    int64_t parts = 1;
    if (cut != VocabularyCut::None)
      parts *= ranks.modelParallel;
    if (cut == VocabularyCut::ContextAndModel || cut == VocabularyCut::All)
      parts *= ranks.contextParallel;
    if (cut == VocabularyCut::All)
      parts *= ranks.dataParallel;
    return parts;
  };
  const int64_t own = getParts(spec.headCut), table = getParts(spec.tableCut);
  spec.headCut = spec.tableCut;
  if (own != table)
    reader.warn(keys::tieWordEmbeddings,
                "the tied head is cut into " + llvm::Twine(table) +
                    " parts as the embedding's table is; MindSpore "
                    "Transformers wants " +
                    llvm::Twine(own) + " and does not compile this");
}

/// Checks that attention supports a sequence that is sharded over ranks or
/// processed in pieces.
static void checkRanks(const TrainingConfig &config, const ModelSpec &spec,
                       DiagnosticList &diagnostics) {
  if (spec.ranks.contextParallel > 1 && !spec.usesFlashAttention)
    diagnostics.error(
        known::find(config.parallel, &ParallelConfig::contextParallel)
            .getLocation(),
        "context_parallel above 1 needs use_flash_attention");
  int64_t pieces = config.parallel.seqSplitNum;
  Location place =
      known::find(config.parallel, &ParallelConfig::seqSplitNum).getLocation();
  if (pieces > 1 && !spec.usesFlashAttention)
    diagnostics.error(place, "seq_split_num above 1 needs use_flash_attention");
  if (pieces > 1 && spec.learnsPositions)
    diagnostics.error(place, "expected seq_split_num 1: a table of positions "
                             "is not cut into pieces");
  if (pieces > 1 && spec.sequenceLength % pieces != 0)
    diagnostics.error(place, "a sequence of " +
                                 llvm::Twine(spec.sequenceLength) +
                                 " does not divide into seq_split_num " +
                                 llvm::Twine(pieces) + " pieces");
}

static FusionConfig readFusionNames(const TrainingConfig &config, bool isMcore,
                                    DiagnosticList &diagnostics) {
  DiagnosticList found;
  FusionConfig fusions = readFusionConfig(config, isMcore, found);
  if (found.hasErrors())
    diagnostics.append(found);
  return fusions;
}

/// Warns about a key of inference that one release rejects and the others
/// reset.
static void checkUsePast(const SpecReader &reader,
                         std::optional<Release> release) {
  Node usePast = reader.getNode()["use_past"];
  if (release && release->major == 1 && release->minor == 0 &&
      usePast.getBool().value_or(false))
    reader.diagnostics.warning(usePast.getLocation(),
                               "release 1.0 refuses to train with use_past "
                               "True, later ones reset it; set it to False");
}

/// Whether the step's end reads the largest logits of attention, as Muon's
/// QK-clip does of latent attention in tiles.
static bool keepsLargestLogits(const OptimizerConfig &optimizer,
                               const ModelSpec &spec) {
  return optimizer.muon && optimizer.muon->logitThreshold && spec.latent &&
         spec.usesFlashAttention;
}

std::optional<ModelSpec> readModelSpec(const TrainingConfig &config,
                                       const ModelOverrides &overrides,
                                       DiagnosticList &diagnostics,
                                       std::vector<KeyHelp> *keys) {
  size_t errors = diagnostics.getErrorCount();
  if (!config.model.config.isMap()) {
    Location place = config.model.node ? config.model.node.getLocation()
                                       : config.root.getLocation();
    Diagnostic &error = diagnostics.error(
        place, "expected model.model_config, or model in the dynamic graph's "
               "YAML, a map that describes the model");
    attachPretrainedNote(config, error);
    return std::nullopt;
  }
  const Architecture *architecture = readArchitecture(config, diagnostics);
  if (!architecture)
    return std::nullopt;
  checkConfigClass(config, *architecture, diagnostics);
  const bool isComplete = architecture->isMcore()
                              ? checkPretrainedSizes(config, diagnostics)
                              : checkNoPretrainedConfig(config, diagnostics);
  if (!isComplete)
    return std::nullopt;

  ModelSpec spec;
  spec.microBatchSize = config.runner.batchSize;
  spec.ranks = resolveRanks(config, diagnostics);
  if (config.parallel.vocabEmbDp)
    spec.tableCut = spec.headCut = VocabularyCut::None;
  // A YAML of the dynamic graph has no model_config.
  SpecReader reader(config.model.config,
                    config.isOfDynamicGraph() ? "model" : "model_config",
                    diagnostics, architecture->naming);
  // The first changes how a layer runs, not its result: mf-read-config reads
  // it.
  reader.markRead({keys::rowBlocks, keys::adapters});
  Node adapter = keys::adapters.find(config.model.config);
  Node network = findArchitecture(config);
  const bool hasPrefix =
      !architecture->isMcore() && asksForPrefix(adapter, network);
  if (hasPrefix) {
    // The network takes the length from pet_config.
    reader.markRead({keys::prefixLength, keys::prefixProjection});
    spec.prefix = readPrefix(adapter, network, diagnostics);
  }
  spec.lora = readAdapters(config, architecture->isMcore(), overrides.release,
                           diagnostics);
  architecture->read(reader, spec);
  spec.fusions = readFusionNames(config, architecture->isMcore(), diagnostics);
  if (spec.prefix)
    checkPrefix(config, spec, diagnostics);
  if (!architecture->isMcore())
    rejectExperts(config.model.config, "in moe_config", diagnostics);
  readExperts(config, overrides.release, reader, spec);
  if (!getFamily(spec.family).operators.linearDropout.empty() && spec.experts &&
      spec.dropout.hidden != 0)
    diagnostics.warning(
        reader.locate(keys::hiddenDropout),
        "dropout of the results of routed experts ('hidden_dropout_prob') is "
        "not modelled; the other layers have it");
  if (!spec.latent && !spec.hybrid)
    rejectLatentAttention(config.model.config, diagnostics);
  else if (spec.latent && architecture->isMcore())
    spec.latent->keepsLargestLogits =
        keepsLargestLogits(config.optimizer, spec);
  placeTiedHead(reader, spec);
  checkUsePast(reader, overrides.release);
  reader.listRead("", spec.madeFrom);
  // mf-read-config reads the key.
  spec.madeFrom.erase(keys::rowBlocks.getName().str());
  if (config.isOfDynamicGraph() && !config.model.adapters.isUndefinedOrNull())
    spec.madeFrom["lora_config"] = describeKeyValue(config.model.adapters);
  spec.madeFrom["batch_size"] =
      std::to_string(config.runner.batchSize * spec.ranks.dataParallel);
  for (const auto &[key, value] : listLayoutValues(config))
    spec.madeFrom["parallel_config." + key] = value;
  // A config.json holds much that MindSpore Transformers does not read.
  reportUnreadKeys(reader, config.model.node["model_config"]);
  if (keys)
    *keys = reader.describeKeys();
  spec.name = chooseName(config, spec.family);
  applyOverrides(overrides, spec, diagnostics);
  if (__builtin_mul_overflow(spec.microBatchSize, spec.ranks.dataParallel,
                             &spec.microBatchSize))
    diagnostics.error(
        known::find(config.parallel, &ParallelConfig::dataParallel)
            .getLocation(),
        "the rows of a micro-batch over all of data_parallel overflow");
  if (config.parallel.seqSplitNum > 1 || spec.ranks.contextParallel > 1)
    spec.nextTokens.joinsHeads = false;
  spec.nextTokens.joinsWhole = config.isOfDynamicGraph();
  spec.keepsReadType = config.isOfDynamicGraph();
  spec.keepsProjectionType = spec.keepsReadType && !spec.latent &&
                             !spec.hybrid && !config.model.asksForHalf;
  checkRanks(config, spec, diagnostics);
  if (diagnostics.getErrorCount() == errors)
    resolveExpertSizes(config, overrides, spec, diagnostics);
  if (diagnostics.getErrorCount() == errors)
    checkLimits(reader, spec);
  if (diagnostics.getErrorCount() != errors)
    return std::nullopt;
  return spec;
}

} // namespace mf
