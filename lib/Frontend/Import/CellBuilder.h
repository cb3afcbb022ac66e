//===- CellBuilder.h - Builds one layer, Cell by Cell -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_LIB_FRONTEND_IMPORT_CELLBUILDER_H
#define MF_LIB_FRONTEND_IMPORT_CELLBUILDER_H

#include "dialects/mf/DiscardableAttributes.h"
#include "dialects/mf/MfOps.h"
#include "mf/Frontend/Import/CellNames.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace mf {

/// Returns the element type in MLIR.
mlir::FloatType getFloatType(mlir::MLIRContext *context, DType type);

/// For each dimension, the axes of ranks that may shard a parameter; empty for
/// a parameter that all ranks have whole.
using Cuts = llvm::SmallVector<llvm::SmallVector<llvm::StringRef, 2>, 2>;

/// The matrices that a weight consists of, if `sizes` is not empty; see
/// #mf.matrices.
struct Matrices {
  int64_t dim = 0;
  llvm::SmallVector<int64_t> sizes, rest;
};

/// How a weight shrinks with the largest logits of its heads; not at all where
/// `largest`, a statistic's name, is empty.
struct LogitClip {
  llvm::StringRef largest;
  llvm::SmallVector<int64_t, 2> roots;
};

struct ParameterTraits {
  bool frozen = false;
  /// Its value is this other parameter's.
  llvm::StringRef tiedTo = "";
  Cuts cuts;
  /// It stays whole where the cuts do not divide.
  bool mayStayWhole = false;
  /// All ranks of a layer keep it and its state whole.
  bool staysWhole = false;
  /// True if the parallel optimizer may shard the parameter.
  bool parallelOptimizer = true;
  /// The dimension along which ranks divide its storage.
  int64_t storageDim = 0;
  /// A statistic of steps in place of a weight.
  std::optional<mf::ir::UpdateRule> updateRule = std::nullopt;
  /// The largest share of a row's choices that an expert has room for.
  std::optional<double> capacityShare = std::nullopt;
  Matrices matrices;
  LogitClip logitClip;
  /// True if ranks keep it in its own type, whatever it is read in.
  bool keepsOwnType = false;
};

/// Adds a parameter to the model that `builder` is in.
void createParameter(mlir::OpBuilder &builder, mlir::Location loc,
                     llvm::StringRef symbol, mlir::Type type,
                     mf::ir::InitAttr init, const ParameterTraits &traits);

/// A linear layer: the traits of its weight, whose cuts `axes` define. Where
/// the weight holds several matrices, these are parts of the outputs.
struct LinearTraits : ParameterTraits {
  bool hasBias = false;
  /// The axes that cut the weight's rows, the outputs; or else with
  /// `cutsInputs` its columns, and the bias is whole.
  llvm::SmallVector<llvm::StringRef, 2> axes = {"mp"};
  bool cutsInputs = false;
  /// The weight is stored with the inputs as rows.
  bool storesInputRows = false;
  /// The share of the result that is dropped at random.
  double dropout = 0.0;
};

/// Builds the operators and parameters of one mf.layer. A Cell that is open
/// prefixes the names of both: in Cell `attention.wq`, operator `matmul` is
/// named `attention.wq.matmul` and parameter `weight` is
/// `<layer's parameters>.attention.wq.weight`.
class CellBuilder {
public:
  /// Opens a Cell while it lives.
  class Cell {
  public:
    Cell(CellBuilder &cells, llvm::StringRef name);
    ~Cell();
    Cell(const Cell &) = delete;
    Cell &operator=(const Cell &) = delete;

  private:
    CellBuilder &cells;
    size_t outerSize;
  };

  /// While it lives, marks the operators that are created as parts of a kernel
  /// of the trainer. Null marks none.
  class KernelScope {
  public:
    KernelScope(CellBuilder &cells, mlir::DictionaryAttr kernel)
        : cells(cells), outer(std::exchange(cells.kernel, kernel)) {}
    ~KernelScope() { cells.kernel = outer; }
    KernelScope(const KernelScope &) = delete;
    KernelScope &operator=(const KernelScope &) = delete;

  private:
    CellBuilder &cells;
    mlir::DictionaryAttr outer;
  };

  /// Adds a layer to the end of `model`. Parameters are added before it, named
  /// `parameterPrefix` and their place.
  CellBuilder(mf::ir::ModelOp model, const ModelSpec &spec,
              llvm::StringRef layerName, mf::ir::LayerKind kind,
              llvm::StringRef parameterPrefix, mlir::TypeRange arguments,
              mlir::TypeRange results);

