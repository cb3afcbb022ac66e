//===- StageMemory.cpp - What the memory of stages is made of -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "StageMemory.h"
#include "mf/Program/Description.h"
#include "mf/Program/StepWalker.h"
#include "mf/Support/NumberText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>
#include <set>

using namespace mf::program;
using llvm::StringRef;

namespace mf::tools {

/// Replaces the numbers between dots, which are those of layers, by `*`, and
/// leaves the micro-batch out.
static std::string dropNumbers(StringRef name) {
  name = name.split(" of micro-batch ").first;
  std::string text;
  for (size_t i = 0; i < name.size();) {
    const size_t end = name.find_first_not_of("0123456789", i);
    const size_t length = std::min(end, name.size()) - i;
    const bool isWord = length > 0 && (i == 0 || name[i - 1] == '.') &&
                        (i + length == name.size() || name[i + length] == '.');
    if (length == 0)
      text += name[i++];
    else {
      text += isWord ? "*" : name.substr(i, length).str();
      i += length;
    }
  }
  return text;
}

namespace {

/// Finds what the peak of a stage consists of.
class PeakFinder {
public:
  PeakFinder(const Program &program, const StageProgram &stage)
      : program(program), stage(stage), table(stage),
        liveness(computeLiveness(stage)),
        lifetimes(computeLifetimes(stage, liveness)) {}

  void find(StagePeakMemory &memory) const {
    memory.peak = findPeak(lifetimes, Space::Device);
    memory.moment = describeMoment(memory.peak.time);
    addParts(memory);
    addLayers(memory);
  }

private:
  /// Statics that live throughout always count, as for computeBytesAlive.
  bool isLive(const Lifetime &lifetime, int64_t time) const {
    return lifetime.kind == BufferKind::Static ||
           (lifetime.begin <= time && time < lifetime.end);
  }

  void addParts(StagePeakMemory &memory) const {
    std::map<std::pair<BufferCategory, std::string>, MemoryPart> parts;
    for (const Lifetime &lifetime : lifetimes) {
      if (lifetime.space != Space::Device ||
          !isLive(lifetime, memory.peak.time))
        continue;
      const std::string name = dropNumbers(table.getName(lifetime.instance));
      MemoryPart &part = parts[{lifetime.category, name}];
      part.name = name;
      part.category = lifetime.category;
      part.bytes += lifetime.bytes;
      ++part.count;
    }
    for (auto &[key, part] : parts)
      memory.parts.push_back(std::move(part));
    llvm::sort(memory.parts, [](const MemoryPart &a, const MemoryPart &b) {
      return std::tie(b.bytes, a.name) < std::tie(a.bytes, b.name);
    });
  }

  /// Counts the frames of each layout of which something is live at the peak.
  void addLayers(StagePeakMemory &memory) const {
    std::vector<std::set<uint32_t>> frames(stage.layouts.size()),
        hostFrames(stage.layouts.size());
    for (const Lifetime &lifetime : lifetimes)
      if (lifetime.kind == BufferKind::Slot &&
          isLive(lifetime, memory.peak.time)) {
        const uint32_t frame = table.getOrigin(lifetime.instance).frame;
        auto &found = lifetime.space == Space::Host ? hostFrames : frames;
        found[stage.frames[frame].layout].insert(frame);
      }
    for (const passes::LayoutReport &layout : memory.report.layouts)
      for (const auto &[number, entry] : llvm::enumerate(stage.layouts))
        if (entry.name == layout.name)
          for (const auto &[layer, bytes] : layout.layers)
            memory.layers.push_back(
                {layer.str(), bytes,
                 static_cast<int64_t>(
                     (layout.isHost ? hostFrames : frames)[number].size()),
                 layout.isHost});
  }

  std::string describeMoment(int64_t time) const {
    // `starts` has the end of the step as its last entry.
    const auto next = llvm::upper_bound(liveness.starts, time);
    if (next == liveness.starts.begin() || next == liveness.starts.end())
      return {};
    const size_t call = static_cast<size_t>(next - liveness.starts.begin()) - 1;
    const uint32_t position = liveness.calls[call];
    const Call *called = stage.step.getCall(stage.step.instructions[position]);
    const std::vector<uint32_t> &instructions =
        liveness.routines[called->routine].instructions;
    const auto moment = static_cast<size_t>(time - liveness.starts[call]);
    return program::describe(program, stage, position,
                             moment < instructions.size() ? instructions[moment]
                                                          : callItself);
  }

