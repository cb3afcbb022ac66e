//===- Compare.cpp - mf compare -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "StageMemory.h"
#include "StepInput.h"
#include "Verb.h"
#include "mf/Frontend/Config/ConfigReader.h"
#include "mf/Frontend/Config/SettingChanges.h"
#include "mf/Frontend/Config/SettingEdit.h"
#include "mf/Layers/LayerSettings.h"
#include "mf/Perf/Simulator/StepSimulator.h"
#include "mf/Plan/Settings/StepCompiler.h"
#include "mf/Support/Diagnostic.h"
#include "mf/Support/NumberText.h"
#include "mf/Support/TextTable.h"
#include "tools/help/ToolHelp.h"
#include "tools/targets/TargetOptions.h"
#include "tools/terminal/SearchTerminal.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <numeric>
#include <set>

using llvm::Error;
using llvm::Expected;
using llvm::raw_ostream;
using llvm::StringRef;

namespace mf::tools {

//===----------------------------------------------------------------------===//
// Ways to save memory
//===----------------------------------------------------------------------===//

namespace {

/// A way to save memory, and the YAML with it or the reason why the YAML cannot
/// have it.
struct Recipe {
  std::string name;
  llvm::Expected<std::string> yaml;
};

/// Writes the recipes for one YAML.
class RecipeWriter {
public:
  RecipeWriter(StringRef yaml, StringRef fileName, StageTable layers,
               int64_t numLayers, bool isDynamic)
      : yaml(yaml), fileName(fileName), layers(std::move(layers)),
        numLayers(numLayers), isDynamic(isDynamic) {}

  std::vector<Recipe> write() const {
    std::vector<Recipe> recipes;
    add("keep everything", keepAll(), recipes);
    addSelections(recipes);
    const auto stages = static_cast<int64_t>(layers.front().size());
    // Schedules such as 1F1B keep more micro-batches on earlier stages.
    if (stages > 1)
      add("recompute all layers of stage 0, fewer of each next",
          recompute(makeTable([&](int64_t stage, int64_t count) {
            return count * (stages - stage - 1) / (stages - 1);
          })),
          recipes);
    add("recompute half of the layers",
        recompute(
            makeTable([](int64_t stage, int64_t count) { return count / 2; })),
        recipes);
    add("recompute all layers", recompute(layers), recipes);
    MemorySettings swap = keepAll();
    std::vector<int64_t> all(static_cast<size_t>(numLayers));
    std::iota(all.begin(), all.end(), 0);
    // The last layer of the dynamic graph has none behind it to be hidden by.
    if (isDynamic && !all.empty())
      all.pop_back();
    swap.swap->push_back(
        {isDynamic ? "" : R"(.*(attention|feed_forward|mlp)\..*)", 1, all});
    add(isDynamic ? "swap all layers but the last"
                  : "swap what attention and feed-forward keep",
        swap, recipes);
    return recipes;
  }

private:
  /// Returns the number of layers of each mini stage that `count` gives for its
  /// column and its layers.
  StageTable
  makeTable(llvm::function_ref<int64_t(int64_t, int64_t)> count) const {
    StageTable table = layers;
    for (std::vector<int64_t> &row : table)
      for (size_t stage = 0; stage < row.size(); ++stage)
        row[stage] = count(static_cast<int64_t>(stage), row[stage]);
    return table;
  }

  StageTable makeNone() const {
    return makeTable([](int64_t, int64_t) { return 0; });
  }

  MemorySettings keepAll() const {
    MemorySettings settings;
    settings.recompute = makeNone();
    settings.selectRecompute.emplace();
    settings.selectCommRecompute.emplace();
    settings.swap.emplace();
    return settings;
  }

  MemorySettings recompute(StageTable table) const {
    MemorySettings settings = keepAll();
    settings.recompute = std::move(table);
    return settings;
  }

  /// Returns the YAML that keeps everything but has these keys True.
  Expected<std::string> select(llvm::ArrayRef<StringRef> keys) const {
    Expected<std::string> kept = applySettings(yaml, fileName, keepAll());
    if (!kept)
      return kept;
    std::vector<KeyChange> changes;
    for (const StringRef key : keys)
      changes.push_back({"recompute_config." + key.str(), true});
    return applyKeyChanges(*kept, fileName, changes);
  }

