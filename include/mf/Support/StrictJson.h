//===- StrictJson.h - Reads untrusted JSON ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_SUPPORT_STRICTJSON_H
#define MF_SUPPORT_STRICTJSON_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace mf {

/// Returns the nesting depth of the objects and arrays in a JSON text.
unsigned getNestingDepth(llvm::StringRef text);

/// Parses `text` as llvm::json::parse does and refuses two more things: nesting
/// deeper than `maximumDepth` (the parser recurses, so that a file of brackets
/// would overflow the stack) and objects that have a member twice (the parser
/// silently takes the last).
llvm::Expected<llvm::json::Value> parseStrictJson(llvm::StringRef text,
                                                  unsigned maximumDepth);

} // namespace mf

#endif // MF_SUPPORT_STRICTJSON_H
