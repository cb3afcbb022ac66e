//===- StageText.cpp - The source files of a stage ------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "StageText.h"
#include "llvm/ADT/StringExtras.h"

namespace mf::cann {

/// A file has at most this many bytes, unless a single function has more.
static constexpr size_t mostBytes = 200000;

void StageText::addConstant(llvm::StringRef name, int64_t value) {
  constants += ("[[maybe_unused]] constexpr int64_t " + name + " = " +
                llvm::Twine(value) + ";\n")
                   .str();
}

void StageText::define(llvm::StringRef text) {
  if (!definitions.back().empty() &&
      definitions.back().size() + text.size() > mostBytes)
    definitions.emplace_back();
  definitions.back() += text;
}

/// Returns the parameters of a function, with `prefix` before each name.
static std::string getParameters(Parameters parameters,
                                 const std::string &prefix) {
  switch (parameters) {
  case Parameters::Rank:
    return prefix + "CannRank &rank";
  case Parameters::RankAndCall:
    return prefix + "CannRank &rank, " + prefix + "const RoutineCall &call";
  case Parameters::Facts:
    return prefix + "mf::step::Facts &facts";
  }
  llvm_unreachable("unknown parameters");
}

static llvm::StringRef getArguments(Parameters parameters) {
  switch (parameters) {
  case Parameters::Rank:
    return "rank";
  case Parameters::RankAndCall:
    return "rank, call";
  case Parameters::Facts:
    return "facts";
  }
  llvm_unreachable("unknown parameters");
}

void StageText::addFunction(const FunctionHead &head,
                            llvm::ArrayRef<std::string> parts) {
  if (parts.size() > 1) {
    std::string calls;
    for (size_t i = 0; i < parts.size(); ++i) {
      const std::string name = head.name + "_" + std::to_string(i + 1);
      addFunction({name, "", head.parameters}, parts[i]);
      calls +=
          ("  " + name + "(" + getArguments(head.parameters) + ");\n").str();
    }
    addFunction(head, calls);
    return;
  }
  if (!head.comment.empty())
    declarations += "/// " + head.comment + "\n";
  declarations +=
      "void " + head.name + "(" + getParameters(head.parameters, "") + ");\n";
  define("void " + head.name + "(" +
         getParameters(head.parameters, "[[maybe_unused]] ") + ") {\n" +
         parts.front() + "}\n\n");
}

void StageText::addRecord(llvm::StringRef statements) {
  declarations += "Step getStep();\n";
  define(("Step getStep() {\n" + statements + "}\n\n").str());
}

void StageText::addFiles(ProgramFiles &files) const {
  const std::string guard = "MF_" + llvm::StringRef(stage).upper() + "_H";
  files[stage + ".h"] =
      "// The memory of a stage by name, and its functions: the routines, and "
      "the step\n// that calls them.\n\n#ifndef " +
      guard + "\n#define " + guard +
      "\n\n#include \"kernels.h\"\n#include \"mf_step.h\"\n\nnamespace " +
      stage +
      " {\n\nusing namespace mf_cann;\n\n"
      "/// Where statics lie: in the arena, or in host memory.\n"
      "namespace at {\n" +
      constants + "} // namespace at\n\n" + declarations + "\n} // namespace " +
      stage + "\n\n#endif // " + guard + "\n";
  for (size_t i = 0; i < definitions.size(); ++i) {
    const std::string name =
        stage + (i == 0 ? "" : "_" + std::to_string(i + 1)) + ".cpp";
    files[name] = "#include \"" + stage + ".h\"\n\nnamespace " + stage +
                  " {\n\n" + definitions[i] + "} // namespace " + stage + "\n";
  }
}

} // namespace mf::cann
