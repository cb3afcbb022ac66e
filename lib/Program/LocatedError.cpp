//===- LocatedError.cpp - Errors that point into a program ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Program/LocatedError.h"
#include "llvm/Support/raw_ostream.h"

namespace mf::program {

char LocatedError::ID = 0;

void LocatedError::log(llvm::raw_ostream &os) const {
  os << message;
  for (const Note &note : notes)
    os << "\n  note: " << note.text;
}

std::error_code LocatedError::convertToErrorCode() const {
  return llvm::inconvertibleErrorCode();
}

} // namespace mf::program
