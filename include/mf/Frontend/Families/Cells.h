//===- Cells.h - Tables of Cells and of what they store ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A layer class of a model registers Cells, each with the names of its
// primitives, and some Cells hold a parameter. A row of a table has all of it
// side by side: the Cell, its primitives, the function of its parameter in the
// model, how a checkpoint stores it, and when the class registers the Cell. The
// names that users' patterns match, the names of parameters and those of
// tensors in checkpoints are derived from these rows.
//
//===----------------------------------------------------------------------===//

#ifndef MF_FRONTEND_FAMILIES_CELLS_H
#define MF_FRONTEND_FAMILIES_CELLS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mf {

//===----------------------------------------------------------------------===//
// What a parameter is
//===----------------------------------------------------------------------===//

/// The function of a parameter in the model, independent of its name.
enum class ParameterPart : uint8_t {
  Embedding,
  Positions, ///< the table of positions
  AttentionNorm,
  Query,
  Key,
  Value,
  QueryNorm,
  KeyNorm,
  AttentionOutput,
  FeedForwardNorm,
  Gate, ///< the projection whose result goes through the activation
  Up,
  Down,
  FinalNorm,
  Head,
  // Latent attention. The query and the key of a head have a part that is not
  // rotated (Nope) and a part that is (Rope), by halves.
  QueryDown, ///< projects to the latent query
  QueryDownNorm,
  QueryNope, ///< the parts of the heads that are not rotated
  QueryRope, ///< the parts of the heads that are rotated
  KeyValueDown,
  KeyValueDownNorm,
  KeyRope, ///< a single one for all heads
  KeyNope,
  ValueUp,
  // Experts.
  Router,
  RouterBias,   ///< added to the scores when experts are chosen
  TokenExperts, ///< the experts of each token id, integers
  ExpertGate,
  ExpertUp,
  ExpertDown,
  SharedGate,
  SharedUp,
  SharedDown,
  SharedRouter, ///< the weight of the shared experts' output
  // Layers that predict additional tokens.
  PredictionHiddenNorm,
  PredictionEmbeddingNorm,
  PredictionFromHidden, ///< the columns of the projection that apply to the
                        ///< hidden state
  PredictionFromEmbedding,
  PredictionNorm,
  PredictionEmbedding, ///< PredictionEmbedding and PredictionHead are copies of
                       ///< the model's own
  PredictionHead
};

/// Up to three parts, in their order in a tensor.
struct PartList {
  constexpr PartList() = default;
  constexpr PartList(ParameterPart first) : parts{first}, count(1) {}
  constexpr PartList(ParameterPart first, ParameterPart second)
      : parts{first, second}, count(2) {}
  constexpr PartList(ParameterPart first, ParameterPart second,
                     ParameterPart third)
      : parts{first, second, third}, count(3) {}

  llvm::ArrayRef<ParameterPart> get() const { return {parts, count}; }

  ParameterPart parts[3] = {};
  size_t count = 0;
};

inline bool operator==(const PartList &lhs, const PartList &rhs) {
  return lhs.get() == rhs.get();
}

/// The order of the rows of several parts in one tensor.
enum class RowOrder : uint8_t {
  /// One part after another: [query; key; value].
  Contiguous,
  /// Grouped by key/value head: the query heads that share it, then its key,
  /// its value (Megatron); or by neuron: gate, up. Ranks can be given whole
  /// heads and neurons as consecutive rows.
  Grouped
};

/// The dimensions of a tensor whose parts have `rows` rows and `columns`
/// columns.
enum class TensorForm : uint8_t {
  Rows,             ///< parts one below another: [all rows, columns]
  Columns,          ///< parts side by side: [rows, all columns]
  Transposed,       ///< [columns, all rows]; a bias has no columns
  Stacked,          ///< all experts: [experts, rows, columns]
  StackedTransposed ///< [experts, columns, all rows]
};

/// What a tensor of a checkpoint holds.
struct Stored {
  constexpr Stored() = default;
  constexpr Stored(ParameterPart part, TensorForm form = TensorForm::Rows)
      : parts(part), form(form) {}
  constexpr Stored(PartList parts, RowOrder order = RowOrder::Contiguous,
                   TensorForm form = TensorForm::Rows)
      : parts(parts), order(order), form(form) {}

  PartList parts;
  RowOrder order = RowOrder::Contiguous;
  TensorForm form = TensorForm::Rows;
  /// True if neighbouring rows of the rotated part are rotated together, false
  /// if corresponding rows of its two halves are.
  bool rotatesPairs = false;
};

inline bool operator==(const Stored &lhs, const Stored &rhs) {
  return lhs.parts == rhs.parts && lhs.order == rhs.order &&
         lhs.form == rhs.form && lhs.rotatesPairs == rhs.rotatesPairs;
}

//===----------------------------------------------------------------------===//
// When a Cell is there
//===----------------------------------------------------------------------===//

