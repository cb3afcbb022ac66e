//===- AdapterReader.cpp - Reads pet_config and lora_config ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "FamilyReaders.h"
#include "SpecReader.h"
#include "mf/Layers/NameRegex.h"
#include "mf/Support/NearestName.h"

namespace mf {

namespace adapter = known::adapter;

/// The class that ChatGLM2WithPtuning2 is trained as.
static constexpr llvm::StringLiteral prefixClass = "ChatGLM2WithPtuning2";
static constexpr llvm::StringLiteral prefixLengthKey = "pre_seq_len",
                                     prefixDropoutKey = "dropout_rate",
                                     projectionKey = "prefix_projection",
                                     uniformKeys[] = {"lora_a_init",
                                                      "lora_b_init"};

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
    adapter::type,  "in_channels",    "out_channels", uniformKeys[0],
    uniformKeys[1], prefixLengthKey,  "mid_dim",      prefixDropoutKey,
    projectionKey,  "projection_dim", "dropout_prob", "prefix_token_num",
    "reg_rules",
};

/// The standard deviation of MindSpore's `normal` initializer.
static constexpr double normalDeviation = 0.01;

static constexpr llvm::StringLiteral layerTypeKeys[] = {"param_init_type",
                                                        "compute_dtype"};

/// Returns the path of the section in messages.
static std::string describePath() {
  return (known::modelConfig.name + "." + keys::adapters.getName()).str();
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

namespace {

class LoraReader {
public:
  LoraReader(const Node &section, llvm::StringRef name, bool isMcore,
             std::optional<Release> release, DiagnosticList &diagnostics)
      : reader(section, name, diagnostics), isMcore(isMcore), release(release),
        diagnostics(diagnostics) {}

  LoraSpec read(const AdapterClass *fixed, const Node &architecture) {
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
    spec.exclude = readTexts(adapter::excluded);
    for (const std::string &text : spec.exclude)
      checkRegex(text, reader.locate(adapter::excluded));
    spec.freezeInclude = readTexts(adapter::frozen);
    spec.freezeExclude = readTexts(adapter::trained);
    if (isBefore(1, 0) &&
        !(spec.freezeInclude.empty() && spec.freezeExclude.empty())) {
      diagnostics.warning(
          reader.getNode().getLocation(),
          "freeze lists of " + keys::adapters.getName() +
              " are read from release 1.0 on; they are ignored");
      spec.freezeInclude.clear();
      spec.freezeExclude.clear();
    }
    if (isMcore)
      readMcoreRules(spec);
    reportUnknown();
    return spec;
  }

  /// Reads the section of the dynamic graph.
  LoraSpec readDynamic() {
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
    spec.exclude = {reader.readString(adapter::excluded, "")};
    if (spec.exclude.front().empty())
      spec.exclude.clear();
    else
      checkRegex(spec.exclude.front(), reader.locate(adapter::excluded));
    return spec;
  }

private:
  bool isBefore(unsigned major, unsigned minor) const {
    return release && *release < Release{major, minor};
  }

  void readSizes(LoraSpec &spec, double dropout) {
    spec.rank = reader.readStrictSize(adapter::rank, 8);
    spec.alpha = reader.readStrictPositive(adapter::alpha, 16);
    spec.dropout = reader.readStrictShare(adapter::dropout, dropout);
  }

  /// Layers of the mcore graph have adapters of their own type, and nothing is
  /// frozen before the lists are applied.
  void readMcoreRules(LoraSpec &spec) {
    spec.nameA = "lora_A.weight";
    spec.nameB = "lora_B.weight";
    spec.deviationA = normalDeviation;
    spec.trainsOthers = true;
    for (const llvm::StringLiteral &key : layerTypeKeys) {
      if (Node written = reader.getNode().getKeyNode(key))
        diagnostics.warning(
            written.getLocation(),
            quote(key) + " in " + keys::adapters.getName() +
                " has no effect on the mcore training graph, whose adapters "
                "have the types of their layers");
      reader.markRead({key});
    }
    if (!spec.freezeInclude.empty() || !spec.freezeExclude.empty())
      return;
    spec.freezeInclude = {"*"};
    spec.freezeExclude = {"*lora*"};
    diagnostics.warning(
        reader.getNode().getLocation(),
        "MindSpore Transformers wants " + quote(adapter::frozen) + " or " +
            quote(adapter::trained) + " in " + keys::adapters.getName() +
            " of the mcore training graph; all but the adapters is frozen, as "
            "with " +
            adapter::frozen + ": ['*'] and " + adapter::trained +
            ": ['*lora*']");
  }

  /// Releases up to 0.8 have types of their own, from 1.3 on the layer's.
  void readTypes(LoraSpec &spec) {
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

  void readTarget(LoraSpec &spec, const AdapterClass *fixed,
                  const Node &architecture) {
    std::string given = reader.readString(adapter::targets, "");
    if (fixed) {
      spec.target = fixed->target.str();
      spec.location = architecture.getLocation();
      if (!given.empty() && given != spec.target)
        diagnostics.warning(reader.locate(adapter::targets),
                            quote(fixed->name) + " has its adapters in " +
                                quote(spec.target) + "; " +
                                quote(adapter::targets) + " is ignored");
      return;
    }
    spec.target = given;
    spec.location = reader.locate(adapter::targets);
    if (spec.target.empty())
      diagnostics.error(
          spec.location,
          "expected " + quote(adapter::targets) + " in " + reader.getName() +
              ", a regular expression such as " +
              (spec.matchesPaths
                   ? "'linear_qkv|linear_proj' that matches parts of the paths"
               : isMcore ? "'.*linear_qkv|.*linear_proj' that matches the names"
                         : "'.*wq|.*wv' that matches the names") +
              " of the linear layers to adapt");
    else
      checkRegex(spec.target, spec.location);
  }

  std::vector<std::string> readTexts(const SpecReader::Keys &keys) {
    std::vector<std::string> texts;
    Node list = reader.find(keys);
    if (!list)
      return texts;
    if (!list.isList()) {
      diagnostics.error(
          list.getLocation(),
          "expected a list of strings for " + quote(reader.nameOf(keys)) +
              " in " + keys::adapters.getName() + ", but got " + list.repr() +
              (list.isString() ? "; put it into brackets" : ""));
      return texts;
    }
    for (const Node &element : list.getElements()) {
      if (element.isString())
        texts.push_back(element.getText().str());
      else
        diagnostics.error(element.getLocation(),
                          "expected a string in " + quote(reader.nameOf(keys)) +
                              " of " + keys::adapters.getName() + ", but got " +
                              element.repr());
    }
    return texts;
  }

  void checkRegex(const std::string &text, const Location &place) {
    NameRegex regex(text);
    if (!regex.isValid())
      diagnostics.error(place, quote(text) + " is not a regular expression: " +
                                   regex.getMessage());
  }

  void reportUnknown() {
    reportUnknownKeys(reader, passedKeys);
    for (llvm::StringRef key : uniformKeys)
      if (Node written = reader.getNode().getKeyNode(key))
        diagnostics.warning(
            written.getLocation(),
            quote(key) + " in " + keys::adapters.getName() +
                " is read by no release of MindSpore Transformers; A begins " +
                (isMcore ? "normal" : "uniform") + " and B zero");
  }

  SpecReader reader;
  bool isMcore;
  std::optional<Release> release;
  DiagnosticList &diagnostics;
};

} // namespace

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
                        quote(fixed->name) + " needs " + describePath() +
                            ", a map such as {" + adapter::type + ": lora, " +
                            adapter::rank + ": 8}");
    return std::nullopt;
  }
  const size_t errors = diagnostics.getErrorCount();
  if (!section.isMap()) {
    diagnostics.error(section.getLocation(),
                      "expected a map for " + quote(keys::adapters.getName()) +
                          ", but got " + section.repr());
    return std::nullopt;
  }
  Node type = section[adapter::type];
  if (type.getText() != "lora") {
    const llvm::StringRef known[] = {"lora", "prefixtuning", "ptuning2",
                                     "slora"};
    const bool isKnown = llvm::is_contained(known, type.getText());
    const llvm::StringRef supported =
        isMcore ? "lora is supported on the mcore training graph"
                : "supported are lora, prefixtuning and ptuning2";
    diagnostics
        .error(type ? type.getLocation() : section.getLocation(),
               (isKnown ? "adapters of " + adapter::type + " " +
                              quote(type.getText()) + " are not supported"
                        : "expected a " + adapter::type + " in " +
                              keys::adapters.getName() + ", but got " +
                              type.repr() + suggestName(type.getText(), known)))
        .attachNote(supported + "; remove the section to train all parameters");
    return std::nullopt;
  }
  LoraSpec spec = LoraReader(section, keys::adapters.getName(), isMcore,
                             release, diagnostics)
                      .read(fixed, architecture);
  if (diagnostics.getErrorCount() != errors)
    return std::nullopt;
  return spec;
}