  void add(StringRef name, const MemorySettings &settings,
           std::vector<Recipe> &recipes) const {
    recipes.push_back({name.str(), applySettings(yaml, fileName, settings)});
  }

  /// The static graph has presets of operators. The dynamic graph recomputes
  /// whole modules.
  void addSelections(std::vector<Recipe> &recipes) const {
    if (isDynamic) {
      MemorySettings settings = keepAll();
      settings.selectRecompute->push_back({"mlp", layers});
      add("recompute the feed-forward", settings, recipes);
      return;
    }
    const StringRef activations = getName(LayerKey::SelectRecompute),
                    communication = getName(LayerKey::SelectCommRecompute);
    recipes.push_back(
        {"recompute activations of the feed-forward", select({activations})});
    recipes.push_back({"recompute norms and gathers of the sequence",
                       select({communication})});
    recipes.push_back({"both", select({activations, communication})});
  }

  StringRef yaml, fileName;
  /// The layers of each mini stage.
  const StageTable layers;
  const int64_t numLayers;
  const bool isDynamic;
};

} // namespace

/// Returns the ways for a YAML of either format, from light to heavy. The first
/// keeps everything.
static Expected<std::vector<Recipe>>
makeRecipes(const planner::CompilerInput &input, StringRef yaml) {
  DiagnosticList diagnostics;
  const TrainingConfig config =
      parseTrainingConfig(yaml, input.fileName, diagnostics);
  if (diagnostics.hasErrors())
    return toError(std::move(diagnostics));
  Expected<MemorySettings> given = readSettings(config);
  if (!given)
    return given.takeError();
  StageTable layers = *given->offset;
  int64_t numMiniStages = 0;
  for (const std::vector<int64_t> &row : layers)
    numMiniStages += static_cast<int64_t>(row.size());
  Expected<std::vector<planner::ModelLayer>> found =
      planner::readLayers(input, yaml);
  if (!found)
    return found.takeError();
  DiagnosticList ignored;
  const std::optional<StageMap> stages =
      StageMap::create(getStageMapOptions(config, ignored), ignored);
  // Tables do not count layers that have the settings of the one before them.
  const int64_t numFollowers =
      stages ? stages->getNumLayers() - stages->getNumCounted() : 0;
  const auto numLayers = static_cast<int64_t>(found->size()) - numFollowers;
  for (std::vector<int64_t> &row : layers)
    for (int64_t &count : row)
      count += numLayers / numMiniStages;
  return RecipeWriter(yaml, input.fileName, std::move(layers), numLayers,
                      config.isOfDynamicGraph())
      .write();
}

//===----------------------------------------------------------------------===//
// mf compare
//===----------------------------------------------------------------------===//

namespace {

struct SettingsComparison {
  cl::OptionCategory category{"A comparison"};
  cl::OptionCategory loweringCategory{"The steps"};
  cl::list<std::string> inputs{cl::Positional, cl::OneOrMore,
                               cl::desc("<train.yaml>..."), cl::cat(category)};
  cl::list<std::string> set{
      "set", cl::value_desc("key=value"), cl::cat(category),
      cl::desc("Compare with this change of the YAML, as "
               "recompute_config.recompute=True; several changes of one row "
               "are separated by ;. May be repeated, for a row each")};
  cl::opt<std::string> target{
      "target", cl::value_desc("name or file"), cl::cat(category),
      cl::desc("What steps are timed on (default: atlas-800t-a2)")};
  HbmOption hbm{category};
  JsonFile json{category};
  StepOptions step{loweringCategory};
};

/// A row of the table: a YAML, or the reason why there is none.
struct Candidate {
  std::string name;
  planner::CompilerInput input;
  /// The YAML as the file has it, and with the changes of the row.
  std::string original, yaml;
  std::string problem;
  /// True if a user asked for the row, rather than for any way to save memory.
  bool isAsked = true;
};

/// What a candidate needs.
struct Needs {
  size_t fullest = 0;
  std::vector<StagePeakMemory> stages;
  double seconds = 0;
  double tokensPerSecondPerNpu = 0;

