//===- AdapterReader.cpp - Reads pet_config and lora_config ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "AdapterReader.h"
#include "SpecReader.h"
#include "mf/Layers/NameRegex.h"
#include "mf/Support/NearestName.h"

namespace mf {

/// The class that ChatGLM2WithPtuning2 is trained as.
static constexpr llvm::StringLiteral prefixClass = "ChatGLM2WithPtuning2";
static constexpr llvm::StringLiteral typeKey = "pet_type";

//===----------------------------------------------------------------------===//
// Classes with adapters of their own
//===----------------------------------------------------------------------===//

namespace {
/// A class of releases 0.6 and 0.7 that has adapters in fixed places.
struct AdapterClass {
  llvm::StringLiteral name;
  llvm::StringLiteral base;
  llvm::StringLiteral target;
};
} // namespace

static constexpr AdapterClass adapterClasses[] = {
    {"LlamaForCausalLMWithLora", "LlamaForCausalLM", ".*wq|.*wk|.*wv|.*wo"},
    {"InternLMForCausalLMWithLora", "InternLMForCausalLM",
     ".*wq|.*wk|.*wv|.*wo"},
    {"ChatGLM2WithLora", "ChatGLM2ForConditionalGeneration",
     ".*query_key_value*"},
    {"GLMForPreTrainingWithLora", "GLMForPreTraining", ".*query_key_value*"},
    {"GLMChatModelWithLora", "GLMChatModel", ".*query_key_value*"},
    {"GPT2WithLora", "GPT2LMHeadModel", ".*dense1.*|.*dense3.*"},
};

static const AdapterClass *findAdapterClass(llvm::StringRef architecture) {
  const auto *found =
      llvm::find_if(adapterClasses, [&](const AdapterClass &entry) {
        return entry.name == architecture;
      });
  return found == std::end(adapterClasses) ? nullptr : found;
}

llvm::StringRef getAdaptedClass(llvm::StringRef architecture) {
  const AdapterClass *found = findAdapterClass(architecture);
  if (architecture == prefixClass)
    return "ChatGLM2ForConditionalGeneration";
  return found ? llvm::StringRef(found->base) : architecture;
}

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

/// Keys of other adapters, keys that no release reads, and keys that repeat the
/// model's. LoraConfig accepts them all.
static constexpr llvm::StringLiteral passedKeys[] = {
    "pet_type",          "in_channels",    "out_channels", "lora_a_init",
    "lora_b_init",       "pre_seq_len",    "mid_dim",      "dropout_rate",
    "prefix_projection", "projection_dim", "dropout_prob", "prefix_token_num",
    "reg_rules",
};

namespace {
class LoraReader {
public:
  LoraReader(const Node &section, llvm::StringLiteral name, bool isMcore,
             std::optional<Release> release, DiagnosticList &diagnostics)
      : reader(section, name, diagnostics), isMcore(isMcore), release(release),
        diagnostics(diagnostics) {}

  LoraSpec read(const AdapterClass *fixed, const Node &architecture);
  /// Reads the section of the dynamic graph.
  LoraSpec readDynamic();

private:
  bool isBefore(unsigned major, unsigned minor) const {
    return release && *release < Release{major, minor};
  }
  void readSizes(LoraSpec &spec, double dropout);
  void readMcoreRules(LoraSpec &spec);
  void readTypes(LoraSpec &spec);
  void readTarget(LoraSpec &spec, const AdapterClass *fixed,
                  const Node &architecture);
  std::vector<std::string> readTexts(const SpecReader::Keys &keys);
  void checkRegex(const std::string &text, const Location &place);
  void reportUnknown();

