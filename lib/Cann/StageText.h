//===- StageText.h - The source files of a stage ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_CANN_STAGETEXT_H
#define MF_LIB_CANN_STAGETEXT_H

#include "mf/Cann/EmitProgram.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace mf::cann {

/// The parameters of a function of a stage: the rank, the rank and the record
/// of a routine's call, or the facts to which it adds.
enum class Parameters : uint8_t { Rank, RankAndCall, Facts };

/// The name, parameters and comment of a function of a stage.
struct FunctionHead {
  std::string name;
  /// The comment, which may be empty.
  std::string comment;
  Parameters parameters = Parameters::Rank;
};

/// Collects the functions of a stage. A header declares them, and files of
/// bounded size define them, so that compilers can work on several files at a
/// time with little memory.
class StageText {
public:
  explicit StageText(std::string stageName) : stage(std::move(stageName)) {}

  /// Adds the name of an offset in memory.
  void addConstant(llvm::StringRef name, int64_t value);
  /// Adds a function with the statements of all parts. If there are several
  /// parts, each becomes a function of its own.
  void addFunction(const FunctionHead &head, llvm::ArrayRef<std::string> parts);
  /// Adds the function that returns the stage's Step.
  void addRecord(llvm::StringRef statements);

  void addFiles(ProgramFiles &files) const;

private:
  void define(llvm::StringRef text);

  std::string stage;
  std::string constants, declarations;
  /// The definitions by file.
  std::vector<std::string> definitions = {""};
};

} // namespace mf::cann

#endif // MF_LIB_CANN_STAGETEXT_H
