//===- RunCommand.cpp - Runs what the options of mf-run ask for -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "RunCommand.h"
#include "Options.h"
#include "Routing.h"
#include "dialects/ascend/AscendDialect.h"
#include "dialects/mf/MfOps.h"
#include "mf/Decode/Decoder.h"
#include "mf/Decode/TargetFile.h"
#include "mf/Exec/Data/TensorComparison.h"
#include "mf/Exec/Device/TurnSchedule.h"
#include "mf/Exec/Interpreter/Interpreter.h"
#include "mf/Exec/Runner/MemoryReport.h"
#include "mf/Exec/Runner/ProcessGroup.h"
#include "mf/Exec/Runner/ProgramEngine.h"
#include "mf/Perf/Calibration/Calibration.h"
#include "mf/Perf/Simulator/StepSimulator.h"
#include "mf/Perf/Target/Target.h"
#include "mf/Perf/Target/TargetFields.h"
#include "mf/Perf/Timeline/MemoryPage.h"
#include "mf/Perf/Timeline/Writers.h"
#include "mf/Program/Program.h"
#include "mf/Program/Verifier.h"
#include "mf/Support/AtomicFile.h"
#include "mf/Support/Diagnostic.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/FileUtilities.h"
#include "tools/bytecode/GuardedParse.h"
#include "tools/targets/TargetOptions.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>

using namespace llvm;
using namespace mf::program;
using mf::ranks::SharedValue;
using mf::runner::ProcessGroup;
using namespace mf;
using namespace mf::tools;
using llvm::Error;

extern char **environ;

//===----------------------------------------------------------------------===//
// One of several processes
//===----------------------------------------------------------------------===//

namespace {

/// The messages of mf-run. Several processes find most errors at the same time,
/// so each process collects its own, and one process prints them at the end.
class Messages {
public:
  /// `processes` is null for a single process. `tool` is named before errors.
  Messages(runner::ProcessGroup *processes, std::string tool)
      : processes(processes), tool(std::move(tool)) {
    if (processes)
      stream.emplace(text);
  }
  Messages(const Messages &) = delete;
  Messages &operator=(const Messages &) = delete;

  /// Returns the stream for errors and warnings.
  llvm::raw_ostream &getErrors() {
    if (stream)
      return *stream;
    return llvm::errs();
  }

  /// Prints an error; returns 1.
  int fail(const Twine &message) {
    WithColor::error(getErrors(), tool) << message << '\n';
    return 1;
  }

  /// Prints errors, those with places as compilers do; returns 1.
  int fail(Error error) {
    if (error.isA<DiagnosticError>())
      printError(std::move(error), getErrors());
    else
      fail(toString(std::move(error)));
    return 1;
  }

  /// Forgets the errors so far, which several processes have not printed yet.
  void discard() { text.clear(); }
  /// Prints a remark for the user.
  void note(StringRef remark) {
    if (!processes || processes->isFirst())
      WithColor::note(errs(), tool) << remark << '\n';
  }

  /// Ends the run: with a code other than 0, in all processes. Returns the code
  /// that main returns.
  int finish(int code) {
    if (processes && code != 0) {
      outs().flush();
      processes->fail(text);
    }
    // The text has only warnings.
    if (processes && processes->isFirst())
      errs() << text;
    return code;
  }

private:
  runner::ProcessGroup *processes;
  std::string tool;
  std::string text;
  std::optional<llvm::raw_string_ostream> stream;
};

} // namespace

/// Connects to the other processes that mpirun started. Returns null, without
/// using MPI, if there are none. `program` is argv[0].
static Expected<std::unique_ptr<runner::ProcessGroup>>
joinProcesses(const char *program) {
  if (countStartedProcesses() == 1)
    return nullptr;
  // The library is next to the folder of tools, in the build and when
  // installed.
  SmallString<128> path(sys::fs::getMainExecutable(
      program, reinterpret_cast<void *>(&joinProcesses)));
  sys::path::remove_filename(path);
  sys::path::append(path, "..", "lib", "mf-mpi.so");
  auto transport = loadTransport(path);
  if (!transport)
    return transport.takeError();
  return std::make_unique<runner::ProcessGroup>(std::move(*transport));
}

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

