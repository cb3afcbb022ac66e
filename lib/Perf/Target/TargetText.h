//===- TargetText.h - Prepares a target's file for parsing ------*- C++ -*-===//
//
// MLIR looks for the end of an attribute before it parses it, and takes
// brackets and quotes in comments for its own. People write comments as they
// like.
//
//===----------------------------------------------------------------------===//

#ifndef MF_LIB_TARGET_TARGETTEXT_H
#define MF_LIB_TARGET_TARGETTEXT_H

#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace mf::target {

/// Each line of a text as a `//` line; nothing for no text.
std::string makeComment(llvm::StringRef text);

/// The text with blanks for its comments: all else stays in its place.
std::string blankComments(llvm::StringRef text);

/// A bracket that has no partner, or is too deep for MLIR's recursive parser.
struct WrongBracket {
  size_t offset = 0;
  /// "'{' is not closed".
  std::string message;
};

/// The first in a text without comments that is closed by another kind, closes
/// nothing or is inside of more than 100 others; else the innermost that the
/// text ends in.
std::optional<WrongBracket> findWrongBracket(llvm::StringRef text);

} // namespace mf::target

#endif // MF_LIB_TARGET_TARGETTEXT_H
