//===- KnownKeys.h - The keys of each section and their use -----*- C++ -*-===//

#ifndef MF_LIB_CONFIG_KNOWNKEYS_H
#define MF_LIB_CONFIG_KNOWNKEYS_H

#include "mf/Frontend/Config/Node.h"
#include "llvm/ADT/ArrayRef.h"

namespace mf {

/// How a key is used. The unit test KnownKeysTest tries every key of every
/// section and compares the effect with this use.
enum class KeyUse : uint8_t {
  Used,        ///< another value gives another program, or a message
  Section,     ///< a map whose keys have a table of their own
  Irrelevant,  ///< cannot matter to a training step, for a reason
  NotModelled, ///< would change the step; a warning unless it says nothing
};

struct KnownKey {
  llvm::StringLiteral name;
  KeyUse use;
  /// For NotModelled: Python spellings, separated by `|`, of values that ask
  /// for the behaviour without the key.
  llvm::StringLiteral neutral = "";
  /// For Irrelevant: the purpose of the key, which shows that it cannot matter.
  llvm::StringLiteral reason = "";
};

struct KnownSection {
  llvm::StringLiteral name;
  /// MindSpore Transformers raises KeyError for keys it does not know here.
  bool isStrict;
  llvm::ArrayRef<KnownKey> keys;
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

constexpr KnownKey used(llvm::StringLiteral name) {
  return {name, KeyUse::Used};
}
constexpr KnownKey section(llvm::StringLiteral name) {
  return {name, KeyUse::Section};
}
constexpr KnownKey irrelevant(llvm::StringLiteral name,
                              llvm::StringLiteral reason) {
  return {name, KeyUse::Irrelevant, "", reason};
}
constexpr KnownKey notModelled(llvm::StringLiteral name,
                               llvm::StringLiteral neutral = "") {
  return {name, KeyUse::NotModelled, neutral};
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

} // namespace mf

#endif // MF_LIB_CONFIG_KNOWNKEYS_H
