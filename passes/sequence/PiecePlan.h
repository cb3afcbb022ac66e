//===- PiecePlan.h - Cuts a layer into pieces of the sequence ---*- C++ -*-===//
//
// One pass forward through a layer: the hidden states are cut along the
// sequence, and the operators' rules decide the rest, as they do for ranks that
// share a dimension out. If each row reads a whole dimension only up to its own
// place, a piece gets the earlier part from earlier pieces. No IR.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_SEQUENCE_PIECEPLAN_H
#define MF_PASSES_SEQUENCE_PIECEPLAN_H

#include "dialects/mf/ShardingRule.h"
#include <string>
#include <vector>

namespace mf::passes {

/// Where a value is cut: at a dimension of `outer` times the sequence times
/// something else.
struct PieceCut {
  unsigned dim = 0;
  int64_t outer = 1;

  bool operator==(const PieceCut &other) const {
    return dim == other.dim && outer == other.outer;
  }
};

struct PieceValue {
  llvm::SmallVector<int64_t> shape;
  /// The cut of a piece; none for values that each piece has whole.
  std::optional<PieceCut> cut = std::nullopt;
  /// The pieces' values add up to that of the whole: a loss.
  bool isSummand = false;
  /// Made of tokens or labels alone, of which each piece has the whole
  /// sequence, too.
  bool isData = false;
};

struct PieceOperator {
  std::string name;
  ir::ShardingRule rule;
  llvm::SmallVector<unsigned> operands, results;
};

/// Values are numbered: arguments first. Their cuts are known before, those of
/// the others are planned.
struct PieceLayer {
  std::vector<PieceValue> values;
  std::vector<PieceOperator> operators;
};

/// The form in which an operator of a piece reads an operand.
enum class PieceRead {
  /// The value as the piece has it.
  Own,
  /// Its part of a whole value.
  Part,
  /// The values of all pieces up to it.
  Prefix
};

struct PiecePlan {
  std::vector<PieceValue> values;
  /// The form in which each operand is read, by operator and operand.
  std::vector<llvm::SmallVector<PieceRead>> reads;
  /// By operator and operand: the cut that a part has.
  std::vector<llvm::SmallVector<PieceCut>> cuts;
  /// By operator: each piece makes its results of the whole sequence, and takes
  /// its parts of them.
  std::vector<bool> isWhole;
  /// The values that later pieces read, in the order of their first readers.
  llvm::SmallVector<unsigned> kept;

  void print(const PieceLayer &layer, llvm::raw_ostream &os) const;
};

/// Why a layer cannot run in pieces.
struct PieceError {
  std::string message;
  unsigned op = 0;
};

/// Plans one layer for `pieces` pieces, or says why not.
std::optional<PiecePlan> planPieces(const PieceLayer &layer, int64_t pieces,
                                    PieceError &error);

} // namespace mf::passes

#endif // MF_PASSES_SEQUENCE_PIECEPLAN_H