namespace {

/// The target of --target.
struct LoadedTarget {
  /// The text of the target's file.
  std::string text;
  target::Target written;
  /// The target with the numbers of --set.
  target::Target changed;
};

} // namespace

/// Gives the link to the host the rates of --d2h-gbps and --h2d-gbps.
static void applyLinkRates(const Options &options, target::HostLink &host) {
  constexpr double bytesPerGb = 1e9;
  if (options.d2hGbps > 0)
    host.toHostBytesPerSecond = host.toDeviceBytesPerSecond =
        options.d2hGbps * bytesPerGb;
  if (options.h2dGbps > 0)
    host.toDeviceBytesPerSecond = options.h2dGbps * bytesPerGb;
}

/// Reads --target and applies --set. Returns none after an error.
static std::optional<LoadedTarget> loadTarget(const Options &options,
                                              mlir::MLIRContext &context,
                                              Messages &messages) {
  SourceMgr sources;
  if (Error error = openTargetOption(options.target, sources)) {
    messages.fail(toString(std::move(error)));
    return std::nullopt;
  }
  mlir::FailureOr<target::Target> written =
      parseTargetOption(sources, context, messages.getErrors());
  if (failed(written))
    return std::nullopt;
  LoadedTarget loaded;
  loaded.text =
      sources.getMemoryBuffer(sources.getMainFileID())->getBuffer().str();
  loaded.written = *written;
  loaded.changed = std::move(*written);
  if (Error error = applySetOptions(loaded.changed, options.set)) {
    messages.fail(toString(std::move(error)));
    return std::nullopt;
  }
  applyLinkRates(options, loaded.changed.host);
  return loaded;
}

/// Writes the file of a target to -o, in one step, or to standard output. It is
/// that of --target, with the numbers of `target` and `comment` as `//` lines
/// at its top.
static Error writeTarget(const Options &options, const LoadedTarget &loaded,
                         const target::Target &target, StringRef comment,
                         mlir::MLIRContext &context) {
  const std::string text =
      target::editTarget(loaded.text, loaded.written, target, context, comment);
  if (options.output != "-")
    return writeFileAtomically(options.output, text);
  outs() << text;
  return Error::success();
}

std::string mf::tools::getTargetSummary(StringRef text) {
  std::string summary;
  while (text.consume_front("//")) {
    const auto [line, rest] = text.split('\n');
    summary += line.rtrim();
    text = rest;
  }
  const size_t end = StringRef(summary).find(". ");
  return StringRef(summary).take_front(end).trim().rtrim('.').str();
}

/// Implements --list-targets: prints a line for each target that is part of
/// mf-run.
static int listTargets() {
  for (StringRef name : target::getShippedTargets()) {
    auto buffer = cantFail(target::openTarget(name));
    outs() << formatv("{0,-18} {1}\n", name,
                      getTargetSummary(buffer->getBuffer()));
  }
  return 0;
}

/// Implements --list-parameters: prints the path and value of each number that
/// --set can change. Returns the exit code.
static int listParameters(const Options &options, Messages &messages) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  std::optional<LoadedTarget> loaded = loadTarget(options, context, messages);
  if (!loaded)
    return 1;
  for (const target::Parameter &parameter :
       target::getParameters(loaded->changed))
    outs() << parameter.path << ' '
           << target::formatTargetNumber(*parameter.value) << '\n';
  return 0;
}

