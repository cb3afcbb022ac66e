//===- ShardingRule.h - Sharding rules of operators -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A layout defines the axes of the mesh that cut a tensor. A rule defines which
// dimensions of an operator's operands and results must be cut alike, and what
// its results then hold.
//
//===----------------------------------------------------------------------===//

#ifndef MF_DIALECTS_MF_SHARDINGRULE_H
#define MF_DIALECTS_MF_SHARDINGRULE_H

#include "mf/Program/Signatures/KernelParts.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <optional>

namespace mf::ir {

class LayoutAttr;
class MeshAttr;

/// Names of axes. The strings must outlive them.
using Axes = llvm::SmallVector<llvm::StringRef, 2>;

/// The axes of a mesh in order, with their sizes.
struct MeshSizes {
  llvm::SmallVector<std::pair<llvm::StringRef, int64_t>, 4> axes;

  MeshSizes() = default;
  /// Converts an attribute. Null gives a mesh without axes.
  explicit MeshSizes(MeshAttr mesh);
  /// Returns the number of ranks along an axis, or 1 if the mesh has no axis of
  /// this name.
  int64_t getSize(llvm::StringRef axis) const;
  /// Returns the number of parts into which `cut` cuts a dimension.
  int64_t getNumParts(llvm::ArrayRef<llvm::StringRef> cut) const;
  /// Returns whether `names` are in the order of the mesh, which is that of the
  /// ranks in a group.
  bool isInOrder(llvm::ArrayRef<llvm::StringRef> names) const;
};

/// #mf.layout as a plain value. `cuts` has for each dimension the axes that cut
/// it, outermost first. The ranks along `partial` hold summands. The ranks
/// along `reduced` hold the same value, but summands of its gradient.
struct Layout {
  llvm::SmallVector<Axes, 4> cuts;
  Axes partial, reduced;

  Layout() = default;
  /// Makes a replicated layout.
  explicit Layout(size_t rank) : cuts(rank) {}
  /// Converts an attribute. Null gives a replicated layout.
  Layout(LayoutAttr attribute, size_t rank);

  bool cutsOver(llvm::StringRef axis) const;
  LayoutAttr getAttr(mlir::MLIRContext *context) const;
  /// Prints, for example, `[[dp], [cp, mp], []] partial [mp]`.
  void print(llvm::raw_ostream &os) const;
  bool operator==(const Layout &other) const {
    return cuts == other.cuts && partial == other.partial &&
           reduced == other.reduced;
  }
  bool operator!=(const Layout &other) const { return !(*this == other); }
};

/// The kind defines what results without the factor hold if operands are cut.
enum class FactorKind {
  /// All results have the factor.
  Pass,
  /// The operator sums over the factor, so that a part gives a partial sum.
  Sum,
  /// The operator sums over the factor and over its ranks, so that a part gives
  /// the complete result.
  Own,
  /// Operands must have the whole of the factor.
  Whole
};

struct ShardingFactor {
  FactorKind kind;
  int64_t size;
};

/// The factors of each dimension of an operand or result, outermost first.
using FactorDims = llvm::SmallVector<llvm::SmallVector<unsigned, 1>, 4>;

struct ShardingRule {
  llvm::SmallVector<ShardingFactor> factors;
  llvm::SmallVector<FactorDims> operands, results;
  /// How each operand may be a summand. Empty if none may be.
  llvm::SmallVector<Linearity> linearity;
  /// Two factors of which ranks may exchange parts while the operator runs, so
  /// that it is cut by the second instead of the first: attention by heads
  /// instead of by rows.
  std::optional<std::pair<unsigned, unsigned>> exchange;
  /// A factor of rows, and a second factor of the same size that is whole. Each
  /// row only needs the elements of the second up to its own index: causal
  /// attention.
  std::optional<std::pair<unsigned, unsigned>> prefix;
  /// True if the result for an element depends on its index in the whole
  /// tensor. Ranks and pieces of the sequence know that index, but blocks of
  /// rows do not.
  bool dependsOnPlace = false;

  unsigned addFactor(FactorKind kind, int64_t size) {
    factors.push_back({kind, size});
    return factors.size() - 1;
  }
  /// Returns whether all operands may be summands at the same time, so that the
  /// results are summands too.
  bool isLinear() const;
};

/// Returns the rule of any operator: its own, or that of its kernel. Emits an
/// error and fails if the kernel's record does not describe the operands.
mlir::FailureOr<ShardingRule> getShardingRule(mlir::Operation *op);

/// Returns the rule that the record of the operator's kernel defines. If there
/// is no kernel, all dimensions are whole.
mlir::FailureOr<ShardingRule> getKernelShardingRule(mlir::Operation *op);

/// Returns the rule that the record of `kernel` defines for the operands and
/// results of an operator.
mlir::FailureOr<ShardingRule> getShardingRuleOf(llvm::StringRef kernel,
                                                mlir::Operation *op);

/// Distributes the axes of one dimension over its factors, outermost first;
/// none if they do not divide them. An axis is only assigned to the next factor
/// if it cannot cut the previous one any more.
std::optional<llvm::SmallVector<Axes>>
splitAxes(llvm::ArrayRef<llvm::StringRef> axes,
          llvm::ArrayRef<int64_t> factorSizes, const MeshSizes &mesh);

/// Services for an operator that is rewritten to work on a piece.
class WholeOperands {
public:
  virtual ~WholeOperands() = default;
  /// Returns operand `number` for the whole sequence. It must be a step input,
  /// or a value computed from step inputs and tables alone. Null for any other
  /// operand.
  virtual mlir::Value getWhole(unsigned number) = 0;
  /// Returns the index of the piece.
  virtual int64_t getPiece() const = 0;
};

/// Services for an operator that is rewritten to work on a rank's shard.
class LocalTables {
public:
  virtual ~LocalTables() = default;
  /// Returns an mf tensor of one i32, the index at which this rank's part
  /// begins in a dimension that `axes` cut into parts of `partSize`.
  virtual mlir::Value getFirstIndex(mlir::Operation *user,
                                    llvm::ArrayRef<llvm::StringRef> axes,
                                    int64_t partSize) = 0;
};

} // namespace mf::ir

#endif // MF_DIALECTS_MF_SHARDINGRULE_H
