//===- StageText.h - The source files of a stage ----------------*- C++ -*-===//

#ifndef MF_LIB_CANN_STAGETEXT_H
#define MF_LIB_CANN_STAGETEXT_H

#include "mf/Cann/EmitProgram.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace mf::cann {

/// A function of a stage takes the rank, the record of a routine's call beside
/// it, or the facts that it adds to.
enum class Parameters : uint8_t { Rank, RankAndCall, Facts };

/// The head of a function of a stage.
struct FunctionHead {
  std::string name;
  /// The comment is empty if there is nothing to say.
  std::string comment;
  Parameters parameters = Parameters::Rank;
};

/// Gathers the functions of a stage: a header declares them, and files of
/// bounded size define them, so that compilers can work on several at a time
/// with little memory.
class StageText {
public:
  explicit StageText(std::string stageName) : stage(std::move(stageName)) {}

  /// Adds the name of a place in memory.
  void addConstant(llvm::StringRef name, int64_t value);
  /// Adds a function of the statements in all parts. If there are several, each
  /// part becomes a function of its own.
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