/// Implements --print-target: prints the file of --target, with its comments
/// and the numbers of --set. Returns the exit code.
static int printTarget(const Options &options, Messages &messages) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  const std::optional<LoadedTarget> loaded =
      loadTarget(options, context, messages);
  if (!loaded)
    return 1;
  const std::string comment =
      options.set.empty() ? ""
                          : options.target + " with " + join(options.set, ", ");
  if (Error error =
          writeTarget(options, *loaded, loaded->changed, comment, context))
    return messages.fail(toString(std::move(error)));
  return 0;
}

//===----------------------------------------------------------------------===//
// Compares with a program on CANN
//===----------------------------------------------------------------------===//

static Expected<std::string> findProgram(StringRef folder) {
  for (const char *name : {"step", "build/step"}) {
    SmallString<128> path(folder);
    sys::path::append(path, name);
    if (sys::fs::can_execute(path)) {
      if (std::error_code code = sys::fs::make_absolute(path))
        return createStringError(path + ": " + code.message());
      return path.str().str();
    }
  }
  return createStringError(
      "--compare-with: '" + folder +
      "' has no program 'step' or 'build/step'; expected a folder where what "
      "mf-translate --ascend-to-cpp wrote was built");
}

/// Returns the last lines that a failed rank has printed.
static std::string readErrors(const std::string &path) {
  auto file = MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!file)
    return "";
  constexpr size_t mostBytes = 2000;
  return (*file)->getBuffer().take_back(mostBytes).trim().str();
}

namespace {

/// Implements --compare-with: repeats the run with a program that mf-translate
/// wrote, and compares the results of operators in the last step.
class ProgramComparison {
public:
  /// Finds the program and creates a folder for its files, which the destructor
  /// removes.
  static llvm::Expected<std::unique_ptr<ProgramComparison>>
  create(const Options &options) {
    std::unique_ptr<ProgramComparison> made(new ProgramComparison(options));
    auto program = findProgram(options.compareWith);
    if (!program)
      return program.takeError();
    made->program = *program;
    if (std::error_code code =
            sys::fs::createUniqueDirectory("mf-run-compare", made->folder))
      return createStringError("a folder for --compare-with: " +
                               code.message());
    made->ownPath = options.output == "-" ? made->getPath("ours.safetensors")
                                          : options.output.getValue();
    return made;
  }

  ~ProgramComparison() {
    if (!folder.empty())
      (void)sys::fs::remove_directories(folder);
  }

  /// Returns the file to which mf-run's own run writes the results of
  /// operators.
  const std::string &getOwnPath() const { return ownPath; }
  /// Runs the program with one process per rank and prints the first
  /// difference. Returns the exit code: 0, or 2 if a tensor is wrong.
  llvm::Expected<int> run(int64_t numRanks, raw_ostream &os) const {
    if (Error error = runProgram(numRanks))
      return std::move(error);
    auto ours = SafetensorsFile::open(ownPath);
    if (!ours)
      return ours.takeError();
    auto theirs = SafetensorsFile::open(getPath("theirs.safetensors"));
    if (!theirs)
      return theirs.takeError();
    auto comparison = compareTensors(*ours, *theirs, ComparisonRule());
    if (!comparison)
      return comparison.takeError();
    const auto numEqual =
        count_if(comparison->tensors, [](const ComparedTensor &tensor) {
          return tensor.error == 0;
        });
    os << "compared with " << program << ": " << comparison->tensors.size()
       << " tensors of " << numRanks << (numRanks == 1 ? " rank" : " ranks")
       << ", " << numEqual << " of them equal\n";
    if (!comparison->skipped.empty())
      os << comparison->skipped.size() << " are not in the program, such as "
         << comparison->skipped.front() << "\n";
    if (!comparison->findFirstWrong())
      return 0;
    printFirstWrong(*comparison, os);
    return 2;
  }

private:
  explicit ProgramComparison(const Options &options) : options(options) {}

  std::string getPath(StringRef name) const {
    SmallString<128> path(folder);
    sys::path::append(path, name);
    return path.str().str();
  }

