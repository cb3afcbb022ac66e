//===- DiscardableAttributes.h - Of modules and operations ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The attributes of the dialect that operations may have beside those of their
// definitions.
//
//===----------------------------------------------------------------------===//

#ifndef MF_DIALECTS_MF_DISCARDABLEATTRIBUTES_H
#define MF_DIALECTS_MF_DISCARDABLEATTRIBUTES_H

#include "dialects/mf/MfOps.h"

namespace mf::ir {

/// The attribute of a module with a mesh that names a mf::SampleOrder. Without
/// it all ranks read the whole batch.
inline constexpr llvm::StringLiteral sampleOrderAttribute = "mf.sample_order";

/// The attribute of an mf.param that overrides what the model's training
/// configuration defines for all parameters: `mf.sharing = {axes = ["dp"],
/// gathers_again = true, must_divide = false, divides_gradients = false}`.
struct ParameterSharing {
  static constexpr llvm::StringLiteral attributeName = "mf.sharing";

  /// The axes of the ranks over which its storage is sharded, along its
  /// `storage_dim`. Empty if it is not.
  llvm::SmallVector<llvm::StringRef> axes;
  /// On one stage, a layer gathers the parameter for each micro-batch. True if
  /// it is gathered again in backward, false if the gathered value is kept
  /// until then.
  bool gathersAgain = false;
  /// True if a dimension that is not divisible is an error. Otherwise
  /// each rank stores the whole of its part.
  bool mustDivide = false;
  /// True if the gradient is divided by the number of these ranks.
  bool dividesGradients = false;

  static std::optional<ParameterSharing> find(mlir::Operation *param);
  void setOn(mlir::Operation *param) const;
  /// Fails if the attribute has another form or is on another operation.
  static mlir::LogicalResult verify(mlir::Operation *op, mlir::Attribute value);
};

/// The attribute of an mf.param with the type in which layers read it,
/// `mf.kept = bf16`. If the type is narrower than that of the parameter, a rank
/// stores its part in this type in addition to the part that the optimizer
/// updates. A sharded parameter is gathered in this type.
struct KeptType {
  static constexpr llvm::StringLiteral attributeName = "mf.kept";

  /// Returns the type, or null if the parameter has no such attribute.
  static mlir::Type find(mlir::Operation *param);
  static void setOn(mlir::Operation *param, mlir::Type type);
  /// Fails if the attribute has another form or is on another operation.
  static mlir::LogicalResult verify(mlir::Operation *op, mlir::Attribute value);
};

/// The attribute with the number of the unit of a collective on a weight or on
/// its gradient, `mf.unit = 3`. The gathers of a unit are issued together, when
/// the previous unit begins.
struct CollectiveUnit {
  static constexpr llvm::StringLiteral attributeName = "mf.unit";

  static std::optional<int64_t> find(mlir::Operation *op);
  static void setOn(mlir::Operation *op, int64_t unit);
  /// Gives `to` the unit of `from`, if it has one.
  static void copy(mlir::Operation *from, mlir::Operation *to);
  /// Fails if the attribute has another form or is on another operation.
  static mlir::LogicalResult verify(mlir::Operation *op, mlir::Attribute value);
};

/// One of the losses whose sum is the loss of a step. The step reports it apart
/// if it has a name.
struct LossPart {
  /// The attribute of layers, chunks and forward functions with a part for each
  /// loss that they return, in order: `[["lm_loss", 1.0], ["aux_loss", 1.0]]`.
  /// Without it losses have no name.
  static constexpr llvm::StringLiteral attributeName = "mf.losses";

  mlir::StringAttr name;
  /// What 1 of the reported number adds to the loss.
  mlir::FloatAttr unit;
};

/// Returns the parts of a function; empty without the attribute.
llvm::SmallVector<LossPart> findLossParts(mlir::Operation *function);
/// Sets the attribute, unless no part has a name.
void setLossParts(mlir::Operation *function, llvm::ArrayRef<LossPart> parts);
mlir::LogicalResult verifyLossParts(mlir::Operation *op, mlir::Attribute value);

/// Returns the parts with a name of the losses on a stage, each once, in the
/// order of its forward functions.
llvm::SmallVector<LossPart> getLossParts(ModelOp model, int64_t stage);

/// Several operators of a layer that the trainer of the YAML computes in its
/// own way, such as by one fused kernel. The account of the trainer's memory
/// takes the numbers below in place of what the operators would keep. The
/// numbers have no effect on mf's own program.
struct TrainerKernel {
  /// The attribute of each of the operators:
  ///
  /// ```mlir
  /// mf.trainer_kernel = {name = "core_attention", keeps_operands,
  ///                      keeps_results, kept = 1024, forward = 0,
  ///                      backward = 512}
  /// ```
  ///
  /// Operators of one layer with equal attributes are one kernel.
  static constexpr llvm::StringLiteral attributeName = "mf.trainer_kernel";

  /// The name in the layer, under which reports have the kernel.
  llvm::StringRef name;
  /// Whether backward reads the values from outside of the kernel that the
  /// kernel reads, and those of its own that others read.
  bool keepsOperands = false, keepsResults = false;
  /// The bytes on one rank of what the kernel keeps beside these values, and
  /// of what is alive beside all of them in its forward and in its backward.
  int64_t keptBytes = 0, forwardBytes = 0, backwardBytes = 0;

  /// Returns the kernel of an operator; none without the attribute.
  static std::optional<TrainerKernel> find(mlir::Operation *op);
  mlir::DictionaryAttr getAttr(mlir::MLIRContext *context) const;
  static mlir::LogicalResult verify(mlir::Operation *op, mlir::Attribute value);
};

/// The name of the attribute with the certificate of a chunk, and later of its
/// forward function. It is a dictionary in the form that
/// lib/Decode/Certificates.cpp reads (mf/Program/Certificate.h).
inline constexpr llvm::StringLiteral certificateAttribute = "mf.computes";

/// The keys of the YAML from which the importer made a model, with their values
/// as text: a dictionary on the module. If the YAML changes, the model is no
/// longer the one that it describes.
struct ModelSource {
  static constexpr llvm::StringLiteral attributeName = "mf.made_from";

  static llvm::LogicalResult verify(mlir::Operation *op, mlir::Attribute value);
};

} // namespace mf::ir

#endif // MF_DIALECTS_MF_DISCARDABLEATTRIBUTES_H
