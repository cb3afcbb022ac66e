//===- LocatedError.h - Errors that point into a program ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_PROGRAM_LOCATEDERROR_H
#define MF_PROGRAM_LOCATEDERROR_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace mf::program {

/// An error with its place. `location` is an index into the table of locations
/// that decoding returns (DecodedProgram::locations).
class LocatedError : public llvm::ErrorInfo<LocatedError> {
public:
  struct Note {
    uint32_t location = 0;
    std::string text;
  };

  LocatedError(uint32_t location, const llvm::Twine &message)
      : location(location), message(message.str()) {}

  void addNote(uint32_t at, const llvm::Twine &text) {
    notes.push_back({at, text.str()});
  }

  uint32_t getLocation() const { return location; }
  const std::string &getMessage() const { return message; }
  const std::vector<Note> &getNotes() const { return notes; }

  /// Prints the message and a line for each note.
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;

  static char ID; // NOLINT(readability-identifier-naming): LLVM wants it

private:
  uint32_t location;
  std::string message;
  std::vector<Note> notes;
};

} // namespace mf::program

#endif // MF_PROGRAM_LOCATEDERROR_H
