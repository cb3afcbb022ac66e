//===- KnownKeys.h - The keys of each section and their use -----*- C++ -*-===//

#ifndef MF_CONFIG_KNOWNKEYS_H
#define MF_CONFIG_KNOWNKEYS_H

#include "mf/Frontend/Config/TrainingConfig.h"
#include "llvm/ADT/ArrayRef.h"
#include <limits>
#include <variant>

namespace mf {

struct MemorySettings;

/// How a key is used. The unit test KnownKeysTest tries every key of every
/// section and compares the effect with this use.
enum class KeyUse : uint8_t {
  Used,        ///< another value gives another program, or a message
  Section,     ///< a map whose keys have a table of their own
  NotModelled, ///< would change the step; a warning unless it says nothing
};

/// The member of a TrainingConfig that has the value of a key; none where the
/// part of the configuration is absent.
using KeyField =
    std::variant<std::monostate, bool *, int64_t *, double *, std::string *,
                 std::optional<bool> *, std::optional<int64_t> *,
                 std::optional<double> *, LayerSetting *>;

inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// The numbers that a key takes, and how a message calls them.
struct NumberRange {
  llvm::StringLiteral words = "a number";
  double low = -infinity;
  double high = infinity;
  /// The bounds themselves are not taken.
  bool isOpen = false;
};

using NameList = llvm::ArrayRef<llvm::StringRef> (*)();
using NumberSetting = std::optional<int64_t> MemorySettings::*;
using FlagSetting = std::optional<bool> MemorySettings::*;

/// All that is known of one key. Its type and its default value are those of
/// the member of TrainingConfig that `field` gives; keys without one are read
/// by code of their own.
struct KnownKey {
  llvm::StringLiteral name = "";
  KeyUse use = KeyUse::Used;
  llvm::StringLiteral meaning = "";
  /// For NotModelled: Python spellings, separated by `|`, of values that ask
  /// for the behaviour without the key.
  llvm::StringLiteral neutral = "";
  /// For a bool that is read but not lowered: what the program does instead of
  /// what True asks for.
  llvm::StringLiteral instead = "";
  KeyField (*field)(TrainingConfig &config) = nullptr;

  // The values that it takes, of those of its type.
  int64_t smallest = 1;
  int64_t largest = std::numeric_limits<int32_t>::max();
  NumberRange range = {};
  NameList choices = nullptr;
  bool takesNull = false;     ///< null is as if the key were not there
  bool takesMinusOne = false; ///< and so is -1
  bool takesPatterns = true;  ///< of settings of layers

  /// Passes have messages about the value, so they are told its place.
  bool hasPlace = false;
  /// The planner's setting that is this key's value.
  NumberSetting number = nullptr;
  FlagSetting flag = nullptr;

  /// `an int from 1 to 65536`; bounds that are those of the type are not said
  /// unless `sayBoth`.
  std::string describeNumbers(bool sayBoth) const;

  /// The value that a configuration has; null if the key is of another type.
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

/// Keys that cannot matter to a training step.
struct IrrelevantKeys {
  /// Their purpose, which shows that they cannot matter.
  llvm::StringLiteral reason;
  /// Separated by blanks.
  llvm::StringLiteral names;

  llvm::SmallVector<llvm::StringRef> getNames() const;
};

struct KnownSection {
  llvm::StringLiteral name;
  /// MindSpore Transformers raises KeyError for keys it does not know here.
  bool isStrict;
  llvm::ArrayRef<KnownKey> keys;
  llvm::ArrayRef<IrrelevantKeys> irrelevant = {};

  /// Null for a key that cannot matter, or that is not known.
  const KnownKey *find(llvm::StringRef key) const;
  /// The names of all keys, those that cannot matter included.
  std::vector<llvm::StringRef> getNames() const;
  /// The section's map in a document.
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

/// All of them, in the order of the file.
llvm::ArrayRef<const KnownSection *> getKnownSections();

/// Words for the tables.
namespace known {

/// The part of a configuration of this type.
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
  offer(&config.runner);
  offer(&config.wrapper);
  offer(&config.wrapper.scaleSense);
  offer(&config.optimizer);
  offerIf(config.optimizer.average);
  offerIf(config.optimizer.muon);
  offerIf(config.optimizer.came);
  offer(&config.lrSchedule);
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

/// A property of a key, as `orNull`, that stands behind its meaning.
template <typename Value> struct Property {
  Value KnownKey::*member;
  Value value;
};
inline constexpr Property<bool> orNull = {&KnownKey::takesNull, true};
inline constexpr Property<bool> orMinusOne = {&KnownKey::takesMinusOne, true};
inline constexpr Property<bool> withoutPatterns = {&KnownKey::takesPatterns,
                                                   false};
inline constexpr Property<bool> withPlace = {&KnownKey::hasPlace, true};
constexpr Property<int64_t> from(int64_t smallest) {
  return {&KnownKey::smallest, smallest};
}
constexpr Property<int64_t> upTo(int64_t largest) {
  return {&KnownKey::largest, largest};
}
/// The ranks of one axis: more than any machine has.
inline constexpr Property<int64_t> ofRanks = upTo(int64_t{1} << 20);
/// Tasks are made one by one for each.
inline constexpr Property<int64_t> ofTasks = upTo(int64_t{1} << 16);
/// Copies of the model, each of which is compiled.
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

/// A key that code of its own reads.
template <typename... Values>
constexpr KnownKey used(llvm::StringLiteral name,
                        llvm::StringLiteral meaning = "",
                        Property<Values>... properties) {
  KnownKey key = {name, KeyUse::Used, meaning};
  ((key.*properties.member = properties.value), ...);
  return key;
}
/// A key whose value is `member` of its part of TrainingConfig.
template <auto member, typename... Values>
constexpr KnownKey key(llvm::StringLiteral name, llvm::StringLiteral meaning,
                       Property<Values>... properties) {
  KnownKey key = used(name, meaning, properties...);
  key.field = [](TrainingConfig &config) { return getField(config, member); };
  return key;
}
constexpr KnownKey section(llvm::StringLiteral name) {
  return {name, KeyUse::Section};
}
constexpr KnownKey notModelled(llvm::StringLiteral name,
                               llvm::StringLiteral neutral = "") {
  return {name, KeyUse::NotModelled, "", neutral};
}

// Reasons.
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

/// Prints all keys as a page of Markdown, with what they take, their defaults
/// and meanings.
void printKeyPage(llvm::raw_ostream &out);

/// Prints the fields of the dynamic graph's YAML as a second part of that page.
void printDynamicKeyPage(llvm::raw_ostream &out);

} // namespace mf

#endif // MF_CONFIG_KNOWNKEYS_H
