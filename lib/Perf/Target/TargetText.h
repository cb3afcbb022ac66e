//===- TargetText.h - Prepares a target's file for parsing ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// MLIR searches for the end of an attribute before it parses it, and
// misinterprets brackets and quotes in comments.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_PERF_TARGET_TARGETTEXT_H
#define MF_LIB_PERF_TARGET_TARGETTEXT_H

#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace mf::target {

/// Returns each line of a text as a `//` line; empty for an empty text.
std::string makeComment(llvm::StringRef text);

/// Returns the text with blanks in place of its comments, so that all offsets
/// stay the same.
std::string blankComments(llvm::StringRef text);

/// A bracket that has no partner, or is too deep for MLIR's recursive parser.
struct WrongBracket {
  size_t offset = 0;
  /// The message, for example "'{' is not closed".
  std::string message;
};

/// Returns the first bracket in a text without comments that is closed by
/// another kind, closes nothing, or is nested more than 100 deep. Otherwise
/// returns the innermost bracket that is not closed at the end of the text.
std::optional<WrongBracket> findWrongBracket(llvm::StringRef text);

} // namespace mf::target

#endif // MF_LIB_PERF_TARGET_TARGETTEXT_H