  SpecReader reader;
  bool isMcore;
  std::optional<Release> release;
  DiagnosticList &diagnostics;
};
} // namespace

void LoraReader::readSizes(LoraSpec &spec, double dropout) {
  spec.rank = reader.readStrictSize({"lora_rank"}, 8);
  spec.alpha = reader.readStrictPositive({"lora_alpha"}, 16);
  spec.dropout = reader.readStrictShare({"lora_dropout"}, dropout);
}

/// The standard deviation of MindSpore's `normal` initializer.
static constexpr double normalDeviation = 0.01;

static constexpr llvm::StringLiteral layerTypeKeys[] = {"param_init_type",
                                                        "compute_dtype"};

/// Layers of the mcore graph have adapters of their own type, and nothing is
/// frozen before the lists are applied.
void LoraReader::readMcoreRules(LoraSpec &spec) {
  spec.nameA = "lora_A.weight";
  spec.nameB = "lora_B.weight";
  spec.deviationA = normalDeviation;
  spec.trainsOthers = true;
  for (const llvm::StringLiteral &key : layerTypeKeys) {
    if (Node written = reader.getNode().getKeyNode(key))
      diagnostics.warning(written.getLocation(),
                          quote(key) + " in pet_config has no effect on the "
                                       "mcore training graph, whose adapters "
                                       "have the types of their layers");
    reader.markRead({key});
  }
  if (!spec.freezeInclude.empty() || !spec.freezeExclude.empty())
    return;
  spec.freezeInclude = {"*"};
  spec.freezeExclude = {"*lora*"};
  diagnostics.warning(
      reader.getNode().getLocation(),
      "MindSpore Transformers wants 'freeze_include' or 'freeze_exclude' in "
      "pet_config of the mcore training graph; all but the adapters is frozen, "
      "as with freeze_include: ['*'] and freeze_exclude: ['*lora*']");
}

/// Releases up to 0.8 have types of their own, from 1.3 on the layer's.
void LoraReader::readTypes(LoraSpec &spec) {
  const bool readsKeys = !isBefore(1, 0);
  auto readType = [&](llvm::StringLiteral key) -> std::optional<DType> {
    const bool hasKey = static_cast<bool>(reader.find({key}));
    if (hasKey || isBefore(1, 3))
      return reader.readType({key}, DType::F16);
    return std::nullopt;
  };
  spec.paramType = readType("param_init_type");
  spec.computeType = readType("compute_dtype");
  if (!readsKeys) {
    spec.paramType = DType::F32;
    spec.computeType = DType::F16;
  }
}

void LoraReader::checkRegex(const std::string &text, const Location &place) {
  NameRegex regex(text);
  if (!regex.isValid())
    diagnostics.error(place, quote(text) + " is not a regular expression: " +
                                 regex.getMessage());
}

std::vector<std::string> LoraReader::readTexts(const SpecReader::Keys &keys) {
  std::vector<std::string> texts;
  Node list = reader.find(keys);
  if (!list)
    return texts;
  if (!list.isList()) {
    diagnostics.error(list.getLocation(),
                      "expected a list of strings for " +
                          quote(reader.nameOf(keys)) +
                          " in pet_config, but got " + list.repr() +
                          (list.isString() ? "; put it into brackets" : ""));
    return texts;
  }
  for (const Node &element : list.getElements()) {
    if (element.isString())
      texts.push_back(element.getText().str());
    else
      diagnostics.error(element.getLocation(),
                        "expected a string in " + quote(reader.nameOf(keys)) +
                            " of pet_config, but got " + element.repr());
  }
  return texts;
}

void LoraReader::readTarget(LoraSpec &spec, const AdapterClass *fixed,
                            const Node &architecture) {
  std::string given = reader.readString({"target_modules"}, "");
  if (fixed) {
    spec.target = fixed->target.str();
    spec.location = architecture.getLocation();
    if (!given.empty() && given != spec.target)
      diagnostics.warning(reader.locate({"target_modules"}),
                          quote(fixed->name) + " has its adapters in " +
                              quote(spec.target) +
                              "; 'target_modules' is ignored");
    return;
  }
  spec.target = given;
  spec.location = reader.locate({"target_modules"});
  if (spec.target.empty())
    diagnostics.error(
        spec.location,
        "expected 'target_modules' in " + reader.getName() +
            ", a regular expression such as " +
            (spec.matchesPaths ? "'linear_qkv|linear_proj' that matches parts "
                                 "of the paths"
             : isMcore         ? "'.*linear_qkv|.*linear_proj' that matches "
                                 "the names"
                               : "'.*wq|.*wv' that matches the names") +
            " of the linear layers to adapt");
  else
    checkRegex(spec.target, spec.location);
}

/// Warns about keys that neither `reader` nor adapters of other kinds read.
static void reportUnknownKeys(const SpecReader &reader,
                              llvm::ArrayRef<llvm::StringLiteral> passed) {
  llvm::SmallVector<llvm::StringRef> known(reader.getReadKeys());
  llvm::append_range(known, passed);
  for (const Node::Entry &entry : reader.getNode().getEntries()) {
    llvm::StringRef name = entry.key.getText();
    if (!llvm::is_contained(known, name))
      reader.diagnostics.warning(
          entry.key.getLocation(),
          "unknown key " + quote(name) + " in " + keys::adapters.getName() +
              suggestName(name, known) + " (the key is ignored)");
  }
}

void LoraReader::reportUnknown() {
  reportUnknownKeys(reader, passedKeys);
  for (llvm::StringRef key : {"lora_a_init", "lora_b_init"})
    if (Node written = reader.getNode().getKeyNode(key))
      diagnostics.warning(written.getLocation(),
                          quote(key) +
                              " in pet_config is read by no release "
                              "of MindSpore Transformers; A begins " +
                              (isMcore ? "normal" : "uniform") + " and B zero");
}

LoraSpec LoraReader::read(const AdapterClass *fixed, const Node &architecture) {
  LoraSpec spec;
  if (fixed && !release)
    release = Release{0, 7};
  if (isBefore(0, 8)) {
    spec.nameA = "tk_delta_lora_a";
    spec.nameB = "tk_delta_lora_b";
  }
  readSizes(spec, 0.01);
  if (!isMcore)
    readTypes(spec);
  readTarget(spec, fixed, architecture);
  spec.exclude = readTexts({"exclude_layers"});
  for (const std::string &text : spec.exclude)
    checkRegex(text, reader.locate({"exclude_layers"}));
  spec.freezeInclude = readTexts({"freeze_include"});
  spec.freezeExclude = readTexts({"freeze_exclude"});
  if (isBefore(1, 0) &&
      !(spec.freezeInclude.empty() && spec.freezeExclude.empty())) {
    diagnostics.warning(reader.getNode().getLocation(),
                        "freeze lists of pet_config are read from release 1.0 "
                        "on; they are ignored");
    spec.freezeInclude.clear();
    spec.freezeExclude.clear();
  }
  if (isMcore)
    readMcoreRules(spec);
  reportUnknown();
  return spec;
}

LoraSpec LoraReader::readDynamic() {
  LoraSpec spec;
  spec.matchesPaths = true;
  spec.nameA = "lora_a";
  spec.nameB = "lora_b";
  readSizes(spec, 0.0);
  auto readDeviation = [&](llvm::StringLiteral key, double missing) {
    const double deviation = reader.readNumber({key}).value_or(missing);
    if (deviation < 0)
      reader.error({key}, "expected a standard deviation of at least 0 for " +
                              quote(key) + ", but got " +
                              reader.find({key}).repr(60));
    return deviation;
  };
  spec.deviationA = readDeviation("lora_a_std", normalDeviation);
  spec.deviationB = readDeviation("lora_b_std", 0.0);
  readTarget(spec, nullptr, Node());
  spec.exclude = {reader.readString({"exclude_layers"}, "")};
  if (spec.exclude.front().empty())
    spec.exclude.clear();
  else
    checkRegex(spec.exclude.front(), reader.locate({"exclude_layers"}));
  return spec;
}

std::optional<LoraSpec> readDynamicLora(const Node &section,
                                        DiagnosticList &diagnostics) {
  if (!section.isMap())
    return std::nullopt;
  const size_t errors = diagnostics.getErrorCount();
  LoraSpec spec = LoraReader(section, "lora_config", /*isMcore=*/true,
                             std::nullopt, diagnostics)
                      .readDynamic();
  if (diagnostics.getErrorCount() != errors)
    return std::nullopt;
  return spec;
}

std::optional<LoraSpec> readLora(const Node &section, const Node &architecture,
                                 bool isMcore, std::optional<Release> release,
                                 DiagnosticList &diagnostics) {
  const AdapterClass *fixed = findAdapterClass(architecture.getText());
  if (section.isUndefinedOrNull()) {
    if (fixed)
      diagnostics.error(architecture.getLocation(),
                        quote(fixed->name) +
                            " needs model_config.pet_config, a map such as "
                            "{pet_type: lora, lora_rank: 8}");
    return std::nullopt;
  }
  const size_t errors = diagnostics.getErrorCount();
  if (!section.isMap()) {
    diagnostics.error(section.getLocation(),
                      "expected a map for 'pet_config', but got " +
                          section.repr());
    return std::nullopt;
  }
  Node type = section[typeKey];
  if (type.getText() != "lora") {
    const llvm::StringRef known[] = {"lora", "prefixtuning", "ptuning2",
                                     "slora"};
    const bool isKnown = llvm::is_contained(known, type.getText());
    const llvm::StringRef supported =
        isMcore ? "lora is supported on the mcore training graph"
                : "supported are lora, prefixtuning and ptuning2";
    diagnostics
        .error(type ? type.getLocation() : section.getLocation(),
               (isKnown ? "adapters of pet_type " + quote(type.getText()) +
                              " are not supported"
                        : "expected a pet_type in pet_config, but got " +
                              type.repr() + suggestName(type.getText(), known)))
        .attachNote(supported + "; remove the section to train all "
                                "parameters");
    return std::nullopt;
  }
  LoraSpec spec =
      LoraReader(section, "pet_config", isMcore, release, diagnostics)
          .read(fixed, architecture);
  if (diagnostics.getErrorCount() != errors)
    return std::nullopt;
  return spec;
}

//===----------------------------------------------------------------------===//
// Trained prefixes
//===----------------------------------------------------------------------===//

static bool hasPrefixType(const Node &section) {
  llvm::StringRef type = section[typeKey].getText();
  return type == "prefixtuning" || type == "ptuning2";
}

bool asksForPrefix(const Node &section, const Node &architecture) {
  return architecture.getText() == prefixClass ||
         (section.isMap() && hasPrefixType(section));
}

/// Keys of other adapters, which the trainer's config classes accept.
static constexpr llvm::StringLiteral passedPrefixKeys[] = {
    "pet_type",       "lora_rank",      "lora_alpha",       "lora_dropout",
    "target_modules", "exclude_layers", "pre_seq_len",      "prefix_projection",
    "projection_dim", "dropout_prob",   "prefix_token_num", "mid_dim",
    "dropout_rate",   "reg_rules"};

std::optional<PrefixSpec> readPrefix(const Node &section,
                                     const Node &architecture,
                                     DiagnosticList &diagnostics) {
  const bool isOwnClass = architecture.getText() == prefixClass;
  if (!section.isMap() || !hasPrefixType(section) ||
      (isOwnClass && section[typeKey].getText() != "ptuning2")) {
    diagnostics.error(
        (section.isUndefinedOrNull() ? architecture : section).getLocation(),
        quote(prefixClass) + " needs model_config.pet_config, a map such as "
                             "{pet_type: ptuning2, pre_seq_len: 128}");
    return std::nullopt;
  }
  const size_t errors = diagnostics.getErrorCount();
  SpecReader reader(section, "pet_config", diagnostics);
  PrefixSpec spec;
  const bool isPrefixTuning = section[typeKey].getText() == "prefixtuning";
  if (isPrefixTuning) {
    spec.length = reader.readSize({"prefix_token_num"}, 128);
    spec.middleSize = reader.readSize({"mid_dim"}, 512);
    spec.dropout = reader.readStrictShare({"dropout_rate"}, 0.1);
  } else {
    spec.length = reader.readSize({"pre_seq_len"}, 128);
    const int64_t middleSize = reader.readSize({"projection_dim"}, 128);
    if (reader.readBool({"prefix_projection"}, false))
      spec.middleSize = middleSize;
    spec.dropout = reader.readStrictShare({"dropout_prob"}, 0.01);
  }
  // The network class with a prefix uses MindPet's encoder, whose table is in
  // fp32.
  spec.tableType = isOwnClass ? DType::F32 : DType::F16;
  spec.cell = isOwnClass ? "prefix_encoder" : "prefix_layers";
  spec.parameterPrefix =
      isPrefixTuning ? "mindpet_delta_prefixtuning" : "mindpet_delta_ptuning2";
  reportUnknownKeys(reader, passedPrefixKeys);
  if (diagnostics.getErrorCount() != errors)
    return std::nullopt;
  return spec;
}

void checkPrefix(const TrainingConfig &config, const ModelSpec &spec,
                 DiagnosticList &diagnostics) {
  const Node &model = config.model.config;
  const Node &section = config.model.adapters;
  const std::string type = quote(section[typeKey].getText());
  auto refuse = [&](const Node &node, const llvm::Twine &reason) {
    diagnostics.error((node ? node : section).getLocation(),
                      "pet_type " + type + " " + reason);
  };
  if (Node node = keys::compressedMask.find(model); node.getBool() == true)
    refuse(node, "does not run with " + keys::compressedMask.getName() +
                     "; remove the key");
  if (Node node = keys::rowBlocks.find(model); node.getInt().value_or(1) > 1)
    refuse(node, "does not run with " + keys::rowBlocks.getName() + " " +
                     node.repr() + "; set it to 1");
  const PrefixHeads heads = getFamily(spec.family).prefix;
  if (heads == PrefixHeads::None || spec.latent || spec.usesAlibi)
    refuse(section[typeKey], "is supported for classes LlamaForCausalLM and "
                             "ChatGLM2WithPtuning2 alone; take pet_type lora");
  else if (heads == PrefixHeads::Queries &&
           spec.numKeyValueHeads != spec.numHeads)
    refuse(section[typeKey],
           "makes keys and values of " + llvm::Twine(spec.numHeads) +
               " heads, as many as queries have, but the model has " +
               llvm::Twine(spec.numKeyValueHeads) + "; take pet_type lora");
  if (spec.ranks.contextParallel > 1)
    refuse(known::find(config.parallel, &ParallelConfig::contextParallel),
           "does not run with context_parallel above 1: a prefix is before the "
           "first part of a sequence alone");
  if (config.parallel.seqSplitNum > 1)
    refuse(known::find(config.parallel, &ParallelConfig::seqSplitNum),
           "does not run with seq_split_num above 1: a prefix is before the "
           "first piece of a sequence alone");
}

} // namespace mf