/// A property of a model on which the Cells of a layer depend.
enum class Fact : uint8_t {
  // Attention.
  Heads,           ///< Queries, keys and values come from the hidden state.
  Latent,          ///< Keys and values come from a latent vector.
  LatentQuery,     ///< Queries come from a latent vector too.
  TransposedHeads, ///< As Heads, of GPT-2.
  Hybrid,          ///< The attention of DeepSeek-V4.
  FusedHybrid,     ///< That attention has fused kernels.
  QueryKeyValue,   ///< Query, key and value are one weight.
  ShortProjection, ///< That weight is `w` (InternLM2).
  DownTogether,    ///< All projections that read a latent attention's input are
                   ///< one weight.
  QueryKeyValueBias,
  OutputBias,
  HeadNorms,   ///< Each query and key head is normalized.
  LatentNorms, ///< The latents are normalized.
  Alibi,
  Rotary,
  FusedRotary,
  Flash,
  // Feed forward.
  GateUp, ///< Gate and up projection are one weight.
  DownBias,
  FusedSwiglu,
  ActivationMultiplies, ///< The activation's Cell splits and multiplies.
  FastGelu,
  // Experts.
  Experts, ///< The layer has experts.
  Dropless,
  Shared, ///< There are shared experts beside them.
  SharedGate,
  RouterBias,
  SafeTokens,
  // Layers.
  Streams,      ///< The residual stream is several ones.
  FusedStreams, ///< They are mixed by fused kernels.
  JoinsNext     ///< The layer is a Cell of one that predicts a later token.
};

/// A set of facts.
struct FactSet {
  constexpr FactSet() = default;
  constexpr FactSet(Fact fact) : bits(uint64_t{1} << static_cast<int>(fact)) {}

  void set(Fact fact, bool holds) {
    if (holds)
      bits |= FactSet(fact).bits;
  }

  uint64_t bits = 0;
};

constexpr FactSet operator|(FactSet lhs, FactSet rhs) {
  lhs.bits |= rhs.bits;
  return lhs;
}
constexpr FactSet operator|(Fact lhs, Fact rhs) {
  return FactSet(lhs) | FactSet(rhs);
}
/// Returns the facts that are in both sets.
constexpr FactSet intersect(FactSet lhs, FactSet rhs) {
  lhs.bits &= rhs.bits;
  return lhs;
}
/// Returns the facts of `lhs` that are not in `rhs`.
constexpr FactSet subtract(FactSet lhs, FactSet rhs) {
  lhs.bits &= ~rhs.bits;
  return lhs;
}

/// A condition: all of some facts and none of others.
struct When {
  constexpr When() = default;
  constexpr When(Fact fact) : all(fact) {}

  bool holds(FactSet facts) const { return mayHold(facts, {}); }
  /// Returns whether the condition can hold, where `open` may be true or not.
  bool mayHold(FactSet facts, FactSet open) const {
    return subtract(all, facts | open).bits == 0 &&
           intersect(none, subtract(facts, open)).bits == 0;
  }

  FactSet all, none;
};

constexpr When operator!(Fact fact) {
  When when;
  when.none = fact;
  return when;
}
constexpr When operator&(When lhs, When rhs) {
  lhs.all = lhs.all | rhs.all;
  lhs.none = lhs.none | rhs.none;
  return lhs;
}
constexpr When operator&(Fact lhs, Fact rhs) { return When(lhs) & When(rhs); }

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Whose projections the Cells of a feed forward hold.
enum class FeedForwardUse : uint8_t { Dense, Experts, Shared };

/// A Cell, or some names of one that several rows describe.
struct CellRow {
  /// The dotted name, relative to the enclosing Cell; empty for that itself. In
  /// checkpoints '#' stands for the index of a layer, '%' for its index among
  /// those that predict additional tokens, and '@' for that of an expert.
  llvm::StringLiteral cell;
  /// The names of primitives, separated by blanks.
  llvm::StringLiteral leaves = "";
  Stored stored = {};
  When when = {};
  /// The Cells inside, after the primitives.
  llvm::ArrayRef<CellRow> cells = {};
  FeedForwardUse use = FeedForwardUse::Dense;
  /// The fact with which the first primitive is followed by `bias_add`.
  /// The fact with which `bias_add` follows the first primitive.
  std::optional<Fact> bias = std::nullopt;
  /// True if `cell` is the name of the parameter itself.
  bool isParameter = false;
};

/// Returns a Cell with others inside.
constexpr CellRow inside(llvm::StringLiteral cell,
                         llvm::ArrayRef<CellRow> cells, When when = {},
                         FeedForwardUse use = FeedForwardUse::Dense) {
  return {cell, "", {}, when, cells, use};
}

/// Returns a parameter that is not the weight of a Cell.
constexpr CellRow parameter(llvm::StringLiteral name, Stored stored,
                            When when = {}) {
  CellRow row{name, "", stored, when};
  row.isParameter = true;
  return row;
}

/// Calls `visit` with each Cell that is there according to `test`, with its
/// path.
void visitCells(
    llvm::ArrayRef<CellRow> rows, llvm::function_ref<bool(When)> test,
    llvm::function_ref<void(const CellRow &row, const std::string &path)>
        visit);

/// Returns the dotted names of all primitives in the order of the rows.
std::vector<std::string> listCellNames(llvm::ArrayRef<CellRow> rows,
                                       FactSet facts);

/// Returns the Cell that holds exactly these parts, relative to Cell `outer`.
/// Empty if there is none.
std::string findCell(llvm::ArrayRef<CellRow> rows, FactSet facts,
                     PartList parts, llvm::StringRef outer = "");

/// Returns the name of the parameter, or of the weight, that holds this part.
std::string findParameter(llvm::ArrayRef<CellRow> rows, FactSet facts,
                          ParameterPart part);

} // namespace mf

#endif // MF_FRONTEND_FAMILIES_CELLS_H
