//===- Family.h - Records of families of models -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A family is the layer classes that a kind of models has in MindSpore
// Transformers. Its record has the Cells of the model with their parameters,
// from which the names in its checkpoints follow. Hugging Face's models have
// records of the same form, without primitives.
//
//===----------------------------------------------------------------------===//

#ifndef MF_FRONTEND_FAMILIES_FAMILY_H
#define MF_FRONTEND_FAMILIES_FAMILY_H

#include "mf/Frontend/Families/Cells.h"
#include "mf/Frontend/Families/OperatorNames.h"

namespace mf {

/// The Cells of a model.
struct ModelCells {
  /// The prefix of the parameters of layers before the index.
  llvm::StringLiteral layers;
  /// What is outside of layers.
  llvm::ArrayRef<CellRow> model;
  llvm::ArrayRef<CellRow> layer;
  /// The prefix of what joins a hidden state with the embedding of a later
  /// token, before the index, and its Cells.
  llvm::StringLiteral joins = "";
  llvm::ArrayRef<CellRow> join = {};
  /// The parameters of norms: `weight`, '*' for weight and bias or '~' for
  /// gamma and beta.
  llvm::StringLiteral norms = "weight";
  /// The names in some checkpoints begin with this prefix as well.
  llvm::StringLiteral extraPrefix = "";
  /// The names in some checkpoints lack this prefix.
  llvm::StringLiteral missingPrefix = "";
};

/// A naming scheme for the parameters of a transformer, of MindSpore
/// Transformers if it is not of Hugging Face.
enum class NameScheme : uint8_t {
#define NAME_SCHEME(ID, ...) ID,
#include "mf/Frontend/Families/Families.def"
};

/// The layer classes of MindSpore Transformers. They determine the names of
/// Cells and parameters and the computation of a layer.
enum class ModelFamily : uint8_t {
#define FAMILY(ID, RECORD) ID,
#include "mf/Frontend/Families/Families.def"
};

/// The heads of the keys and values that a trained prefix adds.
enum class PrefixHeads : uint8_t {
  None,    ///< The layers take no prefix.
  Queries, ///< as many as queries have
  Keys     ///< as many as keys have
};

/// The experts that the layers of legacy classes can have.
struct ExpertClasses {
  /// True if experts have a width of their own and the first layers can be
  /// dense.
  bool areOfOwnWidth = false;
  /// True if experts can take all tokens that choose them.
  bool canBeDropless = true;
  /// Whether losses of routers are added to the step's loss; none if the model
  /// says whether.
  std::optional<bool> addsLosses = std::nullopt;
  /// The standard deviation of the first values of routers, and of experts
  /// without a capacity; the model's if none.
  std::optional<double> initializerRange = std::nullopt;
};

/// What select_recompute covers in legacy classes if it names no operators.
inline constexpr llvm::StringRef legacySelection[] = {
    "feed_forward\\.mul", "feed_forward\\.w1\\.activation\\.silu"};

struct FamilyRecord {
  /// The `family` of mf.model.
  llvm::StringLiteral name;
  ModelCells cells;
  OperatorNames operators;
  /// What is true of all its models.
  FactSet facts = {};
  /// The scheme of its models in Hugging Face, and of those with experts if
  /// these have another one.
  NameScheme huggingFace = NameScheme::HuggingFace;
  std::optional<NameScheme> huggingFaceExperts = std::nullopt;
  PrefixHeads prefix = PrefixHeads::None;
  /// The experts of layers, whose keys are in moe_config; null if layers have
  /// none, or if the model's own keys describe them.
  const ExpertClasses *experts = nullptr;
  /// True for classes of the mcore training graph, whose keys of experts are in
  /// model_config; false for legacy classes.
  bool isMcore = false;
  /// True if layers that predict later tokens read the hidden state after the
  /// final norm, and the joining is part of each layer. False if the joining is
  /// a separate layer before the final norm.
  bool joinsAfterNorm = false;
  /// What select_recompute covers if it names no operators.
  llvm::ArrayRef<llvm::StringRef> selection = legacySelection;
  /// True if neighbouring ranks have copies of keys and values where their
  /// heads are fewer than the ranks of model parallel.
  bool copiesKeyValueHeads = false;
  /// True if layers behind the body read a stream whose rows are cut over these
  /// ranks as it is; others gather it first.
  bool keepsRows = false;
  /// True if the head does too where its weight is not cut.
  bool keepsRowsInHead = false;
};

const FamilyRecord &getFamily(ModelFamily family);

/// Returns the record of the family with this name, or null.
const FamilyRecord *findFamily(llvm::StringRef name);

/// Returns whether the family with this name is of the mcore training graph. A
/// model without a family is not.
bool isMcore(std::optional<llvm::StringRef> family);

/// Returns the name of the record: the `family` of mf.model.
llvm::StringRef getName(ModelFamily family);

//===----------------------------------------------------------------------===//
// Checkpoints
//===----------------------------------------------------------------------===//

/// A scheme is the Cells of a family with the facts that its checkpoints have.
struct NameSchemeRecord {
  NameScheme scheme;
  llvm::StringLiteral name;
  const ModelCells *cells;
  /// Facts that are true; those that may be, which the model's attention
  /// decides or single layers. All others are false.
  FactSet facts = {}, open = {};
};

/// Returns a record for every scheme, in the order above.
llvm::ArrayRef<NameSchemeRecord> getNameSchemes();

/// Returns the name of the enumerator, for example "Llama" or
/// "HuggingFaceChatGlm".
llvm::StringRef getName(NameScheme scheme);

} // namespace mf

#endif // MF_FRONTEND_FAMILIES_FAMILY_H
