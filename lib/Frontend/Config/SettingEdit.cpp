//===- SettingEdit.cpp - Writes memory settings into a YAML ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Frontend/Config/SettingEdit.h"
#include "DynamicConfig.h"
#include "SettingKeys.h"
#include "ValueEditor.h"
#include "mf/Frontend/Config/ChangedText.h"
#include "mf/Frontend/Config/ConfigReader.h"
#include "mf/Frontend/Config/YamlReader.h"
#include "mf/Support/Diagnostic.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace mf {

static const SettingValue *findPath(const SettingValue &value, StringRef path) {
  const auto [key, rest] = path.split('.');
  const SettingValue *found = value.find(key);
  return !found || rest.empty() ? found : findPath(*found, rest);
}

namespace {

/// A YAML and the settings to write into it.
class SettingEditor {
public:
  SettingEditor(StringRef text, StringRef fileName)
      : text(text), fileName(fileName),
        document(parseYaml(text, fileName, diagnostics)),
        before(readTrainingConfig(document, diagnostics)) {}

  Expected<std::string> apply(const MemorySettings &settings) {
    if (!diagnostics.hasErrors())
      checkSettings(settings, fileName, diagnostics);
    findSpans();
    if (!diagnostics.hasErrors() && isDynamicFormat(document, diagnostics))
      findDynamicKeys(settings);
    else if (!diagnostics.hasErrors())
      findKeys(settings);
    return finish();
  }

  Expected<std::string> apply(ArrayRef<KeyChange> changes) {
    findSpans();
    for (const KeyChange &change : changes) {
      SettingValue value;
      if (const bool *isOn = std::get_if<bool>(&change.value))
        value = SettingValue::fromBool(*isOn);
      else if (const int64_t *number = std::get_if<int64_t>(&change.value))
        value = SettingValue::fromInt(*number);
      else if (const Node *node = std::get_if<Node>(&change.value))
        value = SettingValue::fromNode(*node);
      else
        value = SettingValue::fromName(std::get<std::string>(change.value));
      keys.set(change.path, std::move(value));
    }
    return finish();
  }

private:
  void findSpans() {
    span = findYamlSpans(text);
    if (!span && !diagnostics.hasErrors())
      diagnostics.error({fileName.str(), 0, 0},
                        "cannot tell where the values of this YAML end; "
                        "expected UTF-8 text in the usual layout");
  }

  Expected<std::string> finish() {
    std::string edited;
    if (!diagnostics.hasErrors())
      edited = edit();
    if (diagnostics.hasErrors())
      return toError(diagnostics);
    return edited;
  }

  /// The meaning of some keys depends on others, which are settled first.
  void findKeys(MemorySettings settings) {
    keys = getScheduleKeys(settings, before, diagnostics);
    TrainingConfig config = readWithKeys();
    if (settings.offset && !diagnostics.hasErrors()) {
      keys.merge(getOffsetKeys(*settings.offset, config, diagnostics));
      config = readWithKeys();
    }
    if (diagnostics.hasErrors())
      return;
    bool isSwapOn = config.swap.swap;
    if (settings.swap) {
      keys.merge(getSwapKeys(*settings.swap, config));
      isSwapOn = !settings.swap->empty();
    }
    if (isSwapOn != config.swap.swap)
      keepRecompute(config, isSwapOn, settings);
    keys.merge(getRecomputeKeys(settings, config, isSwapOn, diagnostics));
  }

  void findDynamicKeys(const MemorySettings &settings) {
    const std::optional<StageMap> stages = makeStageMap(before, diagnostics);
    if (!stages)
      return;
    const MemorySettings old = readSettings(before, *stages);
    keys = getDynamicLayoutKeys(settings, old, before, fileName, diagnostics);
    const TrainingConfig config = readWithKeys();
    if (diagnostics.hasErrors())
      return;
    keys.merge(
        getDynamicRecomputeKeys(settings, old, document, config, diagnostics));
    keys.merge(getDynamicSwapKeys(settings, old, config, diagnostics));
  }

  struct Reading {
    Node document;
    TrainingConfig config;
  };

  /// Reads a text with new settings. Its errors are reported as errors of the
  /// settings.
  Reading readEdited(StringRef edited) {
    DiagnosticList problems;
    Reading reading;
    reading.document = parseYaml(edited, fileName, problems);
    reading.config = readTrainingConfig(reading.document, problems);
    if (!problems.hasErrors())
      return reading;
    const ChangedText changed(text, edited);
    for (Diagnostic problem : problems.getAll())
      if (problem.severity == Severity::Error) {
        changed.moveBack(problem, fileName);
        diagnostics.error(problem.location,
                          "with the new settings: " + problem.message);
      }
    return reading;
  }

  /// Returns the configuration after the edits collected so far.
  TrainingConfig readWithKeys() {
    if (diagnostics.hasErrors() || keys.entries.empty())
      return before;
    ValueEditor editor(text, diagnostics);
    editor.editDocument(*span, document, keys);
    if (diagnostics.hasErrors())
      return before;
    return readEdited(editor.apply()).config;
  }