  mlir::Value getArgument(unsigned index) const {
    return mf::ir::LayerOp(layer).getBody().getArgument(index);
  }
  /// Returns the tokens [batch, sequence]. The first call adds them to the
  /// arguments of a body layer, after the results of the previous layer.
  mlir::Value getTokens();
  /// Returns a kernel of the trainer with the name of the open Cell. `use`
  /// tells equal kernels of one Cell apart.
  mlir::DictionaryAttr getKernel(mf::ir::TrainerKernel kernel,
                                 llvm::StringRef use = "") const {
    const std::string name =
        llvm::StringRef(prefix).drop_back().str() + use.str();
    kernel.name = name;
    return kernel.getAttr(builder.getContext());
  }
  void setCellTree(llvm::StringRef symbol) { layer.setCellTree(symbol); }
  /// The open Cells are those around the Cells of a body layer, which has
  /// experts or a dense feed forward.
  void beginBody(bool hasExperts) {
    bodyStart = prefix.size();
    facts = getFacts(spec, hasExperts);
  }
  /// Returns the Cell in the open one that holds exactly these parts, or the
  /// parameter if it is not that of a Cell. Empty if there is none.
  std::string getCell(PartList parts) const {
    return findCell(family.cells.layer, facts, parts,
                    llvm::StringRef(prefix).drop_front(bodyStart).drop_back());
  }
  /// Assigns the layer to the stage of the next one, with that layer's
  /// settings.
  void joinNext() { layer.setJoinsNext(true); }
  /// Names the layer's losses, in the order in which it returns them.
  void
  nameLosses(llvm::ArrayRef<std::pair<llvm::StringRef, double>> namesAndUnits);
  /// Ends the layer.
  void returnValues(mlir::ValueRange values) {
    mf::ir::ReturnOp::create(builder, loc, values);
  }

  //===--------------------------------------------------------------------===//
  // Parameters
  //===--------------------------------------------------------------------===//

  /// Adds a parameter of the open Cell, and reads it in the layer.
  mlir::Value addParameter(llvm::StringRef leaf, llvm::ArrayRef<int64_t> shape,
                           DType type, mf::ir::InitAttr init,
                           const ParameterTraits &traits);
  /// Returns the value of a parameter of the model.
  mlir::Value getParameter(llvm::StringRef symbol);
  mf::ir::InitAttr getInit(mf::ir::InitKind kind, double value = 0.0,
                           double scale = 1.0);
  /// Returns the initial value of weights with this number of inputs and
  /// outputs.
  mf::ir::InitAttr getWeightInit(int64_t numInputs, int64_t numOutputs);
  /// Add statistics in fp32 that are updated at the end of a step: the bias of
  /// a router's scores, [experts], and the share of each row's choices in the
  /// last micro-batch, [rows, experts].
  mlir::Value addLoadBias(llvm::StringRef leaf, int64_t numExperts,
                          const LoadBias &bias);
  mlir::Value addLoadRecord(llvm::StringRef leaf, llvm::ArrayRef<int64_t> shape,
                            std::optional<double> capacityShare);
  /// The largest logit of each head of attention in a step.
  mf::ir::GetParamOp addLargestLogits(llvm::StringRef leaf);

  //===--------------------------------------------------------------------===//
  // Operators; `leaf` may have several components
  //===--------------------------------------------------------------------===//