//===----------------------------------------------------------------------===//
// Trained prefixes
//===----------------------------------------------------------------------===//

static bool hasPrefixType(const Node &section) {
  llvm::StringRef type = section[adapter::type].getText();
  return type == "prefixtuning" || type == "ptuning2";
}

bool asksForPrefix(const Node &section, const Node &architecture) {
  return architecture.getText() == prefixClass ||
         (section.isMap() && hasPrefixType(section));
}

/// Keys of other adapters, which the trainer's config classes accept.
static constexpr llvm::StringLiteral passedPrefixKeys[] = {
    adapter::type,    adapter::rank,     adapter::alpha,     adapter::dropout,
    adapter::targets, adapter::excluded, prefixLengthKey,    projectionKey,
    "projection_dim", "dropout_prob",    "prefix_token_num", "mid_dim",
    prefixDropoutKey, "reg_rules"};

std::optional<PrefixSpec> readPrefix(const Node &section,
                                     const Node &architecture,
                                     DiagnosticList &diagnostics) {
  const bool isOwnClass = architecture.getText() == prefixClass;
  if (!section.isMap() || !hasPrefixType(section) ||
      (isOwnClass && section[adapter::type].getText() != "ptuning2")) {
    diagnostics.error(
        (section.isUndefinedOrNull() ? architecture : section).getLocation(),
        quote(prefixClass) + " needs " + describePath() + ", a map such as {" +
            adapter::type + ": ptuning2, " + prefixLengthKey + ": 128}");
    return std::nullopt;
  }
  const size_t errors = diagnostics.getErrorCount();
  SpecReader reader(section, keys::adapters.getName(), diagnostics);
  PrefixSpec spec;
  const bool isPrefixTuning =
      section[adapter::type].getText() == "prefixtuning";
  if (isPrefixTuning) {
    spec.length = reader.readSize({"prefix_token_num"}, 128);
    spec.middleSize = reader.readSize({"mid_dim"}, 512);
    spec.dropout = reader.readStrictShare(prefixDropoutKey, 0.1);
  } else {
    spec.length = reader.readSize(prefixLengthKey, 128);
    const int64_t middleSize = reader.readSize({"projection_dim"}, 128);
    if (reader.readBool(projectionKey, false))
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
  const std::string type = quote(section[adapter::type].getText());
  auto refuse = [&](const Node &node, const llvm::Twine &reason) {
    diagnostics.error((node ? node : section).getLocation(),
                      adapter::type + " " + type + " " + reason);
  };
  if (Node node = keys::compressedMask.find(model); node.getBool() == true)
    refuse(node, "does not run with " + keys::compressedMask.getName() +
                     "; remove the key");
  if (Node node = keys::rowBlocks.find(model); node.getInt().value_or(1) > 1)
    refuse(node, "does not run with " + keys::rowBlocks.getName() + " " +
                     node.repr() + "; set it to 1");
  const PrefixHeads heads = getFamily(spec.family).prefix;
  if (heads == PrefixHeads::None || spec.latent || spec.usesAlibi)
    refuse(section[adapter::type], "is supported for classes LlamaForCausalLM "
                                   "and ChatGLM2WithPtuning2 alone; take " +
                                       adapter::type + " lora");
  else if (heads == PrefixHeads::Queries &&
           spec.numKeyValueHeads != spec.numHeads)
    refuse(section[adapter::type],
           "makes keys and values of " + llvm::Twine(spec.numHeads) +
               " heads, as many as queries have, but the model has " +
               llvm::Twine(spec.numKeyValueHeads) + "; take " + adapter::type +
               " lora");
  if (spec.ranks.contextParallel > 1)
    refuse(
        known::find(config.parallel, &ParallelConfig::contextParallel),
        "does not run with " + known::nameOf(&ParallelConfig::contextParallel) +
            " above 1: a prefix is before the first part of a sequence alone");
  if (config.parallel.seqSplitNum > 1)
    refuse(
        known::find(config.parallel, &ParallelConfig::seqSplitNum),
        "does not run with " + known::nameOf(&ParallelConfig::seqSplitNum) +
            " above 1: a prefix is before the first piece of a sequence alone");
}

} // namespace mf
