//===- DynamicConfig.h - The YAML of the dynamic-graph trainer --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_FRONTEND_CONFIG_DYNAMICCONFIG_H
#define MF_LIB_FRONTEND_CONFIG_DYNAMICCONFIG_H

#include "DynamicKeys.h"
#include "mf/Frontend/Config/TrainingConfig.h"
#include "llvm/ADT/Twine.h"

namespace mf {

/// Checks the names and types of all fields of a document, with the trainer's
/// messages. Warns about values that the trainer does not implement.
void checkDynamicFields(const Node &root, DiagnosticList &diagnostics);

/// The values of a document that was checked. A field that is missing, or has a
/// value of the wrong type, has its default.
class DynamicReader {
public:
  DynamicReader(Node root, DiagnosticList &diagnostics)
      : diagnostics(diagnostics), root(std::move(root)) {}

  /// Returns the value as written, or the default with the section's location.
  Node get(const DynamicKey &key) const;
  /// Returns the value as written, or an undefined node if it is missing or
  /// null.
  Node getWritten(const DynamicKey &key) const;
  /// True if the value is the default, in any spelling.
  bool hasDefault(const DynamicKey &key) const;
  int64_t getInt(const DynamicKey &key) const;
  double getFloat(const DynamicKey &key) const;
  bool getBool(const DynamicKey &key) const;
  std::string getString(const DynamicKey &key) const;
  /// Returns the value of any type; undefined if it is missing.
  Node getAny(const DynamicKey &key) const {
    return getSection(key.section)[key.name];
  }
  /// Returns a section; an empty one with the document's location if it is
  /// missing or not a map.
  Node getSection(llvm::StringRef name) const;

  /// Warns about fields that are neither the section's own nor among `names`,
  /// those of the class that its type names: the trainer ignores them.
  void warnAboutOthers(llvm::StringRef section,
                       llvm::ArrayRef<llvm::StringRef> names) const;
  /// Emits an error of the trainer about a field.
  void error(const DynamicKey &key, const llvm::Twine &text) const;
  void warn(const DynamicKey &key, const llvm::Twine &text) const;
  /// Warns that a field has no effect.
  void warnUnused(const DynamicKey &key, const llvm::Twine &reason) const {
    warn(key, quote(key.name) + " has no effect: " + reason);
  }

  DiagnosticList &diagnostics;

private:
  Location getLocation(const DynamicKey &key) const;

  Node root;
};

/// Return the value as Python's str() prints it, and Python's name of its type.
std::string getPythonText(const Node &value);
llvm::StringRef getPythonType(const Node &value);

struct DynamicLayout {
  int64_t tensor = 1, context = 1, pipeline = 1, expert = 1;
  /// Data-parallel ranks, replicate times shard.
  int64_t data = 1, replicate = 1, shard = 1;
  int64_t interleave = 1;
  /// Micro-batches of a step.
  int64_t microBatches = 1;
  /// True if the launcher sets the number of ranks.
  bool isLaunched = false;

  int64_t getNumRanks() const { return tensor * context * pipeline * data; }
  /// True if recompute and swap are applied. The trainer applies neither on a
  /// single rank. Without a launcher the settings of the YAML are applied.
  bool appliesMemorySettings() const {
    return !isLaunched || getNumRanks() > 1;
  }
};

/// The number of layers of the model, without and with those of multi-token
/// prediction.
struct DynamicDepth {
  int64_t layers = 0;
  int64_t nextTokens = 0;

  int64_t getAll() const { return layers + nextTokens; }
};

/// Returns the mesh of the number of ranks in the environment's RANK_SIZE, or
/// of the smallest number that the YAML allows. Applies the trainer's checks.
DynamicLayout resolveDynamicLayout(const Node &root,
                                   DiagnosticList &diagnostics);

/// Reads the number of layers of each chunk of each stage, indexed by chunk and
/// then by stage; empty with one stage.
std::vector<std::vector<int64_t>>
readDynamicStages(const Node &root, const DynamicLayout &layout,
                  int64_t numLayers, DiagnosticList &diagnostics);

/// True if the sections of a document are those of the dynamic-graph trainer.
/// It is an error if only some of them are.
bool isDynamicFormat(const Node &root, DiagnosticList &diagnostics);

/// Returns the same configuration in the sections of the static graph. Values
/// point to their origin in the document. addDynamicSettings adds the settings
/// that these sections cannot express.
Node translateDynamicFormat(const Node &root, const DynamicLayout &layout,
                            DiagnosticList &diagnostics);
void addDynamicSettings(const Node &root, const DynamicLayout &layout,
                        TrainingConfig &config, DiagnosticList &diagnostics);

/// What attention exchanges over context-parallel ranks, as the formats name
/// it.
struct ContextMethod {
  llvm::StringLiteral name;      ///< of the dynamic graph
  llvm::StringLiteral algorithm; ///< of the static graph
};
inline constexpr ContextMethod colossalMethod = {"colossal", "colossalai_cp"};
inline constexpr ContextMethod ulyssesMethod = {"ulysses", "ulysses_cp"};
inline constexpr ContextMethod hybridMethod = {"hybrid", "hybrid_cp"};

/// Returns the method of this name in one of the formats; colossal for others.
inline const ContextMethod &
getContextMethod(llvm::StringRef name,
                 llvm::StringLiteral ContextMethod::*format) {
  for (const ContextMethod *method : {&ulyssesMethod, &hybridMethod})
    if (name == method->*format)
      return *method;
  return colossalMethod;
}

/// Prints layers as the format has them: '5' or '0-19', both ends included.
std::string printLayerRange(int64_t first, int64_t last);

/// Returns whether attention is DeepSeek-V4's, which is the default of its
/// class, as the section `model` is written.
bool hasHybridAttention(const Node &model);
/// Returns the section model with the defaults of its class.
Node readDynamicModel(const Node &root, const DynamicLayout &layout,
                      DiagnosticList &diagnostics);
DynamicDepth readDynamicDepth(const Node &model);
/// Reads chunk_loss_num, the number of pieces of the sequence in which the loss
/// is computed.
int64_t readDynamicLossPieces(const Node &root, DiagnosticList &diagnostics);

} // namespace mf

#endif // MF_LIB_FRONTEND_CONFIG_DYNAMICCONFIG_H
