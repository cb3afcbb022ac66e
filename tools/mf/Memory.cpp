//===- Memory.cpp - mf memory ---------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "StageMemory.h"
#include "StepInput.h"
#include "Verb.h"
#include "mf/Perf/Timeline/MemoryPage.h"
#include "mf/Perf/Timeline/Writers.h"
#include "mf/Support/TextTable.h"
#include "tools/help/ToolHelp.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using llvm::Error;
using llvm::Expected;
using llvm::raw_ostream;

namespace mf::tools {

namespace {

struct MemoryOptions {
  cl::OptionCategory category{"Memory"};
  cl::OptionCategory loweringCategory{"The step"};
  StepFileOptions file{category};
  HbmOption hbm{category};
  cl::opt<int64_t> stage{
      "stage", cl::value_desc("number"), cl::init(-1), cl::cat(category),
      cl::desc("Show parts and layers of this stage (default: the fullest)")};
  cl::opt<bool> operators{
      "operators", cl::cat(category),
      cl::desc("Print all parts at the peak, rather than the largest")};
  cl::opt<std::string> html{
      "html", cl::value_desc("file"), cl::cat(category),
      cl::desc(
          "Write a page with the arena over time and all buffers by name")};
  JsonFile json{category};
  StepOptions step{loweringCategory};
};

} // namespace

static void printParts(const StagePeakMemory &stage, size_t most,
                       raw_ostream &os) {
  const int64_t arena = stage.getHeldBytes();
  os << "\nstage " << stage.report.stage << " at its peak, which is at "
     << stage.moment << ":\n";
  TextTable table({"part", "category", "buffers",
                   arena < (int64_t(1) << 30) ? "MiB" : "GiB"});
  for (const MemoryPart &part : llvm::ArrayRef(stage.parts).take_front(most))
    table.addRow({part.name, describe(part.category),
                  std::to_string(part.count), countBytes(part.bytes, arena)});
  table.print(os);
  if (most >= stage.parts.size())
    return;
  int64_t rest = 0;
  for (const MemoryPart &part : llvm::ArrayRef(stage.parts).drop_front(most))
    rest += part.bytes;
  os << stage.parts.size() - most << " smaller parts have "
     << showBytes(rest, arena) << "; --operators prints them\n";
}

static void printLayers(const StagePeakMemory &stage, raw_ostream &os) {
  if (stage.layers.empty())
    return;
  const int64_t arena = stage.getHeldBytes();
  const std::string unit = arena < (int64_t(1) << 30) ? "MiB" : "GiB";
  os << "\nkept by the layers of stage " << stage.report.stage
     << " from forward to backward:\n";
  TextTable table({"layer", "where", unit + " of a micro-batch",
                   "micro-batches at the peak", unit + " in all"});
  for (const LayerMemory &layer : stage.layers)
    table.addRow({layer.layer, layer.isHost ? "host" : "device",
                  countBytes(layer.bytes, arena),
                  std::to_string(layer.timesInFlight),
                  countBytes(layer.bytes * layer.timesInFlight, arena)});
  table.print(os);
}

static Error run(const MemoryOptions &options) {
  Expected<int64_t> limit = options.hbm.getBytes();
  if (!limit)
    return limit.takeError();
  mlir::MLIRContext context;
  StepRequest request = options.file.getRequest();
  request.target = defaultTarget.str();
  request.hbm = options.hbm.text;
  Expected<InputStep> step = readStep(options.step, request, context);
  if (!step)
    return step.takeError();
  Expected<program::DecodedProgram> decoded = decodeStep(*step);
  if (!decoded)
    return decoded.takeError();
  Expected<std::vector<StagePeakMemory>> stages =
      measureMemory(*step->module, decoded->program, *limit);
  if (!stages)
    return stages.takeError();
  const auto numStages = static_cast<int64_t>(stages->size());
  if (options.stage.getNumOccurrences() > 0 &&
      (options.stage < 0 || options.stage >= numStages))
    return llvm::createStringError(llvm::formatv(
        "--stage={0}: expected a number from 0 to {1}, as the step has {2} {3}",
        +options.stage, numStages - 1, numStages,
        numStages == 1 ? "stage" : "stages"));
  printWarnings(*step, llvm::errs());
  raw_ostream &os = options.json.getText();
  timeline::printMemory(toTimeline(*stages), os);
  const StagePeakMemory &shown =
      (*stages)[options.stage.getNumOccurrences() > 0
                    ? static_cast<size_t>(options.stage)
                    : findFullest(*stages)];
  constexpr size_t largest = 12;
  if (shown.report.trainer) {
    os << "\nthe trainer on stage " << shown.report.stage << ":\n";
    printTrainer(shown, os);
  }
  printParts(shown, options.operators ? shown.parts.size() : largest, os);
  printLayers(shown, os);
  llvm::json::Array all;
  for (const StagePeakMemory &stage : *stages)
    all.push_back(toJson(stage));
  if (!options.html.empty())
    if (Error error = timeline::writeMemoryPage(
            options.html, decoded->program,
            step->yaml.empty()
                ? options.file.input.getValue()
                : planner::makeTitle(step->yaml, options.file.input)))
      return error;
  return options.json.write(llvm::json::Object{{"stages", std::move(all)}});
}

int runMemory(int argc, char **argv) {
  MemoryOptions options;
  setUpHelp({&options.category, &options.loweringCategory},
            "\nEXAMPLES:\n\n"
            "  mf memory train.yaml\n"
            "  mf memory train.yaml --stage=0 --operators\n"
            "  mf memory train.yaml --html=memory.html\n");
  cl::ParseCommandLineOptions(
      argc, argv,
      "mf memory: shows what fills the memory of each stage\n\n"
      "Prints a table of the stages, the largest buffers that are live at the "
      "peak of the\nfullest stage, and what each of its layers keeps.\n");
  Error error = run(options);
  return error ? fail(std::move(error)) : 0;
}

} // namespace mf::tools