  /// Runs the program with one process per rank, whose environment has the
  /// rank's number.
  llvm::Error runProgram(int64_t numRanks) const {
    std::vector<std::string> arguments = {
        program,
        "--quiet",
        "--steps=" + std::to_string(options.steps),
        "--seed=" + std::to_string(options.seed),
        "--dump-tensors=" + options.getDumpPattern().str(),
        "-o=" + getPath("theirs.safetensors")};
    for (const auto *path : {&options.data, &options.initParams})
      if (!path->empty())
        arguments.push_back("--" + path->ArgStr.str() + "=" + path->getValue());
    const std::vector<StringRef> given(arguments.begin(), arguments.end());
    const std::string nothing,
        numbers = "RANK_SIZE=" + std::to_string(numRanks),
        meeting = ("MF_ROOT_INFO_DIR=" + folder).str();
    std::vector<sys::ProcessInfo> started;
    std::string failure;
    for (int64_t rank = 0; rank < numRanks && failure.empty(); ++rank) {
      std::vector<StringRef> environment;
      for (char **entry = environ; *entry; ++entry)
        environment.emplace_back(*entry);
      const std::string number = "RANK_ID=" + std::to_string(rank);
      append_range(environment, ArrayRef<StringRef>{number, numbers, meeting});
      const std::string errors = getPath("errors." + std::to_string(rank));
      const std::optional<StringRef> redirects[] = {nothing, nothing, errors};
      bool hasFailed = false;
      started.push_back(
          sys::ExecuteNoWait(program, given, environment, redirects,
                             /*MemoryLimit=*/0, &failure, &hasFailed));
    }
    for (const auto &[rank, process] : enumerate(started)) {
      std::string text;
      const sys::ProcessInfo ended =
          sys::Wait(process, /*SecondsToWait=*/std::nullopt, &text);
      if (ended.ReturnCode != 0 && failure.empty())
        failure = ("rank " + Twine(rank) + " ended with exit code " +
                   Twine(ended.ReturnCode) + ": " +
                   readErrors(getPath("errors." + std::to_string(rank))))
                      .str();
    }
    if (failure.empty())
      return Error::success();
    return createStringError("--compare-with: " + program + ": " + failure);
  }

  const Options &options;
  std::string program, ownPath;
  llvm::SmallString<128> folder;
};

} // namespace

//===----------------------------------------------------------------------===//
// Timelines that mf-run writes
//===----------------------------------------------------------------------===//

/// Checks --trace-ranks and paths before a step runs.
static Error checkStepFiles(const Options &options, const program::Mesh &mesh) {
  if (!options.traceRanks.empty() && options.trace.empty())
    return llvm::createStringError("--trace-ranks needs --trace");
  // Paths are checked before a step runs, not after it.
  for (const auto *path : {&options.trace, &options.html})
    if (!path->empty())
      if (auto file = AtomicFile::create(*path); !file)
        return file.takeError();
  if (!options.profile.empty())
    if (Error error = timeline::checkProfileFolder(options.profile))
      return error;
  return timeline::checkTraceRanks(
      mesh, std::vector<int64_t>(options.traceRanks.begin(),
                                 options.traceRanks.end()));
}

/// Writes the files of --trace, --profile and --html.
static Error writeStepFiles(const Options &options,
                            const timeline::StepTimeline &timeline,
                            const program::Mesh &mesh) {
  if (!options.trace.empty())
    if (Error error = timeline::writeTrace(
            options.trace, timeline, mesh,
            std::vector<int64_t>(options.traceRanks.begin(),
                                 options.traceRanks.end())))
      return error;
  if (!options.profile.empty())
    if (Error error = timeline::writeProfile(options.profile, timeline))
      return error;
  if (options.html.empty())
    return Error::success();
  timeline::StepTimeline named = timeline;
  named.program = options.getTitle();
  return timeline::writePage(options.html, named);
}

