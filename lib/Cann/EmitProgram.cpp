//===- EmitProgram.cpp - A step as a C++ program on CANN ------------------===//

#include "mf/Cann/EmitProgram.h"
#include "CannCalls.h"
#include "ProgramText.h"
#include "mf/Program/LocatedError.h"
#include "llvm/ADT/StringExtras.h"

using namespace mf::program;

namespace mf::cann {

/// The functions that launch the kernels that the program has.
static std::string makeKernelHeader(const std::set<std::string> &kernels) {
  std::set<std::string> headers;
  std::string functions;
  for (const std::string &kernel : kernels) {
    const CannCall &call = *findCannCall(kernel);
    for (llvm::StringRef header : llvm::split(call.headers, ' '))
      headers.insert(header.str());
    functions += "\n" + call.text.str();
  }
  std::string text =
      "// The kernels of the program, each as calls of aclnn.\n\n"
      "#ifndef MF_KERNELS_H\n#define MF_KERNELS_H\n\n#include \"mf_rank.h\"\n";
  for (const std::string &header : headers)
    text += "#include \"aclnnop/aclnn_" + header + ".h\"\n";
  return text + "\nnamespace kernels {\n\nusing namespace mf_cann;\n" +
         functions + "\n} // namespace kernels\n\n#endif // MF_KERNELS_H\n";
}

static llvm::Error checkProgram(const Program &program) {
  for (const StageProgram &stage : program.stages)
    for (const Static &buffer : stage.statics)
      if (buffer.role == Role::Draw)
        return llvm::make_error<LocatedError>(
            buffer.location, "programs on CANN have no dropout: the random "
                             "bits of '" +
                                 buffer.name + "' are of a generator of ours");
  return llvm::Error::success();
}

/// The host has each step's learning rates, which CANN's optimizer takes from
/// there.
static void emitMirrors(const StageProgram &stage, llvm::raw_ostream &os) {
  os << "/// The scalars that operators take from host memory.\n"
        "static void addMirrors([[maybe_unused]] CannRank &rank) {\n";
  for (const Static &onDevice : stage.statics)
    for (const Static &onHost : stage.statics)
      if (onDevice.role == Role::LearningRate &&
          onHost.role == Role::LearningRate &&
          onDevice.space == Space::Device && onHost.space == Space::Host)
        os << "  rank.mirror(rank.device(" << onDevice.offset << "), rank.host("
           << onHost.offset << "), " << onHost.bytes << ");\n";
  os << "}\n\n"
        "static Step getStep() {\n"
        "  return {arenaBytes, hostBytes, numStreams, numEvents,\n"
        "          workspaceRoom, channelUses, addMirrors, computeGradients,\n"
        "          finishStep};\n}\n\n";
}

llvm::Expected<ProgramFiles> emitProgram(const Program &program) {
  if (llvm::Error error = checkProgram(program))
    return error;
  std::set<std::string> kernels;
  std::string step, facts, text;
  {
    llvm::raw_string_ostream stepStream(step), factStream(facts);
    for (const StageProgram &stage : program.stages) {
      const std::string name = "stage" + std::to_string(stage.stage);
      stepStream << "namespace " << name << " {\n\n";
      if (llvm::Error error = emitStep(program, stage, kernels, stepStream))
        return error;
      emitMirrors(stage, stepStream);
      stepStream << "} // namespace " << name << "\n\n";
    }
    emitFacts(program, factStream);
  }
  llvm::raw_string_ostream os(text);
  os << "// One training step on an Ascend NPU: its routines, the step that "
        "calls them, and\n// what libmf-step has to know of both.\n\n"
        "#include \"kernels.h\"\n#include \"mf_main.h\"\n\n"
        "using namespace mf_cann;\n\n"
     << step << facts
     << "int main(int argc, char **argv) {\n  std::vector<Step> steps;\n";
  for (const StageProgram &stage : program.stages)
    os << "  steps.push_back(stage" << stage.stage << "::getStep());\n";
  os << "  return runMain(argc, argv, getFacts(), steps);\n}\n";
  ProgramFiles files;
  files["step.cpp"] = text;
  files["kernels.h"] = makeKernelHeader(kernels);
  for (const char *name :
       {"mf_cann.h", "mf_executors.h", "mf_capture.h", "mf_kept.h", "mf_rank.h",
        "mf_channels.h", "mf_main.h", "CMakeLists.txt", "README.md"})
    files[name] = getSupportFile(name).str();
  return files;
}

} // namespace mf::cann
