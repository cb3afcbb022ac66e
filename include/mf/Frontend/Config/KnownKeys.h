//===- KnownKeys.h - The keys of each section and their use -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_FRONTEND_CONFIG_KNOWNKEYS_H
#define MF_FRONTEND_CONFIG_KNOWNKEYS_H

#include "mf/Frontend/Config/TrainingConfig.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/ErrorHandling.h"
#include <limits>
#include <map>
#include <variant>

namespace mf {

struct MemorySettings;

/// How a key is used. The unit test KnownKeysTest changes every key of every
/// section and compares the effect with this value.
enum class KeyUse : uint8_t {
  Used,        ///< another value leads to another program, or to a message
  Section,     ///< a map whose keys have their own table
  NotModelled, ///< affects the step but is not modelled: a warning unless the
               ///< value is neutral
};

/// A pointer to the member of a TrainingConfig that holds the value of a key.
/// std::monostate if that part of the configuration is absent.
using KeyField =
    std::variant<std::monostate, bool *, int64_t *, double *, std::string *,
                 std::optional<bool> *, std::optional<int64_t> *,
                 std::optional<double> *, LayerSetting *>;

/// Identifies a struct of TrainingConfig.
using PartId = const char *;
template <typename Part> inline constexpr char partId = 0;

inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// The range of numbers that a key accepts, and its name in messages.
struct NumberRange {
  llvm::StringLiteral words = "a number";
  double low = -infinity;
  double high = infinity;
  /// True if the bounds themselves are excluded.
  bool isOpen = false;

  bool contains(double number) const {
    return number >= low && number <= high &&
           (!isOpen || (number > low && number < high));
  }
};

using NameList = llvm::ArrayRef<llvm::StringRef> (*)();
using NumberSetting = std::optional<int64_t> MemorySettings::*;
using FlagSetting = std::optional<bool> MemorySettings::*;

/// The record of one key. Its type and default are those of the TrainingConfig
/// member that `field` returns. Keys without `field` are read by separate code.
struct KnownKey {
  llvm::StringRef name = "";
  KeyUse use = KeyUse::Used;
  llvm::StringLiteral meaning = "";
  /// The values, in Python's spelling and separated by `|`, that select the
  /// behaviour without the key: for NotModelled, and for keys without a member
  /// whose default is the same in all models.
  llvm::StringLiteral neutral = "";
  /// What a key without a member takes; empty if its form is its own.
  llvm::StringLiteral takes = "";
  /// For a bool that is read but not lowered: what the program does instead of
  /// what True requests.
  llvm::StringLiteral instead = "";
  KeyField (*field)(TrainingConfig &config) = nullptr;
  /// The struct with the member, or that alone uses the key.
  PartId part = nullptr;
  /// Returns the member of this struct; null if the key has none.
  KeyField (*member)(void *part) = nullptr;

  // The values of the key's type that it accepts.
  int64_t smallest = 1;
  int64_t largest = std::numeric_limits<int32_t>::max();
  NumberRange range = {};
  NameList choices = nullptr;
  bool takesNull = false;     ///< null means the same as an absent key
  bool takesMinusOne = false; ///< -1 means the same as an absent key
  bool takesPatterns = true;  ///< whether a setting of layers accepts patterns

  /// True if passes have messages about the value, so that they need its place.
  bool hasPlace = false;
  /// The planner's setting that corresponds to this key.
  NumberSetting number = nullptr;
  FlagSetting flag = nullptr;

  /// Returns whether a value is one of `neutral`. Numbers are compared by
  /// value.
  bool isNeutral(const Node &value) const;

  /// Return the default of a key without a member; none if it has none.
  std::optional<double> getDefaultNumber() const;
  llvm::StringRef getDefaultText() const { return neutral.trim('\''); }

  /// Returns a description such as `an int from 1 to 65536, or -1`. Bounds that
  /// are those of the type are left out unless `sayBoth` is true.
  std::string describeNumbers(bool sayBoth) const;

  /// Returns the value in a configuration, or null if the key has another type.
  template <typename Value>
  const Value *getValue(const TrainingConfig &config) const {
    if (!field)
      return nullptr;
    // The member is only read.
    const KeyField member = field(const_cast<TrainingConfig &>(config));
    auto *const *value = std::get_if<Value *>(&member);
    return value ? *value : nullptr;
  }
};

/// Keys that cannot affect a training step.
struct IrrelevantKeys {
  /// The purpose of the keys, which shows that they cannot affect a step.
  llvm::StringLiteral reason;
  /// The names, separated by blanks.
  llvm::StringLiteral names;