/// Writes all requested files, the comparison and the table. An executed step
/// reported `losses`.
static Error writeStep(const Options &options,
                       const timeline::StepTimeline &timeline,
                       const program::Mesh &mesh, llvm::raw_ostream &os,
                       const timeline::ReportedLosses &losses = {}) {
  if (Error error = writeStepFiles(options, timeline, mesh))
    return error;
  if (!options.quiet)
    timeline::printTable(timeline, os);
  return options.compare.empty() ? Error::success()
                                 : timeline::compareWithReport(
                                       timeline, options.compare, os, losses);
}

//===----------------------------------------------------------------------===//
// Runs what the options of mf-run ask for
//===----------------------------------------------------------------------===//

/// Returns the rates that kernels could reach at the peaks of the target.
static timeline::BoundRates getRates(const target::Target &target) {
  timeline::BoundRates rates;
  for (const target::ComputeEngine &engine : target.engines)
    if (engine.engine == Engine::Cube)
      for (const target::Peak &peak : engine.peaks)
        rates.flopsPerSecond[peak.type] = peak.flopsPerSecond;
  rates.bytesPerSecond = target.memory.bytesPerSecond;
  rates.source = "peaks of " + target.name;
  return rates;
}

/// Simulates a step on a target, prints the table, and writes the requested
/// outputs.
static Error simulateStep(const Options &options,
                          const program::Program &program,
                          const target::Target &target, llvm::raw_ostream &os) {
  if (Error error = checkStepFiles(options, program.mesh))
    return error;
  const int64_t limit = options.getHbmBytes();
  if (Error error = runner::checkDeviceMemory(program, limit))
    return error;
  simulator::SimulationOptions simulation;
  simulation.withSpans = !options.trace.empty() || !options.profile.empty() ||
                         !options.html.empty() || options.kernelTable;
  llvm::Expected<timeline::StepTimeline> timeline =
      simulator::simulate(program, target, simulation);
  if (!timeline)
    return timeline.takeError();
  timeline->program = options.input;
  if (limit > 0)
    for (timeline::StageTimeline &stage : timeline->stages)
      stage.limitBytes = limit;
  if (options.kernelTable)
    timeline->rates = getRates(target);
  if (!options.report.empty())
    if (Error error = timeline::writeReport(options.report, *timeline))
      return error;
  if (!options.memoryHtml.empty())
    if (Error error = timeline::writeMemoryPage(options.memoryHtml, program,
                                                options.getTitle(), &*timeline))
      return error;
  if (Error error = writeStep(options, *timeline, program.mesh, os))
    return error;
  return options.routing.empty()
             ? Error::success()
             : simulateRouting(options, program, target, os);
}

static Error calibrateTo(const LoadedTarget &start, const Options &options,
                         mlir::MLIRContext &context) {
  Expected<calibration::Profile> profile =
      calibration::readProfile(options.calibrate);
  if (!profile)
    return profile.takeError();
  Expected<calibration::Calibration> fitted =
      calibration::calibrate(start.changed, *profile);
  if (!fitted)
    return fitted.takeError();
  const std::string comment = calibration::describeCalibration(
      *fitted, options.calibrate, options.target);
  if (Error error =
          writeTarget(options, start, fitted->target, comment, context))
    return error;
  if (!options.quiet)
    calibration::printCalibration(*fitted,
                                  options.output == "-" ? errs() : outs());
  return Error::success();
}

/// Implements --calibrate. Fits --target, as changed by --set, to a profile,
/// writes it to -o atomically, and prints the quality of the fit on standard
/// output, or on standard error if the target is written to standard output.
/// After an error the file of -o is unchanged. Returns the exit code.
static int calibrateTarget(const Options &options, Messages &messages) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  const std::optional<LoadedTarget> start =
      loadTarget(options, context, messages);
  if (!start)
    return 1;
  if (Error error = calibrateTo(*start, options, context))
    return messages.fail(toString(std::move(error)));
  return 0;
}