  const Program &program;
  const StageProgram &stage;
  const InstanceTable table;
  const StepLiveness liveness;
  const std::vector<Lifetime> lifetimes;
};

} // namespace

llvm::Expected<std::vector<StagePeakMemory>>
measureMemory(mlir::ModuleOp module, const Program &program,
              int64_t limitBytes) {
  std::vector<StagePeakMemory> stages;
  mlir::FailureOr<std::vector<passes::StageReport>> reports =
      passes::makeStageReports(module, [&] { return &program; });
  if (failed(reports))
    return llvm::createStringError("the step has no memory plan");
  for (passes::StageReport &report : *reports)
    stages.emplace_back().report = std::move(report);
  llvm::sort(stages, [](const StagePeakMemory &a, const StagePeakMemory &b) {
    return a.report.stage < b.report.stage;
  });
  for (StagePeakMemory &memory : stages) {
    const StageProgram &stage =
        program.stages[static_cast<size_t>(memory.report.stage)];
    memory.limitBytes =
        limitBytes > 0 ? limitBytes : stage.hbmLimitBytes.value_or(0);
    PeakFinder(program, stage).find(memory);
  }
  return stages;
}

size_t findFullest(llvm::ArrayRef<StagePeakMemory> stages) {
  auto getExcess = [](const StagePeakMemory &stage) {
    return stage.getHeldBytes() - stage.limitBytes;
  };
  return static_cast<size_t>(llvm::max_element(stages,
                                               [&](const StagePeakMemory &a,
                                                   const StagePeakMemory &b) {
                                                 return getExcess(a) <
                                                        getExcess(b);
                                               }) -
                             stages.begin());
}

/// Returns the name and the bytes of what getHeldBytes counts, largest first.
static std::vector<std::pair<int64_t, std::string>>
listHeldCategories(const StagePeakMemory &stage) {
  std::vector<std::pair<int64_t, std::string>> categories;
  auto add = [&](int64_t bytes, std::string name) {
    if (bytes > 0)
      categories.emplace_back(bytes, std::move(name));
  };
  if (stage.report.trainer)
    stage.report.trainer->moment.bytes.visit(
        [&](trainer::TrainerCategory category, int64_t bytes) {
          add(bytes, trainer::getName(category).str());
        });
  else
    for (size_t i = 0; i < numCategories; ++i)
      add(stage.peak.byCategory[i], describe(static_cast<BufferCategory>(i)));
  llvm::sort(categories, std::greater<>());
  return categories;
}

/// What the trainer and mf's own program both have at their peaks.
struct MemoryCause {
  llvm::StringLiteral name;
  llvm::ArrayRef<trainer::TrainerCategory> ofTrainer;
  llvm::ArrayRef<BufferCategory> ofProgram;
};

/// Says by what the peak of mf's own program differs from that of the trainer:
/// ": 2.10 GiB less kept for backward, 0.30 GiB more sums of gradients". Causes
/// below a hundredth of the trainer's peak are left out.
static std::string explainDifference(const StagePeakMemory &stage) {
  using trainer::TrainerCategory;
  static constexpr TrainerCategory states[] = {TrainerCategory::States},
                                   kept[] = {TrainerCategory::Kept},
                                   sums[] = {TrainerCategory::GradientSums},
                                   rest[] = {TrainerCategory::GatheredWeights,
                                             TrainerCategory::Tables,
                                             TrainerCategory::Values,
                                             TrainerCategory::WeightGradients,
                                             TrainerCategory::Workspace};
  static constexpr BufferCategory stored[] = {BufferCategory::Parameter,
                                              BufferCategory::OptimizerState},
                                  activations[] = {BufferCategory::Activation},
                                  gradients[] = {BufferCategory::Gradient},
                                  others[] = {BufferCategory::Temporary,
                                              BufferCategory::Communication,
                                              BufferCategory::Input};
  const MemoryCause causes[] = {
      {"weights and optimizer states", states, stored},
      {"kept for backward", kept, activations},
      {"sums of gradients", sums, gradients},
      {"values between operators and gathered weights", rest, others}};
  std::vector<std::pair<int64_t, std::string>> differences;
  for (const MemoryCause &cause : causes) {
    int64_t more = 0;
    for (BufferCategory category : cause.ofProgram)
      more += stage.peak.byCategory[static_cast<size_t>(category)];
    for (TrainerCategory category : cause.ofTrainer)
      more -= stage.report.trainer->moment.bytes[category];
    const int64_t size = std::abs(more);
    if (size * 100 >= stage.getHeldBytes())
      differences.emplace_back(size, showBytes(size, stage.getHeldBytes()) +
                                         (more > 0 ? " more " : " less ") +
                                         cause.name.str());
  }
  llvm::sort(differences, std::greater<>());
  std::string text;
  for (const auto &[size, difference] : differences)
    text += (text.empty() ? ": " : ", ") + difference;
  return text;
}

void printTrainer(const StagePeakMemory &stage, llvm::raw_ostream &os) {
  const trainer::TrainerPeak &peak = *stage.report.trainer;
  for (const auto &[bytes, name] : listHeldCategories(stage))
    if (isCounted(bytes, stage.getHeldBytes()))
      os << llvm::formatv("  {0,10}  {1}\n",
                          showBytes(bytes, stage.getHeldBytes()), name);
  os << "  the trainer's peak is in " << peak.task << " at " << peak.moment.at
     << "\n  mf's own program needs "
     << showBytes(stage.report.arenaBytes, stage.report.arenaBytes)
     << explainDifference(stage) << '\n';
}

timeline::StepTimeline toTimeline(llvm::ArrayRef<StagePeakMemory> stages) {
  timeline::StepTimeline timeline;
  for (const StagePeakMemory &memory : stages) {
    timeline::StageTimeline &stage = timeline.stages.emplace_back();
    stage.stage = memory.report.stage;
    stage.peakBytes = memory.getHeldBytes();
    stage.hostBytes = memory.report.hostBytes;
    stage.limitBytes = memory.limitBytes;
    for (size_t i = 0; i < numCategories; ++i)
      stage.bytesByCategory[getName(static_cast<BufferCategory>(i)).str()] =
          memory.peak.byCategory[i];
  }
  return timeline;
}

llvm::json::Object toJson(const StagePeakMemory &stage) {
  llvm::json::Object object = stage.report.toJson();
  object["limit_bytes"] = stage.limitBytes;
  object["fits"] = stage.fits();
  object["peak_moment"] = stage.moment;
  llvm::json::Object categories;
  for (size_t i = 0; i < numCategories; ++i)
    categories[getName(static_cast<BufferCategory>(i))] =
        stage.peak.byCategory[i];
  object["bytes_at_peak"] = std::move(categories);
  llvm::json::Array heldParts, parts, layers;
  for (const auto &[bytes, name] : listHeldCategories(stage))
    heldParts.push_back(llvm::json::Object{{"name", name}, {"bytes", bytes}});
  for (const MemoryPart &part : stage.parts)
    parts.push_back(llvm::json::Object{{"name", part.name},
                                       {"category", getName(part.category)},
                                       {"count", part.count},
                                       {"bytes", part.bytes}});
  for (const LayerMemory &layer : stage.layers)
    layers.push_back(llvm::json::Object{{"layer", layer.layer},
                                        {"bytes", layer.bytes},
                                        {"in_flight", layer.timesInFlight},
                                        {"host", layer.isHost}});
  object["held_parts"] = std::move(heldParts);
  object["parts"] = std::move(parts);
  object["layers"] = std::move(layers);
  return object;
}

static constexpr int64_t gib = int64_t(1) << 30, mib = int64_t(1) << 20;

bool hasHostMemory(int64_t hostBytes, int64_t arenaBytes) {
  return hostBytes >= std::max(mib, arenaBytes / 1000);
}

std::string countBytes(int64_t bytes, int64_t largest) {
  return formatFixed(static_cast<double>(bytes) /
                         static_cast<double>(largest < gib ? mib : gib),
                     2);
}

bool isCounted(int64_t bytes, int64_t largest) {
  return countBytes(bytes, largest) != countBytes(0, largest);
}

std::string showBytes(int64_t bytes, int64_t largest) {
  return countBytes(bytes, largest) + (largest < gib ? " MiB" : " GiB");
}

std::string describe(BufferCategory category) {
  switch (category) {
  case BufferCategory::Parameter:
    return "parameters";
  case BufferCategory::Gradient:
    return "gradients";
  case BufferCategory::OptimizerState:
    return "optimizer state";
  case BufferCategory::Activation:
    return "activations";
  case BufferCategory::Temporary:
    return "temporaries";
  case BufferCategory::Communication:
    return "communication";
  case BufferCategory::Input:
    return "inputs";
  }
  llvm_unreachable("unknown category");
}

} // namespace mf::tools
