//===- KnownKeys.h - What we know of each section's keys --------*- C++ -*-===//

#ifndef MF_LIB_CONFIG_KNOWNKEYS_H
#define MF_LIB_CONFIG_KNOWNKEYS_H

#include "mf/Config/Node.h"
#include "llvm/ADT/ArrayRef.h"

namespace mf {

enum class KeyUse : uint8_t {
  Used,        ///< read into the typed config
  Irrelevant,  ///< cannot matter to a training step
  NotModelled, ///< would change the step; a warning unless it says nothing
};

struct KnownKey {
  llvm::StringLiteral name;
  KeyUse use;
  /// For NotModelled: Python spellings, separated by `|`, of values that ask
  /// for nothing beyond what is done anyway.
  llvm::StringLiteral neutral = "";
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
extern const KnownSection contextSection;
extern const KnownSection ascendConfigSection;
extern const KnownSection modelSection;
extern const KnownSection topLevel;

/// Says what is to be said about the keys of `section`: unknown ones and
/// those that are not modelled.
void checkKeys(const Node &section, const KnownSection &known,
               DiagnosticList &diagnostics);

} // namespace mf

#endif // MF_LIB_CONFIG_KNOWNKEYS_H