  /// With swap enabled, lists of recompute settings contain layer indices;
  /// otherwise they contain counts. Rewrites the settings of `config` in the
  /// other form.
  void keepRecompute(const TrainingConfig &config, bool isSwapOn,
                     MemorySettings &settings) {
    DiagnosticList problems;
    const std::optional<StageMap> stages = makeStageMap(config, problems);
    MemorySettings old;
    if (stages)
      old = readSettings(config, *stages);
    auto keep = [&](auto &wanted, const auto &current,
                    const LayerSetting &setting) {
      const bool isBool = setting.kind == LayerSetting::Kind::Selection &&
                          setting.selection.kind == LayerSelection::Kind::Bool;
      if (wanted || isBool || !setting.isTruthy())
        return;
      wanted = current;
      if (!wanted)
        diagnostics.error(setting.location,
                          Twine("switching swap ") + (isSwapOn ? "on" : "off") +
                              " changes what this says: lists " +
                              (isSwapOn ? "name layers with swap on"
                                        : "count layers with swap off") +
                              "; expected a new value among the settings");
    };
    const RecomputeConfig &recompute = config.recompute;
    keep(settings.recompute, old.recompute, recompute.recompute);
    keep(settings.selectRecompute, old.selectRecompute,
         recompute.selectRecompute);
    keep(settings.selectCommRecompute, old.selectCommRecompute,
         recompute.selectCommRecompute);
  }

  std::string edit() {
    ValueEditor editor(text, diagnostics);
    editor.editDocument(*span, document, keys);
    if (diagnostics.hasErrors())
      return {};
    std::string edited = editor.apply();
    check(edited, editor);
    return edited;
  }

  /// Returns the location of an alias on the path to a value.
  Location findAlias(StringRef path) const {
    const SpanNode *at = &*span;
    while (at->kind != SpanNode::Kind::Alias && !path.empty()) {
      const auto [key, rest] = path.split('.');
      const SpanEntry *entry = at->find(key);
      if (!entry)
        break;
      at = &entry->value;
      path = rest;
    }
    return {fileName.str(), at->line, at->column};
  }

  /// Reads the edited text and checks that it has the new settings and that
  /// nothing else has changed.
  void check(const std::string &edited, const ValueEditor &editor) {
    const Node after = readEdited(edited).document;
    if (diagnostics.hasErrors())
      return;
    for (const StringRef path : getSettingPaths()) {
      const SettingValue *wanted = findPath(keys, path);
      const Node old = document.getPath(path);
      const Node now = after.getPath(path);
      const bool isKept = wanted ? says(now, *wanted)
                                 : old.repr(SIZE_MAX) == now.repr(SIZE_MAX);
      if (!isKept)
        diagnostics.error(findAlias(path),
                          quote(path) +
                              " is an alias of a setting that becomes " +
                              now.repr(60) +
                              "; expected the value itself, write it here "
                              "instead of the alias");
    }
    if (!diagnostics.hasErrors() && !isKept(document, after, editor))
      diagnostics.error(
          {fileName.str(), 0, 0},
          "cannot change the settings in this text without changing other "
          "values; expected the usual layout, a key on each line");
  }

  bool isKept(const Node &old, const Node &now, const ValueEditor &editor) {
    if (editor.isReplaced(old))
      return true;
    if (old.getKind() != now.getKind() || old.getText() != now.getText() ||
        old.getElements().size() != now.getElements().size())
      return false;
    for (const auto &[a, b] : zip_equal(old.getElements(), now.getElements()))
      if (!isKept(a, b, editor))
        return false;
    auto isAdded = [&](const Node::Entry &entry) {
      return editor.isAdded(old, entry.key.getText());
    };
    return all_of(
               old.getEntries(),
               [&](const Node::Entry &entry) {
                 return isAdded(entry) ||
                        (now.getKeyNode(entry.key.getText()) &&
                         isKept(entry.value, now[entry.key.getText()], editor));
               }) &&
           all_of(now.getEntries(), [&](const Node::Entry &entry) {
             return isAdded(entry) || old.getKeyNode(entry.key.getText());
           });
  }

  StringRef text;
  StringRef fileName;
  DiagnosticList diagnostics;
  /// The unchanged YAML. The sections of `before` may be a translation of it.
  Node document;
  TrainingConfig before;
  std::optional<SpanNode> span;
  SettingValue keys;
};

} // namespace

Expected<std::string> applySettings(StringRef yaml, StringRef fileName,
                                    const MemorySettings &settings) {
  return SettingEditor(yaml, fileName).apply(settings);
}

Expected<std::string> applyKeyChanges(StringRef yaml, StringRef fileName,
                                      ArrayRef<KeyChange> changes) {
  return SettingEditor(yaml, fileName).apply(changes);
}

} // namespace mf
