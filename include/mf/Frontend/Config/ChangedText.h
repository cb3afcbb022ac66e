//===- ChangedText.h - Places in a text before it was edited ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_FRONTEND_CONFIG_CHANGEDTEXT_H
#define MF_FRONTEND_CONFIG_CHANGEDTEXT_H

#include "mf/Support/Diagnostic.h"

namespace mf {

/// Finds the lines of an edited text in the text before the edits, which is the
/// one that a user can look at.
class ChangedText {
public:
  ChangedText(llvm::StringRef before, llvm::StringRef after);

  /// Returns the line before the edits, which is the same line or the one that
  /// it replaces; 0 if the line was added.
  unsigned findLine(unsigned line) const {
    return line > 0 && line <= lines.size() ? lines[line - 1] : 0;
  }

  /// Moves the places of a diagnostic that are in `file` to the text before the
  /// edits. Places on added lines lose their line.
  void moveBack(Diagnostic &diagnostic, llvm::StringRef file) const;

private:
  /// For each line of the edited text its number before, or 0.
  std::vector<unsigned> lines;
};

} // namespace mf

#endif // MF_FRONTEND_CONFIG_CHANGEDTEXT_H