/// Reports an error at the operations to which it refers, if there are any.
static int failAt(Error error, const DecodedProgram &decoded,
                  Messages &messages) {
  handleAllErrors(
      std::move(error), [](const mf::ranks::ReportedError &) {},
      [&](const LocatedError &located) {
        // A step that was lowered in memory has no text.
        if (mlir::isa<mlir::UnknownLoc>(
                decoded.locations[located.getLocation()])) {
          messages.fail(located.getMessage());
          return;
        }
        decoded.emit(located);
      },
      [&](const ErrorInfoBase &other) { messages.fail(other.message()); });
  return 1;
}

/// Under mpirun, the output of processes is a terminal even if mpirun's own
/// output is not.
static bool isTerminal() {
  return outs().is_displayed() && !mf::isStartedByMpirun();
}

namespace {

/// A run in this process.
class RunCommand {
public:
  /// `source` is empty if the step is in the file of the options.
  RunCommand(const Options &options, ProcessGroup *processes,
             const mf::tools::StepSource &source)
      : options(options), processes(processes), source(source),
        messages(processes, options.getToolName()) {}

  /// Runs the file and returns the program's exit code.
  int run() { return messages.finish(runFile()); }

private:
  int runFile() {
    if (const std::string wrong = options.check(); !wrong.empty())
      return messages.fail(wrong);
    if (options.listTargets)
      return listTargets();
    if (options.listParameters)
      return listParameters(options, messages);
    if (options.printTarget)
      return printTarget(options, messages);
    if (!options.calibrate.empty())
      return calibrateTarget(options, messages);
    mlir::MLIRContext context(source ? mlir::MLIRContext::Threading::ENABLED
                                     : mlir::MLIRContext::Threading::DISABLED);
    context.loadDialect<mf::ascend::AscendDialect, mf::ir::MfDialect>();
    SourceMgr sources;
    mlir::SourceMgrDiagnosticHandler handler(sources, &context,
                                             messages.getErrors());
    Expected<mf::tools::StepInMemory> step = readFile(sources, context);
    const int code = step && step->module ? decode(*step->module) : 1;
    const std::string digest = step ? step->digest : "";
    // Errors are reported only now, when the ranks of processes are known. If
    // processes have different files, an error in one of the files does not
    // matter.
    if (Error error = agreeOnFile(step.takeError(), digest)) {
      messages.discard();
      return messages.fail(std::move(error));
    }
    if (code != 0)
      return code;
    if (options.simulate)
      return simulate(context);
    if (!options.memoryHtml.empty())
      return showMemory();
    return model ? interpret() : runProgram(context);
  }

  /// Reads the file, or takes the step from the source. A file that cannot be
  /// parsed has no module; its errors are reported.
  Expected<mf::tools::StepInMemory> readFile(SourceMgr &sources,
                                             mlir::MLIRContext &context) {
    if (source)
      return source(context, messages.getErrors());
    std::string message;
    std::unique_ptr<MemoryBuffer> buffer =
        mlir::openInputFile(options.input, &message);
    if (!buffer)
      return createStringError(message);
    mf::tools::StepInMemory step;
    if (processes)
      step.digest = mf::tools::getDigest(buffer->getBuffer());
    sources.AddNewSourceBuffer(std::move(buffer), SMLoc());
    step.module = mf::tools::parseGuarded(sources, context);
    return step;
  }

  /// Decodes the model or program of a module, and assigns ranks to processes.
  int decode(mlir::ModuleOp module) {
    auto models = module.getOps<mf::ir::ModelOp>();
    if (hasSingleElement(module.getBody()->getOperations()) &&
        !models.empty()) {
      model = *models.begin();
      return 0;
    }
    mlir::FailureOr<DecodedProgram> program = decodeProgram(module);
    if (failed(program))
      return 1;
    decoded = std::move(*program);
    if (processes)
      if (Error error = processes->placeRanks(decoded.program.getNumRanks()))
        return messages.fail(toString(std::move(error)));
    return 0;
  }

