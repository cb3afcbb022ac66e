//===- SettingCheck.cpp - Settings that no YAML can express ---------------===//
// SPDX-License-Identifier: Apache-2.0

#include "SettingKeys.h"
#include "mf/Frontend/Config/ModelKeys.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;

namespace mf {

namespace {

class SettingChecker {
public:
  SettingChecker(StringRef fileName, DiagnosticList &diagnostics)
      : fileName(fileName), diagnostics(diagnostics) {}

  void checkTable(const std::optional<StageTable> &table, const Twine &name,
                  bool allowNegative) {
    if (!table)
      return;
    for (const std::vector<int64_t> &row : *table)
      if (row.empty() || row.size() != table->front().size())
        return reject("a table of " + name +
                      " with as many values in each row");
    if (table->empty())
      return reject("at least one row of " + name);
    for (const std::vector<int64_t> &row : *table)
      for (const int64_t count : row)
        if (!allowNegative && count < 0)
          return reject("layers of " + name + " from 0 on, but got " +
                        Twine(count));
  }

  void checkOperators(const std::optional<std::vector<OperatorCounts>> &list,
                      const Twine &name) {
    if (!list)
      return;
    StringSet<> seen;
    for (const OperatorCounts &operators : *list) {
      checkText(operators.pattern, name);
      checkTable(operators.layers, name + " " + quote(operators.pattern),
                 false);
      if (!seen.insert(operators.pattern).second)
        reject("each pattern of " + name + " once, but got " +
               quote(operators.pattern) + " twice");
    }
  }

  void checkText(StringRef text, const Twine &name) {
    if (text.empty() || escapeControls(text) != text)
      reject("a pattern of " + name + " without control characters, but got " +
             quote(text));
  }

  void checkAtLeastOne(std::optional<int64_t> number, const Twine &name) {
    if (number && *number < 1)
      reject(name + " of at least 1, but got " + Twine(*number));
  }

private:
  void reject(const Twine &expected) {
    diagnostics.error({fileName.str(), 0, 0}, "settings: expected " + expected);
  }

  StringRef fileName;
  DiagnosticList &diagnostics;
};

} // namespace

void checkSettings(const MemorySettings &settings, StringRef fileName,
                   DiagnosticList &diagnostics) {
  SettingChecker checker(fileName, diagnostics);
  checker.checkTable(settings.offset, keys::offset.getName(),
                     /*allowNegative=*/true);
  checker.checkTable(settings.recompute, getName(LayerKey::Recompute),
                     /*allowNegative=*/false);
  checker.checkOperators(settings.selectRecompute,
                         getName(LayerKey::SelectRecompute));
  checker.checkOperators(settings.selectCommRecompute,
                         getName(LayerKey::SelectCommRecompute));
  for (const SettingKey &setting : getSettingKeys())
    if (setting.key->number)
      checker.checkAtLeastOne(settings.*setting.key->number, setting.key->name);
  checker.checkAtLeastOne(settings.interleave, keys::interleave.getName());
  if (!settings.swap)
    return;
  for (const SwapItem &item : *settings.swap) {
    checker.checkAtLeastOne(item.backwardPrefetch, known::swapPrefetch);
    if (!item.operatorName.empty())
      checker.checkText(item.operatorName, getName(LayerKey::OpSwap));
  }
}

} // namespace mf