  /// Returns the value itself if it already has the type. A second cast of a
  /// value to the same type returns the first one, as after MindSpore's common
  /// subexpression elimination.
  mlir::Value cast(mlir::Value value, DType type, llvm::StringRef leaf);
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> shape,
                      llvm::StringRef leaf);
  mlir::Value transpose(mlir::Value value, llvm::ArrayRef<int64_t> perm,
                        llvm::StringRef leaf);
  /// Elements `start` to `start + size` of the last dimension.
  mlir::Value sliceLast(mlir::Value value, int64_t start, int64_t size,
                        llvm::StringRef leaf);
  /// Elements `start` to `start + size` of dimension `axis`.
  mlir::Value slice(mlir::Value value, int64_t axis, int64_t start,
                    int64_t size, llvm::StringRef leaf);
  /// Returns token ids [batch, sequence], each the one `distance` tokens later,
  /// or `fill` after the last.
  mlir::Value shiftTokens(mlir::Value tokens, int64_t distance, int64_t fill);
  mlir::Value concatLast(mlir::ValueRange values, llvm::StringRef leaf);
  mlir::Value add(mlir::Value lhs, mlir::Value rhs, llvm::StringRef leaf);
  mlir::Value multiply(mlir::Value lhs, mlir::Value rhs, llvm::StringRef leaf);
  mlir::Value negate(mlir::Value value, llvm::StringRef leaf);
  mlir::Value scale(mlir::Value value, double factor, llvm::StringRef leaf);
  mlir::Value addScalar(mlir::Value value, double scalar, llvm::StringRef leaf);
  /// Sums over dimensions, which disappear.
  mlir::Value reduceSum(mlir::Value value, llvm::ArrayRef<int64_t> axes,
                        llvm::StringRef leaf);
  mlir::Value cumsum(mlir::Value value, int64_t axis, llvm::StringRef leaf);
  mlir::Value remainder(mlir::Value value, int64_t divisor,
                        llvm::StringRef leaf);
  mlir::Value floorDivide(mlir::Value value, int64_t divisor,
                          llvm::StringRef leaf);
  /// Returns 1 where the comparison with a constant holds, else 0.
  mlir::Value compare(mlir::Value value, mf::ir::Comparison comparison,
                      double scalar, llvm::StringRef leaf);
  mlir::Value castToIndex(mlir::Value value, llvm::StringRef leaf);
  /// Returns the smaller one of the value and `limit`, and with `bothSides` at
  /// least -`limit`. No gradient flows where the limit is the result.
  mlir::Value limit(mlir::Value value, double limit, bool bothSides,
                    llvm::StringRef leaf);
  /// Returns silu(gate) * up with the model's limit of both, in fp32; the two
  /// operators have names of their own.
  mlir::Value addLimitedProduct(mlir::Value gate, mlir::Value up,
                                llvm::StringRef activation,
                                llvm::StringRef product);
  /// Drops a share of the elements at random. Returns the value itself if the
  /// share is 0. If a Cell does so several times, each time draws its own bits.
  mlir::Value drop(mlir::Value value, double rate, llvm::StringRef leaf);
  /// For each token, returns the start position of its document, [batch,
  /// sequence].
  mlir::Value addDocumentStarts();
  /// Causal attention in tiles, with the model's dropout of probabilities and
  /// within its documents.
  /// Heads are [batch, heads, sequence, head dimension]; `slopes` of ALiBi may
  /// be null. `largestLogits`, if not null, is a statistic that keeps them.
  mlir::Value addFlashAttention(mlir::Value query, mlir::Value key,
                                mlir::Value value, double scale,
                                mlir::Value slopes, llvm::StringRef leaf,
                                mlir::Value largestLogits = {});

  /// Creates an operator of the open Cell.
  template <typename OpT, typename... Args>
  OpT create(llvm::StringRef leaf, Args &&...args) {
    OpT op = OpT::create(builder, loc, std::forward<Args>(args)...);
    op.setCellName(prefix + leaf.str());
    if (kernel)
      op->setDiscardableAttr(mf::ir::TrainerKernel::attributeName, kernel);
    return op;
  }

  //===--------------------------------------------------------------------===//
  // Cells that all families share
  //===--------------------------------------------------------------------===//

  /// Linear: input, weight and bias in the compute type, input * weight^T.
  mlir::Value addLinear(mlir::Value input, int64_t outSize,
                        const LinearTraits &traits);
  /// RMSNorm or LayerNorm over the last dimension in the norm's type; back in
  /// the input's.
  mlir::Value addNorm(mlir::Value input);

  const ModelSpec &spec;
  const FamilyRecord &family;
  const OperatorNames &names;
  /// Facts of the body layer.
  FactSet facts;
  /// The body layer's number, from 0.
  int64_t layerIndex = 0;

private:
  /// Creates an operator without marks whose result has the type of `value`.
  template <typename OpT, typename... Args>
  mlir::Value createUnmarked(llvm::StringRef leaf, mlir::Value value,
                             Args &&...args) {
    return create<OpT>(leaf, value.getType(), value,
                       std::forward<Args>(args)..., mlir::StringAttr(),
                       mf::ir::RecomputeKindAttr(), mf::ir::SwapAttr())
        .getResult();
  }
  mlir::Value addNormOperator(mlir::Value input);
  /// Adds a statistic in fp32, which begins with zeros.
  mlir::Value addStatistic(llvm::StringRef leaf, llvm::ArrayRef<int64_t> shape,
                           ParameterTraits traits);
  /// Makes the type of the layer that of its arguments.
  void updateType();
  /// Returns the values on which random bits depend. The first call adds them
  /// as the last argument of the layer.
  mlir::Value getDraw();
  /// Returns random bits for a tensor with the shape of `value`, or with
  /// `columns` columns if that is not 0.
  mlir::Value drawMask(mlir::Value value, double rate, llvm::StringRef leaf,
                       int64_t columns = 0);
  mlir::Type getType(llvm::ArrayRef<int64_t> shape, DType type);
  mlir::Value castTo(mlir::Value value, mlir::Type type, llvm::StringRef leaf);

  mlir::OpBuilder builder;
  mlir::Location loc;
  mf::ir::LayerOp layer;
  std::string parameterPrefix;
  std::string prefix;   ///< The names of the open Cells, with a dot at the end.
  size_t bodyStart = 0; ///< The part of it outside of the body layer.
  mlir::DictionaryAttr kernel;
  llvm::DenseMap<std::pair<mlir::Value, mlir::Type>, mlir::Value> casts;
  mlir::Value tokens, draw;
  /// For each name of a dropout, the number of its uses.
  llvm::StringMap<unsigned> numDropouts;
};

/// Returns the dimensions of a tensor value.
inline llvm::ArrayRef<int64_t> getShape(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType()).getShape();
}

} // namespace mf

#endif // MF_LIB_FRONTEND_IMPORT_CELLBUILDER_H