  /// Proves the program before it runs. With --verify=false, proves only that
  /// it does not hang. Returns what was proven, for the report.
  Expected<std::string> verifyBeforeRun() {
    if (!options.verify) {
      if (Error error = verifyProgress(decoded.program))
        return std::move(error);
      return "off";
    }
    Expected<ProgramProof> proof = prove(decoded.program);
    if (!proof)
      return proof.takeError();
    if (!proof->uncertified.empty())
      note(proof->explain());
    return proof->describe();
  }

  /// Fails in all processes if one cannot read the file, or if their versions,
  /// files or options differ.
  Error agreeOnFile(Error opened, StringRef digest) const {
    if (!processes)
      return opened;
    if (Error error = processes->agree(std::move(opened)))
      return error;
    std::vector<SharedValue> values = {
        {"the version", MF_VERSION}, {"the hash of the program", digest.str()}};
    append_range(values, options.getSharedValues());
    return processes->expectSame(values);
  }

  int runProgram(mlir::MLIRContext &context) {
    mf::ranks::TrainingOptions training = options.getTrainingOptions();
    if (!options.target.empty()) {
      const std::optional<LoadedTarget> loaded =
          loadTarget(options, context, messages);
      if (!loaded)
        return 1;
      training.targetName = loaded->changed.name;
      training.peakFlopsPerSecond =
          loaded->changed.getPeak(mf::Engine::Cube, mf::DType::BF16);
    }
    if (options.orderSeed.getNumOccurrences() > 0) {
      if (processes)
        return messages.fail("--order-seed decides the order of one process's "
                             "streams: run it without mpirun");
      training.turns = std::make_shared<mf::TurnSchedule>(options.orderSeed);
    }
    if (const int code = openDump(training))
      return code;
    const Mesh &mesh = decoded.program.mesh;
    if (Error error = checkStepFiles(options, mesh))
      return messages.fail(toString(std::move(error)));
    Expected<std::string> verification = verifyBeforeRun();
    if (!verification)
      return failAt(verification.takeError(), decoded, messages);
    training.verification = std::move(*verification);
    if (Error error = mf::runner::checkMemoryLimit(decoded.program,
                                                   options.getHbmBytes()))
      return failAt(std::move(error), decoded, messages);
    mf::runner::ProgramEngine engine(
        decoded.program, training, processes,
        [&](const mf::timeline::StepTimeline &timeline) {
          return writeStep(options, timeline, mesh, outs(), engine.getLosses());
        });
    if (!options.routing.empty()) {
      auto choices = mf::tools::chooseRouting(
          options, decoded.program, engine.isWriter() ? errs() : nulls());
      if (!choices)
        return messages.fail(toString(choices.takeError()));
      engine.setRouterChoices(std::move(*choices));
    }
    const int code = train(engine, training);
    if (training.turns)
      note(training.turns->describe());
    return code == 0 && comparison ? compareWithProgram() : code;
  }

  int interpret() {
    if (!options.hbm.empty() || options.verify.getNumOccurrences() > 0)
      return messages.fail(
          "--hbm and --verify are about lowered programs, but this is a model");
    if (options.writesStep())
      return messages.fail(
          "--trace, --profile, --html, --compare and --kernel-table are about "
          "lowered programs, but this is a model: lower it with mf-opt "
          "--recompute-config=FILE");
    if (!options.compareWith.empty())
      return messages.fail(
          "--compare-with is about lowered programs, but this is a model: "
          "lower it with mf-opt --recompute-config=FILE --for-cann");
    if (processes)
      return messages.fail("a model that is not lowered is interpreted by one "
                           "process: run it without mpirun");
    // An error names the operator; the model around it would bury the message.
    model.getContext()->printOpOnDiagnostic(false);
    if (options.orderSeed.getNumOccurrences() > 0)
      return messages.fail(
          "--order-seed is about lowered programs, but this is a model");
    mf::ranks::TrainingOptions training = options.getTrainingOptions();
    if (const int code = openDump(training))
      return code;
    mlir::FailureOr<std::unique_ptr<mf::interpreter::Interpreter>> interpreter =
        mf::interpreter::Interpreter::create(model, training);
    return failed(interpreter) ? 1 : train(**interpreter, training);
  }