  const StagePeakMemory &getFullest() const { return stages[fullest]; }
  int64_t getHostBytes() const {
    int64_t most = 0;
    for (const StagePeakMemory &stage : stages)
      most = std::max(most, stage.report.hostBytes);
    return most;
  }
};

struct Row {
  Candidate candidate;
  std::optional<Needs> needs;
  std::vector<Diagnostic> warnings;
};

} // namespace

static std::string getFirstLine(Error error) {
  const std::string text = llvm::toString(std::move(error));
  return StringRef(text).split('\n').first.str();
}

static Candidate makeChanged(const YamlInput &given, StringRef changes) {
  llvm::SmallVector<StringRef> parts;
  changes.split(parts, ';', -1, /*KeepEmpty=*/false);
  std::vector<std::string> list(parts.begin(), parts.end());
  Candidate candidate{changes.str(), given.compiler, given.yaml, {}, {}};
  Expected<std::string> yaml =
      changeYaml(given.yaml, given.compiler.fileName, list);
  if (yaml)
    candidate.yaml = std::move(*yaml);
  else
    candidate.problem = getFirstLine(yaml.takeError());
  return candidate;
}

/// Returns the rows to be measured. Of one YAML without --set they are the ways
/// to save memory.
static Expected<std::vector<Candidate>>
listCandidates(const SettingsComparison &options) {
  if (options.inputs.size() > 1 && !options.set.empty())
    return llvm::createStringError("--set changes one YAML; expected one, or "
                                   "several without --set");
  std::vector<Candidate> candidates;
  for (const std::string &path : options.inputs) {
    Expected<YamlInput> input = readYaml(options.step, path);
    if (!input)
      return input.takeError();
    const bool isAlone = options.inputs.size() == 1;
    candidates.push_back({isAlone ? "as the YAML has it" : path,
                          input->compiler,
                          input->yaml,
                          input->yaml,
                          {}});
    if (!isAlone)
      continue;
    for (const std::string &change : options.set)
      candidates.push_back(makeChanged(*input, change));
    if (!options.set.empty())
      continue;
    Expected<std::vector<Recipe>> recipes =
        makeRecipes(input->compiler, input->yaml);
    if (!recipes) {
      // Without a model nothing else is worth saying.
      Error error = recipes.takeError();
      auto layers = planner::readLayers(input->compiler, input->yaml);
      if (layers)
        return std::move(error);
      llvm::consumeError(std::move(error));
      return layers.takeError();
    }
    for (Recipe &recipe : *recipes) {
      Candidate candidate{recipe.name, input->compiler, input->yaml, {}, {},
                          false};
      if (recipe.yaml)
        candidate.yaml = std::move(*recipe.yaml);
      else
        candidate.problem = getFirstLine(recipe.yaml.takeError());
      candidates.push_back(std::move(candidate));
    }
  }
  return candidates;
}

static Expected<Needs> measure(const Candidate &candidate, int64_t limit,
                               const target::Target &target,
                               std::vector<Diagnostic> &warnings) {
  mlir::MLIRContext context;
  Expected<InputStep> step = lowerYaml(candidate.input, candidate.yaml,
                                       candidate.original, {}, context);
  if (!step)
    return step.takeError();
  warnings = std::move(step->warnings);
  Expected<program::DecodedProgram> decoded = decodeStep(*step);
  if (!decoded)
    return decoded.takeError();
  Expected<std::vector<StagePeakMemory>> stages =
      measureMemory(*step->module, decoded->program, limit);
  if (!stages)
    return stages.takeError();
  simulator::SimulationOptions simulation;
  simulation.withSpans = simulation.withSensitivity = false;
  simulation.withPeakContents = false;
  Expected<timeline::StepTimeline> timeline =
      simulator::simulate(decoded->program, target, simulation);
  if (!timeline)
    return timeline.takeError();
  Needs needs;
  needs.stages = std::move(*stages);
  needs.fullest = findFullest(needs.stages);
  needs.seconds = timeline->seconds;
  needs.tokensPerSecondPerNpu = static_cast<double>(timeline->tokens) /
                                timeline->seconds /
                                static_cast<double>(timeline->numRanks);
  return needs;
}

/// Measures all candidates; the first must compile.
static Expected<std::vector<Row>> measureAll(std::vector<Candidate> candidates,
                                             int64_t limit,
                                             const target::Target &target) {
  std::vector<Row> rows;
  ProgressLine line({});
  for (auto [number, candidate] : llvm::enumerate(candidates)) {
    line.showPart(number, candidates.size(), candidate.name);
    Row &row = rows.emplace_back();
    row.candidate = std::move(candidate);
    if (!row.candidate.problem.empty())
      continue;
    Expected<Needs> needs = measure(row.candidate, limit, target, row.warnings);
    if (needs)
      row.needs = std::move(*needs);
    else if (number == 0)
      return needs.takeError();
    else
      row.candidate.problem = getFirstLine(needs.takeError());
  }
  return rows;
}

/// Returns the row to which others are compared: of the ways to save memory the
/// one that saves none.
static const Needs &findReference(llvm::ArrayRef<Row> rows, bool hasRecipes) {
  return hasRecipes && rows.size() > 1 && rows[1].needs ? *rows[1].needs
                                                        : *rows[0].needs;
}

static void printRows(llvm::ArrayRef<Row> rows, const Needs &reference,
                      raw_ostream &os) {
  int64_t largest = 0;
  bool hasLimit = false, hasHost = false;
  for (const Row &row : rows)
    if (row.needs) {
      largest = std::max(largest, row.needs->getFullest().getHeldBytes());
      hasLimit |= row.needs->getFullest().limitBytes > 0;
      hasHost |= hasHostMemory(row.needs->getHostBytes(),
                               row.needs->getFullest().getHeldBytes());
    }
  constexpr double gib = int64_t(1) << 30;
  const std::string unit = largest < int64_t(1) << 30 ? "MiB" : "GiB";
  std::vector<std::string> header = {"settings", unit, "stage"};
  if (hasLimit)
    header.emplace_back("fits");
  if (hasHost)
    header.push_back("host " + unit);
  header.insert(header.end(),
                {"s", "tokens/s/NPU", "time", "% per " + unit + " saved"});
  TextTable table(header);
  for (const Row &row : rows) {
    if (!row.needs)
      continue;
    const Needs &needs = *row.needs;
    const StagePeakMemory &stage = needs.getFullest();
    std::vector<std::string> cells = {row.candidate.name,
                                      countBytes(stage.getHeldBytes(), largest),
                                      std::to_string(stage.report.stage)};
    if (hasLimit)
      cells.emplace_back(stage.limitBytes == 0 ? "?"
                         : stage.fits()        ? "yes"
                                               : "no");
    if (hasHost)
      cells.push_back(countBytes(needs.getHostBytes(), largest));
    const double slower = 100 * (needs.seconds / reference.seconds - 1);
    const int64_t saved =
        reference.getFullest().getHeldBytes() - stage.getHeldBytes();
    const double savedUnits =
        static_cast<double>(saved) / (unit == "GiB" ? gib : double(1 << 20));
    const bool isSame = &needs == &reference;
    cells.insert(
        cells.end(),
        {formatFixed(needs.seconds, getDecimals(needs.seconds, 3)),
         formatFixed(needs.tokensPerSecondPerNpu, 1),
         isSame ? ""
                : llvm::formatv("{0}{1:f1} %", slower < 0 ? "" : "+", slower)
                      .str(),
         isSame || savedUnits < 0.005 ? ""
                                      : formatFixed(slower / savedUnits, 2)});
    table.addRow(cells);
  }
  table.print(os);
  for (const Row &row : rows)
    if (!row.needs)
      os << row.candidate.name << ": " << row.candidate.problem << '\n';
}

/// Prints in which keys the YAMLs differ from the first.
static void printChanges(llvm::ArrayRef<Row> rows, raw_ostream &os) {
  for (const Row &row : rows.drop_front()) {
    const std::string changes =
        printSettingChanges(rows.front().candidate.yaml, row.candidate.yaml, 2);
    if (!changes.empty())
      os << '\n' << row.candidate.name << " has\n" << changes;
  }
}

/// Prints each warning about rows that a user asked for once, those of changes
/// with the changes.
static void printWarnings(llvm::ArrayRef<Row> rows, raw_ostream &os) {
  std::set<std::string> printed;
  for (const Row &row : rows) {
    if (!row.candidate.isAsked)
      continue;
    for (Diagnostic warning : row.warnings) {
      if (!printed.insert(warning.str()).second)
        continue;
      if (row.candidate.yaml != row.candidate.original)
        warning.message =
            "--set '" + row.candidate.name + "': " + warning.message;
      warning.print(os);
    }
  }
}

static llvm::json::Object toJson(const Row &row, StringRef first) {
  llvm::json::Object object{{"name", row.candidate.name}};
  if (!row.candidate.yaml.empty())
    object["changes"] = printSettingChanges(first, row.candidate.yaml);
  if (!row.needs) {
    object["problem"] = row.candidate.problem;
    return object;
  }
  llvm::json::Array stages;
  for (const StagePeakMemory &stage : row.needs->stages)
    stages.push_back(
        llvm::json::Object{{"stage", stage.report.stage},
                           {"arena_bytes", stage.report.arenaBytes},
                           {"held_bytes", stage.getHeldBytes()},
                           {"host_bytes", stage.report.hostBytes},
                           {"limit_bytes", stage.limitBytes},
                           {"fits", stage.fits()}});
  object["seconds"] = row.needs->seconds;
  object["tokens_per_second_per_npu"] = row.needs->tokensPerSecondPerNpu;
  object["fullest_stage"] = row.needs->getFullest().report.stage;
  object["stages"] = std::move(stages);
  return object;
}

static Error run(const SettingsComparison &options, bool &isWhole) {
  Expected<int64_t> limit = options.hbm.getBytes();
  if (!limit)
    return limit.takeError();
  const std::string target =
      options.target.empty() ? defaultTarget.str() : options.target.getValue();
  Expected<target::Target> device = readTargetOption(target);
  if (!device)
    return device.takeError();
  Expected<std::vector<Candidate>> candidates = listCandidates(options);
  if (!candidates)
    return candidates.takeError();
  Expected<std::vector<Row>> rows =
      measureAll(std::move(*candidates), *limit, *device);
  if (!rows)
    return rows.takeError();
  printWarnings(*rows, llvm::errs());
  const bool hasRecipes = options.inputs.size() == 1 && options.set.empty();
  const Needs &reference = findReference(*rows, hasRecipes);
  raw_ostream &os = options.json.getText();
  printRows(*rows, reference, os);
  if (options.inputs.size() > 1)
    printChanges(*rows, os);
  os << "target: " << target
     << (options.target.empty() ? ", the default; mf targets lists the others\n"
                                : "\n");
  isWhole = llvm::all_of(*rows, [](const Row &row) {
    return row.needs || !row.candidate.isAsked;
  });
  llvm::json::Array all;
  for (const Row &row : *rows)
    all.push_back(toJson(row, rows->front().candidate.yaml));
  return options.json.write(
      llvm::json::Object{{"target", target}, {"rows", std::move(all)}});
}

int runCompare(int argc, char **argv) {
  SettingsComparison options;
  setUpHelp({&options.category, &options.loweringCategory},
            "\nEXIT CODE:\n\n"
            "  0 all rows were measured; 1 the input, or a row that was asked "
            "for, is wrong\n\n"
            "EXAMPLES:\n\n"
            "  mf compare train.yaml\n"
            "  mf compare train.yaml planned.yaml\n"
            "  mf compare train.yaml --set recompute_config.recompute=True "
            "--set 'recompute_config.recompute=False;"
            "recompute_config.select_recompute=True'\n");
  cl::ParseCommandLineOptions(
      argc, argv,
      "mf compare: shows memory and time of several settings side by side\n\n"
      "Takes several YAMLs, or one with changes. One without changes is "
      "compared with the\nways to save memory, from light to heavy. Each step "
      "is compiled and timed.\n");
  bool isWhole = true;
  if (Error error = run(options, isWhole))
    return fail(std::move(error));
  return isWhole ? 0 : 1;
}

} // namespace mf::tools
