//===- PiecePlan.h - Cuts a layer into pieces of the sequence ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A single forward pass over a layer. The hidden states are cut along the
// sequence, and the sharding rules of operators determine the rest, as for
// ranks that share a dimension. If each row reads a whole dimension only up to
// its own index, a piece receives the earlier part from earlier pieces. This
// file does not depend on IR.
//
//===----------------------------------------------------------------------===//

#ifndef MF_PASSES_SEQUENCE_PIECEPLAN_H
#define MF_PASSES_SEQUENCE_PIECEPLAN_H

#include "dialects/mf/ShardingRule.h"
#include <string>
#include <vector>

namespace mf::passes {

/// Where a value is cut: at a dimension of `outer` times the sequence times
/// another size.
struct PieceCut {
  unsigned dim = 0;
  int64_t outer = 1;

  bool operator==(const PieceCut &other) const {
    return dim == other.dim && outer == other.outer;
  }
};

struct PieceValue {
  llvm::SmallVector<int64_t> shape;
  /// The cut of a piece. Empty for values that each piece has as a whole.
  std::optional<PieceCut> cut = std::nullopt;
  /// True if the pieces' values are summands of the whole: a loss.
  bool isSummand = false;
  /// True if the value is computed from tokens or labels alone, of which each
  /// piece also has the whole sequence.
  bool isData = false;
};

struct PieceOperator {
  std::string name;
  ir::ShardingRule rule;
  llvm::SmallVector<unsigned> operands, results;
};

/// Values are numbered, arguments first. The cuts of arguments are given, those
/// of other values are planned.
struct PieceLayer {
  std::vector<PieceValue> values;
  std::vector<PieceOperator> operators;
};

/// The form in which an operator of a piece reads an operand.
enum class PieceRead {
  /// The value of the piece.
  Own,
  /// The piece's part of a whole value.
  Part,
  /// The values of all pieces up to this one.
  Prefix
};

struct PiecePlan {
  std::vector<PieceValue> values;
  /// The form in which each operand is read, by operator and operand.
  std::vector<llvm::SmallVector<PieceRead>> reads;
  /// The cut of a part, by operator and operand.
  std::vector<llvm::SmallVector<PieceCut>> cuts;
  /// For each operator, whether each piece computes the results for the whole
  /// sequence and takes its parts of them.
  std::vector<bool> isWhole;
  /// The values that later pieces read, in the order of their first readers.
  llvm::SmallVector<unsigned> kept;

  void print(const PieceLayer &layer, llvm::raw_ostream &os) const;
};

/// The reason why a layer cannot run in pieces.
struct PieceError {
  std::string message;
  unsigned op = 0;
};

/// Plans one layer for `pieces` pieces. Returns none and sets `error` if that
/// is not possible.
std::optional<PiecePlan> planPieces(const PieceLayer &layer, int64_t pieces,
                                    PieceError &error);

} // namespace mf::passes

#endif // MF_PASSES_SEQUENCE_PIECEPLAN_H