  /// Prepares the output of --dump-tensors and --compare-with, if they are
  /// given. Returns an exit code.
  int openDump(mf::ranks::TrainingOptions &training) {
    if (options.getDumpPattern().empty())
      return 0;
    if (processes)
      return messages.fail("one process keeps what --dump-tensors and "
                           "--compare-with ask for: run it without mpirun");
    std::string path = options.output;
    if (!options.compareWith.empty()) {
      auto made = ProgramComparison::create(options);
      if (!made)
        return messages.fail(toString(made.takeError()));
      comparison = std::move(*made);
      path = comparison->getOwnPath();
    }
    auto dump = mf::ranks::TensorDump::create(options.getDumpPattern(), path);
    if (!dump)
      return messages.fail(toString(dump.takeError()));
    training.dump = std::move(*dump);
    return 0;
  }

  int train(mf::ranks::RankEngine &engine,
            const mf::ranks::TrainingOptions &training) {
    if (Error error = mf::ranks::train(
            engine, training, engine.isWriter() ? outs() : nulls(),
            isTerminal(), [&](StringRef text) { note(text); }))
      return failAt(std::move(error), decoded, messages);
    return 0;
  }

  int simulate(mlir::MLIRContext &context) {
    if (model)
      return messages.fail(
          "--simulate is about lowered programs, but this is a model: lower it "
          "with mf-opt --recompute-config=FILE");
    if (processes)
      return messages.fail(
          "one process simulates all ranks: run --simulate without mpirun");
    const std::optional<LoadedTarget> loaded =
        loadTarget(options, context, messages);
    if (!loaded)
      return 1;
    if (options.verify)
      if (Error error = verifyBeforeRun().takeError())
        return failAt(std::move(error), decoded, messages);
    if (Error error =
            simulateStep(options, decoded.program, loaded->changed, outs()))
      return failAt(std::move(error), decoded, messages);
    return 0;
  }

  /// Implements --compare-with after the run.
  int compareWithProgram() {
    auto code = comparison->run(decoded.program.getNumRanks(), outs());
    return code ? *code : messages.fail(toString(code.takeError()));
  }

  /// Writes --memory-html.
  int showMemory() {
    if (model)
      return messages.fail(
          "--memory-html is about lowered programs, but this is a model: lower "
          "it with mf-opt --recompute-config=FILE");
    if (processes)
      return messages.fail(
          "one process writes --memory-html: run it without mpirun");
    if (Error error = mf::timeline::writeMemoryPage(
            options.memoryHtml, decoded.program, options.getTitle()))
      return messages.fail(toString(std::move(error)));
    return 0;
  }

  /// Prints remarks for the user, unless they are switched off.
  void note(StringRef text) {
    if (!options.quiet)
      messages.note(text);
  }

  const Options &options;
  /// The processes of the run; null for a single process.
  ProcessGroup *processes;
  const mf::tools::StepSource &source;
  Messages messages;
  /// The content of the file: a program, or a model.
  DecodedProgram decoded;
  mf::ir::ModelOp model;
  /// Null unless --compare-with is given.
  std::unique_ptr<ProgramComparison> comparison;
};

} // namespace

std::string mf::tools::getDigest(StringRef text) {
  const auto hash = SHA256::hash(arrayRefFromStringRef(text));
  return toHex(ArrayRef(hash).take_front(8), /*LowerCase=*/true);
}

int mf::tools::runSteps(const Options &options, const char *program,
                        const StepSource &source) {
  auto processes = joinProcesses(program);
  if (!processes)
    return Messages(nullptr, options.getToolName())
        .fail(toString(processes.takeError()));
  return RunCommand(options, processes->get(), source).run();
}
