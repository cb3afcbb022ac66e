//===- EditSettings.h - Other settings in any text --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TEST_FUZZ_EDITSETTINGS_H
#define MF_TEST_FUZZ_EDITSETTINGS_H

#include "mf/Frontend/Config/ConfigReader.h"
#include "mf/Frontend/Config/SettingEdit.h"

namespace mf {

/// Writes settings of another plan into `text`; what was written, or why it
/// cannot be. Settings that are read are written without a change, and others
/// are read as they were written; what should not be is said by `complain`.
inline std::string
editSettings(llvm::StringRef text,
             llvm::function_ref<void(llvm::StringRef)> complain) {
  DiagnosticList diagnostics;
  const TrainingConfig config =
      parseTrainingConfig(text, "fuzz.yaml", diagnostics);
  if (diagnostics.hasErrors())
    return diagnostics.str();
  auto before = readSettings(config);
  if (!before)
    return llvm::toString(before.takeError());
  // Many layers say nothing new and take long.
  if (*before->stages * *before->interleave > 256)
    return "";
  auto same = applySettings(text, "fuzz.yaml", *before);
  if (!same)
    llvm::consumeError(same.takeError());
  else if (*same != text)
    complain("what was there already was written anew");

  MemorySettings wanted;
  wanted.recompute = before->offset;
  for (std::vector<int64_t> &row : *wanted.recompute)
    for (size_t stage = 0; stage < row.size(); ++stage)
      row[stage] = stage == 0 ? 1 : 0;
  wanted.microBatches = 7;
  wanted.selectRecompute = {{"a\\.b", *wanted.recompute}};
  if (before->swap->empty())
    wanted.swap = {{"", 2, {0}}};
  auto edited = applySettings(text, "fuzz.yaml", wanted);
  if (!edited)
    return llvm::toString(edited.takeError());
  auto now =
      readSettings(parseTrainingConfig(*edited, "fuzz.yaml", diagnostics));
  if (!now)
    complain(llvm::toString(now.takeError()));
  else if (now->microBatches != 7 ||
           now->modelParallel != before->modelParallel)
    complain("other numbers are read than were written");
  return *edited;
}

} // namespace mf

#endif // MF_TEST_FUZZ_EDITSETTINGS_H
