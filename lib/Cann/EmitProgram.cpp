//===- EmitProgram.cpp - A step as a C++ program on CANN ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Cann/EmitProgram.h"
#include "CannCalls.h"
#include "ProgramText.h"
#include "llvm/ADT/StringExtras.h"

using namespace mf::program;

namespace mf::cann {

/// Adds the functions that launch the kernels of the program.
static void addKernels(const std::set<std::string> &kernels,
                       ProgramFiles &files) {
  std::set<std::string> headers;
  std::string declarations, definitions;
  for (const std::string &kernel : kernels) {
    const CannCall &call = *findCannCall(kernel);
    for (llvm::StringRef header : llvm::split(call.headers, ' '))
      if (!header.empty())
        headers.insert(header.str());
    declarations += "\n" + call.declaration.str();
    definitions += "\n" + call.definition.str();
  }
  files["kernels.h"] =
      "// The kernels of the program, each as calls of aclnn.\n\n"
      "#ifndef MF_KERNELS_H\n#define MF_KERNELS_H\n\n#include \"mf_rank.h\"\n"
      "\nnamespace kernels {\n\nusing namespace mf_cann;\n" +
      declarations + "\n} // namespace kernels\n\n#endif // MF_KERNELS_H\n";
  std::string &text = files["kernels.cpp"];
  text = "#include \"kernels.h\"\n";
  for (const std::string &header : headers)
    text += "#include \"aclnnop/aclnn_" + header + ".h\"\n";
  text +=
      "\nnamespace kernels {\n" + definitions + "\n} // namespace kernels\n";
}

/// Returns the main function, which knows the steps of all stages.
static std::string makeMain(const Program &program) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "// The facts of the program that libmf-step needs, and the main "
        "function.\n\n"
        "#include \"mf_main.h\"\n\nusing namespace mf_cann;\n\n";
  for (const StageProgram &stage : program.stages)
    os << "namespace stage" << stage.stage
       << " {\nvoid addStatics(mf::step::Facts &facts);\nStep getStep();\n}\n";
  os << "\n";
  emitFacts(program, os);
  os << "int main(int argc, char **argv) {\n"
        "  return runMain(argc, argv, getFacts(), {";
  for (const StageProgram &stage : program.stages)
    os << "\n      stage" << stage.stage << "::getStep(),";
  os << "});\n}\n";
  return text;
}

/// Adds the files that are the same for all programs. CMakeLists.txt is given
/// the names of all sources.
static void addSupport(ProgramFiles &files) {
  for (const char *name :
       {"mf_cann.h", "mf_capture.h", "mf_channels.cpp", "mf_channels.h",
        "mf_dims.h", "mf_executors.h", "mf_facts.h", "mf_kept.h", "mf_main.cpp",
        "mf_main.h", "mf_rank.cpp", "mf_rank.h", "mf_memory.h", "mf_step.h",
        "README.md"})
    files[name] = getSupportFile(name).str();
  std::string sources;
  for (const auto &[name, text] : files)
    if (llvm::StringRef(name).ends_with(".cpp"))
      sources += (sources.empty() ? "" : "\n  ") + name;
  const auto [before, behind] =
      getSupportFile("CMakeLists.txt").split("@SOURCES@");
  files["CMakeLists.txt"] = (before + sources + behind).str();
}

llvm::Expected<ProgramFiles> emitProgram(const Program &program) {
  std::set<std::string> kernels;
  ProgramFiles files;
  for (const StageProgram &stage : program.stages) {
    StageText text("stage" + std::to_string(stage.stage));
    if (llvm::Error error = emitStep(program, stage, kernels, text))
      return error;
    text.addFiles(files);
  }
  files["main.cpp"] = makeMain(program);
  addKernels(kernels, files);
  addSupport(files);
  return files;
}

} // namespace mf::cann
