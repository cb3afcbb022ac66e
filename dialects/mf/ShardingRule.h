//===- ShardingRule.h - Sharding rules of operators -------------*- C++ -*-===//
//
// A layout says by which axes of the mesh a tensor is cut; a rule says which
// dimensions of an operator's operands and results must be cut alike, and what
// its results are then.
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

/// Names of axes; who makes them keeps the strings.
using Axes = llvm::SmallVector<llvm::StringRef, 2>;

/// The axes of a mesh in order, and their sizes.
struct MeshSizes {
  llvm::SmallVector<std::pair<llvm::StringRef, int64_t>, 4> axes;

  MeshSizes() = default;
  /// No axes where there is no mesh.
  explicit MeshSizes(MeshAttr mesh);
  /// Returns 1 if the mesh has no axis of this name.
  int64_t getSize(llvm::StringRef axis) const;
  /// The parts into which `cut` cuts a dimension.
  int64_t getNumParts(llvm::ArrayRef<llvm::StringRef> cut) const;
  /// Whether `names` are in the order of the mesh, as ranks of a group are.
  bool isInOrder(llvm::ArrayRef<llvm::StringRef> names) const;
};

/// #mf.layout as a plain value: per dimension the axes that cut it, the outer
/// one first; a summand on each rank of `partial`; the same on all ranks of
/// `reduced`, with a summand of the gradient on each.
struct Layout {
  llvm::SmallVector<Axes, 4> cuts;
  Axes partial, reduced;

  Layout() = default;
  /// Replicated.
  explicit Layout(size_t rank) : cuts(rank) {}
  /// Replicated where `attribute` is null.
  Layout(LayoutAttr attribute, size_t rank);

  bool cutsOver(llvm::StringRef axis) const;
  LayoutAttr getAttr(mlir::MLIRContext *context) const;
  /// `[[dp], [cp, mp], []] partial [mp]`.
  void print(llvm::raw_ostream &os) const;
  bool operator==(const Layout &other) const {
    return cuts == other.cuts && partial == other.partial &&
           reduced == other.reduced;
  }
  bool operator!=(const Layout &other) const { return !(*this == other); }
};

/// How the results that lack a factor depend on a rank's part of it.
enum class FactorKind {
  /// The factor is in all results.
  Pass,
  /// The operator sums over it: a part makes a partial sum.
  Sum,
  /// The operator sums over it, and over its ranks too: a part makes the whole.
  Own,
  /// Operands must have all of it.
  Whole
};

struct ShardingFactor {
  FactorKind kind;
  int64_t size;
};

/// For an operand or result, the factors of each dimension, the outer one
/// first.
using FactorDims = llvm::SmallVector<llvm::SmallVector<unsigned, 1>, 4>;

struct ShardingRule {
  llvm::SmallVector<ShardingFactor> factors;
  llvm::SmallVector<FactorDims> operands, results;
  /// By operand, how it may be partial; where it is empty none may be.
  llvm::SmallVector<Linearity> linearity;
  /// Factors of which ranks may exchange parts while the operator runs, cut by
  /// the second instead of the first: attention by heads instead of by rows.
  std::optional<std::pair<unsigned, unsigned>> exchange;
  /// Rows that need of the second, a whole factor of as many elements, only
  /// those up to their own: causal attention.
  std::optional<std::pair<unsigned, unsigned>> prefix;
  /// The result for an element depends on its place among all, which ranks and
  /// pieces of the sequence know, but not blocks of rows.
  bool dependsOnPlace = false;

  unsigned addFactor(FactorKind kind, int64_t size) {
    factors.push_back({kind, size});
    return factors.size() - 1;
  }
  /// Whether all operands may be partial sums together, and the results then
  /// are.
  bool isLinear() const;
};

/// The rule of any operator: its own, or that of its kernel.
ShardingRule getShardingRule(mlir::Operation *op);

/// The rule that the record of the operator's kernel gives; all whole if there
/// is no kernel.
ShardingRule getKernelShardingRule(mlir::Operation *op);

/// The rule for operands and results that are treated as a line says
/// (AscendKernelBase.td), like the inputs and outputs of a kernel.
ShardingRule readShardingRule(mlir::Operation *op, llvm::StringRef line);

/// Gives the axes of one dimension to its factors, the outer ones first; none
/// if they do not divide. An axis goes on to the next factor only where it can
/// not cut the one before any more.
std::optional<llvm::SmallVector<Axes>>
splitAxes(llvm::ArrayRef<llvm::StringRef> axes,
          llvm::ArrayRef<int64_t> factorSizes, const MeshSizes &mesh);

/// Services to an operator while it becomes that of a piece.
class WholeOperands {
public:
  virtual ~WholeOperands() = default;
  /// Operand `number` for the whole sequence: a step input, or a value made of
  /// step inputs and tables alone. Null for any other.
  virtual mlir::Value getWhole(unsigned number) = 0;
  /// The number of the piece.
  virtual int64_t getPiece() const = 0;
};

/// Services to an operator while it becomes that of a rank.
class LocalTables {
public:
  virtual ~LocalTables() = default;
  /// An mf tensor of one i32: where this rank's part begins in a dimension that
  /// `axes` cut into parts of `partSize`.
  virtual mlir::Value getFirstIndex(mlir::Operation *user,
                                    llvm::ArrayRef<llvm::StringRef> axes,
                                    int64_t partSize) = 0;
};

} // namespace mf::ir

#endif // MF_DIALECTS_MF_SHARDINGRULE_H
