//===- KeyPage.cpp - The keys of a training YAML as a page ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "DynamicConfig.h"
#include "DynamicKeys.h"
#include "mf/Frontend/Config/KeyHelp.h"
#include "mf/Frontend/Config/KnownKeys.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace mf {

namespace {

/// Describes the values that a key takes, and its default.
struct KeyWords {
  std::string type, missing;
};

} // namespace

static std::string describeNames(const KnownKey &key) {
  return key.choices ? "`" + llvm::join(key.choices(), "`, `") + "`" : "a name";
}

/// The type is that of the member with the value, and the default is the
/// member's value in `config`.
static KeyWords describeKey(const KnownKey &key, TrainingConfig &config) {
  KeyWords words;
  llvm::raw_string_ostream missing(words.missing);
  auto describe = [&](auto member) {
    using Member = decltype(member);
    if constexpr (std::is_same_v<Member, bool *>) {
      words.type = "a bool";
      missing << (*member ? "True" : "False");
    } else if constexpr (std::is_same_v<Member, int64_t *>) {
      words.type = key.describeNumbers(/*sayBoth=*/false);
      missing << *member;
    } else if constexpr (std::is_same_v<Member, double *>) {
      words.type = key.range.words.str();
      missing << llvm::format("%g", *member);
    } else if constexpr (std::is_same_v<Member, std::string *>) {
      words.type = describeNames(key);
      missing << *member;
    } else if constexpr (std::is_same_v<Member, LayerSetting *>) {
      words.type = key.takesPatterns ? "layers, or patterns" : "layers";
      missing << "False";
    } else if constexpr (std::is_same_v<Member, std::optional<bool> *>) {
      words.type = "a bool";
    } else if constexpr (std::is_same_v<Member, std::optional<int64_t> *>) {
      words.type = key.describeNumbers(/*sayBoth=*/false);
    } else if constexpr (std::is_same_v<Member, std::optional<double> *>) {
      words.type = key.range.words.str();
    }
  };
  if (key.field) {
    std::visit(describe, key.field(config));
  } else if (key.use == KeyUse::Used) {
    words.type = key.takes;
    missing << key.neutral;
  }
  return words;
}

static void printSection(const KnownSection &section, TrainingConfig &config,
                         llvm::raw_ostream &out) {
  out << "\n## " << section.name << "\n\n";
  std::string notModelled;
  bool hasHead = false;
  for (const KnownKey &key : section.keys) {
    if (key.use == KeyUse::NotModelled)
      notModelled += ("\n- `" + key.name + "`" +
                      (key.neutral.empty() ? "" : ", but for `") +
                      llvm::join(llvm::split(key.neutral, '|'), "`, `") +
                      (key.neutral.empty() ? "" : "`"))
                         .str();
    if (key.use != KeyUse::Used)
      continue;
    if (!hasHead)
      out << "| key | takes | default | meaning |\n|---|---|---|---|\n";
    hasHead = true;
    const KeyWords words = describeKey(key, config);
    out << "| `" << key.name << "` | " << words.type << " | " << words.missing
        << " | " << key.meaning;
    if (!key.instead.empty())
      out << "; not lowered: " << key.instead;
    out << " |\n";
  }
  if (!notModelled.empty())
    out << "\nNot modelled, with a warning:\n" << notModelled << "\n";
  for (const IrrelevantKeys &group : section.irrelevant)
    out << "\nNo effect (" << group.reason << "): `"
        << llvm::join(group.getNames(), "`, `") << "`\n";
}

/// Returns the defaults, with all optional parts that contain values of keys.
static TrainingConfig makeWholeConfig() {
  TrainingConfig config;
  config.optimizer.average.emplace();
  config.optimizer.muon.emplace();
  config.optimizer.came.emplace();
  config.callbacks.balance.emplace();
  config.callbacks.dropRate.emplace();
  return config;
}

static KeyHelp makeKeyHelp(const KnownKey &key, TrainingConfig &config) {
  KeyHelp help;
  help.name = key.name;
  help.meaning = key.meaning;
  help.isSection = key.use == KeyUse::Section;
  const KeyWords words = describeKey(key, config);
  help.takes = words.type;
  help.missing = words.missing;
  help.takesPatterns =
      key.takesPatterns && key.getValue<LayerSetting>(config) != nullptr;
  if (!key.instead.empty())
    help.effect = "not lowered: " + key.instead.str();
  if (key.use == KeyUse::NotModelled)
    help.effect = "it changes the training step, but is not modelled: it is "
                  "ignored, with a warning" +
                  (key.neutral.empty()
                       ? ""
                       : " unless it is " +
                             llvm::join(llvm::split(key.neutral, '|'), " or "));
  if (words.type == "a bool")
    help.values = {"True", "False"};
  if (key.choices)
    for (llvm::StringRef choice : key.choices())
      help.values.push_back(choice.str());
  return help;
}

