//===- YamlCursor.h - The place of the cursor in a YAML ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Finds the place of a cursor from the lines around it, so that it is known
// also while the text is being typed and is not valid YAML.
//
//===----------------------------------------------------------------------===//

#ifndef MF_TOOLS_MF_LSP_SERVER_YAMLCURSOR_H
#define MF_TOOLS_MF_LSP_SERVER_YAMLCURSOR_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace mf::lsp {

struct YamlCursor {
  /// The keys of the maps that contain the cursor, the outermost first.
  std::vector<std::string> path;
  /// The other keys of the innermost of these maps.
  std::vector<std::string> neighbours;
  /// The key whose value contains the cursor; empty if the cursor is where a
  /// key is expected.
  std::string key;
  /// The byte range in the line of the word at the cursor, without quotes.
  size_t begin = 0, end = 0;
  /// True if there is a quote before the word.
  bool isQuoted = false;
  bool isComment = false;

  /// Returns the path, with a dot between two keys, without the last `dropped`
  /// keys.
  std::string getSection(size_t dropped = 0) const;
};

/// Finds the place of byte `column` of `lines[line]`. The word may extend
/// beyond the cursor.
YamlCursor findCursor(llvm::ArrayRef<llvm::StringRef> lines, size_t line,
                      size_t column);

/// Returns the end of the word or quoted text that starts at `begin`.
size_t findWordEnd(llvm::StringRef line, size_t begin);

} // namespace mf::lsp

#endif // MF_TOOLS_MF_LSP_SERVER_YAMLCURSOR_H