  llvm::SmallVector<llvm::StringRef> getNames() const;
};

/// A section of the YAML with the records of its keys.
struct KnownSection {
  llvm::StringLiteral name;
  /// True if MindSpore Transformers raises KeyError for unknown keys of this
  /// section.
  bool isStrict;
  llvm::ArrayRef<KnownKey> keys;
  llvm::ArrayRef<IrrelevantKeys> irrelevant = {};

  /// Returns the record of a key, or null for a key that is unknown or cannot
  /// affect a step.
  const KnownKey *find(llvm::StringRef key) const;
  /// Returns the names of all keys, including those that cannot affect a step.
  std::vector<llvm::StringRef> getNames() const;
  /// Returns the section's map in a document.
  Node getNode(const Node &root) const;
};

extern const KnownSection recomputeSection;
extern const KnownSection swapSection;
extern const KnownSection parallelConfigSection;
extern const KnownSection parallelSection;
extern const KnownSection parallelOptimizerSection;
extern const KnownSection pipelineSection;
extern const KnownSection moeSection;
extern const KnownSection runnerSection;
extern const KnownSection wrapperSection;
extern const KnownSection lossScaleSection;
extern const KnownSection optimizerSection;
extern const KnownSection lrScheduleSection;
extern const KnownSection groupedLrSection;
extern const KnownSection lrGroupSection;
extern const KnownSection contextSection;
extern const KnownSection ascendConfigSection;
extern const KnownSection jitConfigSection;
extern const KnownSection balanceCallbackSection;
extern const KnownSection dropRateCallbackSection;
extern const KnownSection modelSection;
extern const KnownSection topLevel;

/// Returns all sections in the order of the file.
llvm::ArrayRef<const KnownSection *> getKnownSections();

/// Helpers to write the tables.
namespace known {

/// Returns the part of a configuration that has this type.
template <typename Part> Part *findPart(TrainingConfig &config) {
  Part *found = nullptr;
  auto offer = [&](auto *part) {
    if constexpr (std::is_same_v<decltype(part), Part *>)
      found = part;
  };
  auto offerIf = [&](auto &part) {
    if (part)
      offer(&*part);
  };
  offer(&config.recompute);
  offer(&config.swap);
  offer(&config.parallel);
  offer(&config.parallel.optimizerShard);
  offer(&config.runner);
  offer(&config.wrapper);
  offer(&config.wrapper.clipping);
  offer(&config.wrapper.scaleSense);
  offer(&config.wrapper.scaleSense.update);
  offer(&config.optimizer);
  offerIf(config.optimizer.average);
  offerIf(config.optimizer.muon);
  offerIf(config.optimizer.came);
  offer(static_cast<LrScheduleConfig *>(&config.lrSchedule));
  offer(&config.moe);
  offerIf(config.callbacks.balance);
  offerIf(config.callbacks.dropRate);
  return found;
}

template <typename Part, typename Value>
KeyField getField(TrainingConfig &config, Value Part::*member) {
  Part *part = findPart<Part>(config);
  return part ? KeyField(&(part->*member)) : KeyField();
}
template <typename Part, typename Value>
KeyField getMember(void *part, Value Part::*member) {
  return &(static_cast<Part *>(part)->*member);
}
template <typename Part, typename Value>
constexpr PartId getPartId(Value Part::*) {
  return &partId<Part>;
}

/// Returns the record of the key whose value is `member`, for messages and for
/// readers of the key's form.
template <typename Part, typename Value>
const KnownKey &findKey(Value Part::*member) {
  Part part;
  for (const KnownSection *section : getKnownSections())
    for (const KnownKey &key : section->keys)
      if (key.part == &partId<Part> && key.member &&
          key.member(&part) == KeyField(&(part.*member)))
        return key;
  llvm_unreachable("no key has this member");
}

/// Returns the name of that key.
template <typename Part, typename Value>
llvm::StringRef nameOf(Value Part::*member) {
  return findKey(member).name;
}

/// Returns the name with a value, as messages have both: `pipeline_stage 2`.
template <typename Part, typename Value>
std::string nameWith(Value Part::*member, int64_t value) {
  return nameOf(member).str() + " " + std::to_string(value);
}

/// Returns the value of that key as the section of `part` has it.
template <typename Part, typename Value>
Node find(const Part &part, Value Part::*member) {
  return part.node[nameOf(member)];
}

/// Returns the value of that key in a section of a document.
template <typename Part, typename Value>
Node find(const KnownSection &section, const Node &root, Value Part::*member) {
  return section.getNode(root)[nameOf(member)];
}

/// A property of a key, such as `orNull`. It is an argument after the key's
/// meaning.
template <typename Value> struct Property {
  Value KnownKey::*member;
  Value value;
};
inline constexpr Property<bool> orNull = {&KnownKey::takesNull, true};
inline constexpr Property<bool> orMinusOne = {&KnownKey::takesMinusOne, true};
inline constexpr Property<bool> withoutPatterns = {&KnownKey::takesPatterns,
                                                   false};
inline constexpr Property<bool> withPlace = {&KnownKey::hasPlace, true};
/// A key that only this struct uses, though no member has its value.
template <typename Part>
inline constexpr Property<PartId> of = {&KnownKey::part, &partId<Part>};
constexpr Property<llvm::StringLiteral> byDefault(llvm::StringLiteral value) {
  return {&KnownKey::neutral, value};
}
// What keys without a member take.
inline constexpr Property<llvm::StringLiteral> flag = {&KnownKey::takes,
                                                       "a bool"};
inline constexpr Property<llvm::StringLiteral> number = {&KnownKey::takes,
                                                         "a number"};
inline constexpr Property<llvm::StringLiteral> size = {&KnownKey::takes,
                                                       "an int of at least 1"};
inline constexpr Property<llvm::StringLiteral> name = {&KnownKey::takes,
                                                       "a name"};
constexpr Property<int64_t> from(int64_t smallest) {
  return {&KnownKey::smallest, smallest};
}
constexpr Property<int64_t> upTo(int64_t largest) {
  return {&KnownKey::largest, largest};
}
/// A bound on the ranks along one axis, above that of any machine.
inline constexpr Property<int64_t> ofRanks = upTo(int64_t{1} << 20);
/// A bound on numbers for which tasks are made one by one.
inline constexpr Property<int64_t> ofTasks = upTo(int64_t{1} << 16);
/// A bound on copies of the model, each of which is compiled.
inline constexpr Property<int64_t> ofCopies = upTo(64);
inline constexpr Property<NumberRange> positive = {
    &KnownKey::range, {"a positive number", 0, infinity, /*isOpen=*/true}};
inline constexpr Property<NumberRange> notNegative = {
    &KnownKey::range, {"a number of at least 0", 0}};
inline constexpr Property<NumberRange> ratio = {&KnownKey::range,
                                                {"a number from 0 to 1", 0, 1}};
inline constexpr Property<NumberRange> share = {
    &KnownKey::range, {"a number above 0 and below 1", 0, 1, /*isOpen=*/true}};
constexpr Property<llvm::StringLiteral>
notLowered(llvm::StringLiteral instead) {
  return {&KnownKey::instead, instead};
}
constexpr Property<NameList> oneOf(NameList choices) {
  return {&KnownKey::choices, choices};
}
constexpr Property<NumberSetting> plans(NumberSetting setting) {
  return {&KnownKey::number, setting};
}
constexpr Property<FlagSetting> plans(FlagSetting setting) {
  return {&KnownKey::flag, setting};
}

/// Makes the record of a key that separate code reads.
template <typename... Values>
constexpr KnownKey used(llvm::StringLiteral name,
                        llvm::StringLiteral meaning = "",
                        Property<Values>... properties) {
  KnownKey key = {name, KeyUse::Used, meaning};
  ((key.*properties.member = properties.value), ...);
  return key;
}
/// Makes the record of a key whose value is `member` of its part of
/// TrainingConfig.
template <auto member, typename... Values>
constexpr KnownKey key(llvm::StringLiteral name, llvm::StringLiteral meaning,
                       Property<Values>... properties) {
  KnownKey key = used(name, meaning, properties...);
  key.field = [](TrainingConfig &config) { return getField(config, member); };
  key.part = getPartId(member);
  key.member = [](void *part) { return getMember(part, member); };
  return key;
}
constexpr KnownKey section(llvm::StringLiteral name) {
  return {name, KeyUse::Section};
}
constexpr KnownKey notModelled(llvm::StringRef name,
                               llvm::StringLiteral neutral = "",
                               llvm::StringLiteral meaning = "") {
  return {name, KeyUse::NotModelled, meaning, neutral};
}

// Keys that separate code reads, and names.
inline constexpr KnownKey parallelMode =
    used("parallel_mode",
         "0 data, 1 semi-auto, 2 auto, 3 hybrid parallel, or their names");
inline constexpr KnownKey datasetStrategy =
    used("dataset_strategy", "how a batch is cut where ranks read parts of it");
inline constexpr KnownKey optimizerLevel =
    used("optimizer_level",
         "level1 shards state, level2 also gradients, level3 also weights");
inline constexpr KnownKey scaleSense =
    used("scale_sense", "factor on the loss, or a map with a type");
inline constexpr KnownKey scaleType =
    used("type", "the class that updates the factor");
inline constexpr KnownKey callbackType =
    used("type", "the class of the callback");
inline constexpr KnownKey balanceSwitch =
    used("balance_via_topk_bias", "whether it does anything");
inline constexpr KnownKey mtpDepth =
    used("mtp_depth", "layers of multi-token prediction besides", from(0));
inline constexpr KnownKey betas = used("betas", "beta1 and beta2 as a list");
inline constexpr KnownKey eps =
    used("eps", "what is added to the root of the second moment; a list of "
                "three numbers of Came");
inline constexpr KnownKey fusedAlgo =
    used("fused_algo", "ema or sma, the kind of average (PmaAdamW)",
         of<WeightAverageConfig>);
inline constexpr KnownKey nsSteps =
    used("ns_steps", "Newton-Schulz steps of one triple of coefficients (Muon)",
         of<MuonConfig>);
inline constexpr KnownKey nsCoefficients =
    used("ns_coefficients",
         "their coefficients, or a list of triples with their steps (Muon)",
         of<MuonConfig>);
inline constexpr KnownKey adamwBetas =
    used("adamw_betas", "beta1 and beta2 of what AdamW updates (Muon)",
         of<MuonConfig>);
inline constexpr KnownKey adamwEps =
    used("adamw_eps", "eps of what AdamW updates (Muon)", of<MuonConfig>);
inline constexpr KnownKey adamwInclude = used(
    "adamw_include", "parameters that AdamW updates (Muon)", of<MuonConfig>);
inline constexpr KnownKey commStrategy =
    used("comm_strategy", "who works on which matrix (Muon)", of<MuonConfig>);
inline constexpr KnownKey scaleParameter =
    used("scale_parameter", "rates follow the parameter's norm (Came)",
         of<CameConfig>);
inline constexpr KnownKey relativeStep = used(
    "relative_step", "rates follow the step's number (Came)", of<CameConfig>);
inline constexpr KnownKey warmupInit = used(
    "warmup_init", "rates of relative_step begin low (Came)", of<CameConfig>);
inline constexpr KnownKey compression =
    used("compression", "averages in fp16 (Came)", of<CameConfig>);
inline constexpr KnownKey qkClipEnabled =
    used("qk_clip_enabled", "weights shrink where logits are large (Muon)",
         of<MuonConfig>);
inline constexpr KnownKey qkClipThreshold =
    used("qk_clip_threshold", "the logit from which on they do (Muon)",
         of<MuonConfig>);
inline constexpr KnownKey qkClipBatches =
    used("micro_batch_num",
         "what qk_clip_threshold is multiplied by in the static graph (Muon)");
inline constexpr KnownKey rateParameters =
    used("params", "parts of names of parameters, or wildcards");
inline constexpr KnownKey baseRate =
    used("base_lr", "learning_rate of the annealing schedules");
inline constexpr KnownKey standardRates =
    used("default", "the schedule of parameters that no item names");
inline constexpr KnownKey groupedRates =
    used("grouped", "schedules of other parameters, each with params");
inline constexpr KnownKey memoryOptimizeLevel =
    used("memory_optimize_level",
         "O1 reuses memory across devices, which excludes swap");
inline constexpr KnownKey jitLevel =
    used("jit_level", "O1 fuses vector operators");
inline constexpr KnownKey graphKernel =
    used("enable_graph_kernel", "vector operators are fused");
inline constexpr KnownKey speedUpPath =
    used("parallel_speed_up_json_path",
         "pp_1f1b_overlap in this file, beside the YAML, pairs forwards and "
         "backwards of zero_bubble_v");
inline constexpr KnownKey modelConfig =
    used("model_config", "the model: sizes, types, layers of stages");
inline constexpr KnownKey arch =
    used("arch", "the network's class, or a map with its type");
inline constexpr KnownKey callbackList =
    used("callbacks", "a list of callbacks, each a map with a type");
inline constexpr KnownKey otherCallbackList =
    used("callback", "another name for callbacks");
inline constexpr KnownKey useParallel =
    used("use_parallel", "False trains on one device");
inline constexpr KnownKey useLegacy = used(
    "use_legacy", "names of the classic layer classes, or of the mcore graph");
inline constexpr KnownKey microBatchInterleaveNum = used(
    "micro_batch_interleave_num", "copies of the model in each micro-batch");
inline constexpr KnownKey trainDataset =
    used("train_dataset",
         "how samples are divided among ranks, by its data_loader.type");
inline constexpr KnownKey deviceMemory =
    used("max_device_memory", "memory of a rank, as '58GB'");
/// The keys of an item of swap's lists, in both formats.
inline constexpr llvm::StringLiteral swapName = "op_name";
inline constexpr llvm::StringLiteral swapPrefetch = "backward_prefetch";
inline constexpr llvm::StringLiteral swapLayers = "layers";
/// In train_dataset, which is not checked.
inline constexpr llvm::StringLiteral dataLoader = "data_loader";

/// The keys of adapters, which pet_config and lora_config of the dynamic graph
/// have, and those of pet_config alone.
namespace adapter {

inline constexpr llvm::StringLiteral rank = "lora_rank";
inline constexpr llvm::StringLiteral alpha = "lora_alpha";
inline constexpr llvm::StringLiteral dropout = "lora_dropout";
inline constexpr llvm::StringLiteral targets = "target_modules";
inline constexpr llvm::StringLiteral excluded = "exclude_layers";
inline constexpr llvm::StringLiteral type = "pet_type";
inline constexpr llvm::StringLiteral frozen = "freeze_include";
inline constexpr llvm::StringLiteral trained = "freeze_exclude";

} // namespace adapter

/// The keys of moe_config.
namespace expert {

#define EXPERT_KEY(NAME, ...) inline constexpr KnownKey NAME = __VA_ARGS__;
#include "mf/Frontend/Config/ExpertKeys.def"

} // namespace expert

// Reasons of IrrelevantKeys.
inline constexpr llvm::StringLiteral checkpoints =
    "checkpoints: mf-run and mf-translate have options for them";
inline constexpr llvm::StringLiteral collectives =
    "how collectives move what they move, or that ranks start from the same "
    "values, which mf derives from seed and name";
inline constexpr llvm::StringLiteral compilation =
    "how MindSpore compiles and runs a graph, whose values stay the same";
inline constexpr llvm::StringLiteral done =
    "the step looks for overflows and prints the global norm in any case";
inline constexpr llvm::StringLiteral elsewhere =
    "what counts is another key: parallel.enable_parallel_optimizer, "
    "parallel_config.micro_batch_num, parallel.pipeline_config";
inline constexpr llvm::StringLiteral evaluation = "evaluation and inference";
inline constexpr llvm::StringLiteral oldExperts =
    "experts of layer classes that no model trains with, or of inference";
inline constexpr llvm::StringLiteral host =
    "the host, or the device's driver and its memory pool";
inline constexpr llvm::StringLiteral launch =
    "how and where processes are started";
inline constexpr llvm::StringLiteral overlap =
    "the order of communication and computation, which mf decides itself";
inline constexpr llvm::StringLiteral precision =
    "reproducible kernels; those of mf always are";
inline constexpr llvm::StringLiteral report =
    "what is printed, profiled or written beside the step";
inline constexpr llvm::StringLiteral runLength =
    "how long the run is: mf-run --steps";
inline constexpr llvm::StringLiteral samples =
    "where samples come from: mf-run --data";
inline constexpr llvm::StringLiteral sameNumbers =
    "another kernel for the same numbers, or for operators that no model has";
inline constexpr llvm::StringLiteral search =
    "MindSpore's own search for a layout";
inline constexpr llvm::StringLiteral seeds =
    "first values of parameters: mf-run --seed";
inline constexpr llvm::StringLiteral unread =
    "nothing, unless another key is set that gives a warning itself";
inline constexpr llvm::StringLiteral weights =
    "a folder of weights; its config.json is given by --pretrained-config";

} // namespace known

/// Reports keys of `section` that are unknown or not modelled.
void checkKeys(const Node &section, const KnownSection &known,
               DiagnosticList &diagnostics);

/// Prints a Markdown page of all keys, with their accepted values, defaults and
/// meanings.
void printKeyPage(llvm::raw_ostream &out);

/// Prints the fields of the dynamic graph's YAML as the second part of that
/// page.
void printDynamicKeyPage(llvm::raw_ostream &out);

/// Values of parallel_config by key, as text.
using LayoutValues = std::map<std::string, std::string>;

/// Returns the values that are not the default.
LayoutValues listLayoutValues(const TrainingConfig &config);

/// Returns the value of a key that listLayoutValues() leaves out.
std::string getDefaultLayoutValue(llvm::StringRef key);

/// Sets the value of a key to one of listLayoutValues() or to the default.
void setLayoutValue(llvm::StringRef key, llvm::StringRef value,
                    TrainingConfig &config);

} // namespace mf

#endif // MF_FRONTEND_CONFIG_KNOWNKEYS_H