std::vector<KeyHelp> describeKeys(const KnownSection &section) {
  std::vector<KeyHelp> keys;
  TrainingConfig config = makeWholeConfig();
  for (const KnownKey &key : section.keys)
    keys.push_back(makeKeyHelp(key, config));
  for (const IrrelevantKeys &group : section.irrelevant)
    for (llvm::StringRef name : group.getNames()) {
      KeyHelp &help = keys.emplace_back();
      help.name = name.str();
      help.effect = "none on a step: " + group.reason.str();
    }
  return keys;
}

std::vector<KeyHelp> describeStaticKeys(llvm::StringRef section) {
  std::vector<KeyHelp> keys;
  if (section == "callbacks" || section == "callback") {
    keys = describeKeys(balanceCallbackSection);
    llvm::append_range(keys, describeKeys(dropRateCallbackSection));
    return keys;
  }
  for (const KnownSection *known : getKnownSections())
    if (known == &topLevel ? section.empty() : known->name == section)
      llvm::append_range(keys, describeKeys(*known));
  return keys;
}

void printKeyPage(llvm::raw_ostream &out) {
  TrainingConfig config = makeWholeConfig();
  out << "# Keys of the YAML\n\nA default is what holds without the whole "
         "section. Keys that take nothing here have a form of their own.\n";
  for (const KnownSection *section : getKnownSections())
    printSection(*section, config, out);
}

//===----------------------------------------------------------------------===//
// The YAML of the dynamic graph
//===----------------------------------------------------------------------===//

static void printField(const DynamicKey &key, llvm::raw_ostream &out) {
  out << "| `" << key.name << "` | "
      << (key.type.name.empty() ? "anything" : key.type.name) << " | ";
  if (key.isRequired)
    out << "required";
  else if (!key.missing.empty())
    out << "`" << key.missing << "`";
  out << " | " << key.meaning;
  if (!key.instead.empty())
    out << "; " << key.instead;
  else if (key.use == DynamicUse::NoEffect)
    out << "; no effect on a step";
  out << " |\n";
}

static KeyHelp makeFieldHelp(const DynamicKey &key) {
  KeyHelp help;
  help.name = key.name;
  help.meaning = key.meaning;
  help.isSection = key.use == DynamicUse::Section;
  help.takesPatterns = key.name == dynamic::recompute::selectModule.name;
  if (help.isSection)
    return help;
  help.takes = key.type.name.empty() ? "anything" : key.type.name.str();
  help.missing = key.isRequired ? "required" : key.missing.str();
  if (!key.instead.empty())
    help.effect = key.instead;
  else if (key.use == DynamicUse::NoEffect)
    help.effect = "none on a step";
  if (key.type.name == "bool")
    help.values = {"True", "False"};
  return help;
}

std::vector<KeyHelp> describeDynamicKeys(llvm::StringRef section) {
  std::vector<KeyHelp> keys;
  for (const DynamicSection &known : getDynamicSections())
    if (known.name == section)
      for (const DynamicKey *key : known.keys)
        keys.push_back(makeFieldHelp(*key));
  return keys;
}

bool hasDynamicSections(const Node &root) {
  DiagnosticList ignored;
  return isDynamicFormat(root, ignored);
}

void printDynamicKeyPage(llvm::raw_ostream &out) {
  out << "\n# Fields of the dynamic graph's YAML\n\nTypes are those of the "
         "trainer, which takes an int for a float and no bool for either.\n";
  for (const DynamicSection &section : getDynamicSections()) {
    out << "\n## "
        << (section.name.empty() ? llvm::StringRef("The document")
                                 : llvm::StringRef(section.name))
        << " (" << section.className << ")\n\n";
    if (section.takesOthers)
      out << "Other fields are taken, too.\n\n";
    out << "| field | takes | default | meaning |\n|---|---|---|---|\n";
    for (const DynamicKey *key : section.keys)
      if (key->use == DynamicUse::Section)
        out << "| `" << key->name << "` | a section | | |\n";
      else
        printField(*key, out);
  }
}

} // namespace mf
