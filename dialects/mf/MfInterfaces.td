//===- MfInterfaces.td - Interfaces for passes -------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_INTERFACES_TD
#define MF_INTERFACES_TD

include "mlir/IR/OpBase.td"

def Mf_ComputeOpInterface : OpInterface<"ComputeOpInterface"> {
  let cppNamespace = "::mf::ir";
  let description = [{
    An operator of the model or of its backward graph. The interface tells its
    path in the Cell tree, whether it is recomputed or swapped, and which kernel
    computes it.
  }];
  let methods = [
    InterfaceMethod<[{
      The aclnn kernel that computes the results from the operands, such as
      `aclnnMatmul`; empty for a view, which costs nothing because its result
      is the operand's memory.
    }], "::llvm::StringRef", "getKernelName">,
    InterfaceMethod<[{
      The kernel's attributes. By default these are all inherent attributes
      except the path in the Cell tree and the marks.
    }], "::mlir::DictionaryAttr", "getKernelAttributes", (ins), [{}], [{
      return ::mf::ir::getDefaultKernelAttributes($_op);
    }]>,
    InterfaceMethod<[{
      The engine that the kernel occupies, from its signature; the vector engine
      for a view.
    }], "::mf::Engine", "getEngine", (ins), [{}], [{
      return ::mf::ir::getKernelEngine($_op.getKernelName());
    }]>,
    InterfaceMethod<[{
      Floating-point operations of one run, from the kernel's signature, a
      multiply-add counted as two; none for a view.
    }], "int64_t", "getFlops", (ins), [{}], [{
      return ::mf::ir::getKernelFlops($_op, $_op.getKernelName(),
                                      $_op.getKernelAttributes());
    }]>,
    InterfaceMethod<[{
      Emits the instructions that compute the results, unless the operator is a
      view. By default this is one launch of its kernel on the buffers of the
      operands and results.
    }], "void", "emitInstructions", (ins "::mf::ir::LaunchEmitter &":$emitter),
      [{}], [{ ::mf::ir::emitKernel($_op, emitter); }]>,
    InterfaceMethod<"True if the result is the first operand's memory.",
      "bool", "isView", (ins), [{}], [{
      return $_op.getKernelName().empty();
    }]>,
    InterfaceMethod<[{
      True if running the operator a second time gives the same bits. Random
      operators and those with effects answer false and are never recomputed.
    }], "bool", "mayRecompute", (ins), [{}], [{ return true; }]>,
    InterfaceMethod<[{
      Tells the tape what the trainer of the YAML keeps of the operator from
      forward to backward, and what it holds beside that.
    }], "void", "recordOnTape", (ins "::mf::ir::Tape &":$tape), [{}],
      [{ return; }]>,
    InterfaceMethod<"The dotted path in the Cell tree, or empty if it is unknown.",
      "::llvm::StringRef", "getCellName", (ins), [{}], [{
      ::std::optional<::llvm::StringRef> name = $_op.getName();
      return name.value_or(::llvm::StringRef());
    }]>,
    InterfaceMethod<"Sets the dotted path in the Cell tree.",
      "void", "setCellName", (ins "::llvm::StringRef":$name), [{}], [{
      $_op.setNameAttr(::mlir::StringAttr::get($_op.getContext(), name));
    }]>,
    InterfaceMethod<"The recompute mark, or none.",
      "::std::optional<::mf::ir::RecomputeKind>", "getRecomputeMark", (ins), [{}], [{
      return $_op.getRecompute();
    }]>,
    InterfaceMethod<"Sets or, with none, removes the recompute mark.",
      "void", "setRecomputeMark",
      (ins "::std::optional<::mf::ir::RecomputeKind>":$kind), [{}], [{
      if (kind)
        $_op.setRecomputeAttr(
            ::mf::ir::RecomputeKindAttr::get($_op.getContext(), *kind));
      else
        $_op.removeRecomputeAttr();
    }]>,
    InterfaceMethod<"The prefetch distance of the swap mark, or none.",
      "::std::optional<int64_t>", "getSwapMark", (ins), [{}], [{
      if (::mf::ir::SwapAttr mark = $_op.getSwapAttr())
        return mark.getDistance();
      return ::std::nullopt;
    }]>,
    InterfaceMethod<"Sets or, with none, removes the swap mark.",
      "void", "setSwapMark", (ins "::std::optional<int64_t>":$distance), [{}], [{
      if (distance)
        $_op.setSwapAttr(
            ::mf::ir::SwapAttr::get($_op.getContext(), *distance));
      else
        $_op.removeSwapAttr();
    }]>
  ];
}

def Mf_DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::mf::ir";
  let description = [{
    How an operator is differentiated. The values of forward that its gradient
    uses are the ones that backward needs, so they may become residuals.
  }];
  let methods = [
    InterfaceMethod<[{
      Builds the gradients of the operands and stores them to `operandGradients`,
      which has one null value per operand at the call. `resultGradients` has the
      gradient of each result, or null if the result is not differentiable or no
      loss depends on it; at least one is not null. `needed` says for which
      operands a gradient is required. The others may stay null.
    }], "void", "buildGradient",
      (ins "::mlir::OpBuilder &":$builder,
           "::mlir::ValueRange":$resultGradients,
           "::llvm::ArrayRef<bool>":$needed,
           "::llvm::MutableArrayRef<::mlir::Value>":$operandGradients)>,
    InterfaceMethod<[{
      Whether gradients flow through a result. They do not flow through a result
      that is only computed for backward. By default only the first result has a
      gradient.
    }], "bool", "isDifferentiable", (ins "unsigned":$result), [{}],
      [{ return result == 0; }]>
  ];
}

def Mf_SavedFormOpInterface : OpInterface<"SavedFormOpInterface"> {
  let cppNamespace = "::mf::ir";
  let description = [{
    An operator that does not run again where it is recomputed. Instead forward
    keeps another form of its result, from which backward restores the result.
  }];
  let methods = [
    InterfaceMethod<"The type of the value that is kept.",
      "::mlir::Type", "getSavedType">,
    InterfaceMethod<"Builds the value that is kept, in forward.",
      "::mlir::Value", "save", (ins "::mlir::OpBuilder &":$builder)>,
    InterfaceMethod<"Builds the result from the value that was kept, in backward.",
      "::mlir::Value", "restore",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Value":$saved)>
  ];
}

def Mf_GradientFunctionOpInterface : OpInterface<"GradientFunctionOpInterface"> {
  let cppNamespace = "::mf::ir";
  let description = [{
    A function that computes gradients of parameters. Each gradient is computed
    by exactly one function.
  }];
  let methods = [
    InterfaceMethod<"The stage and chunk that the function belongs to.",
      "::mf::ir::PlacementAttr", "getPlacement">,
    InterfaceMethod<"The names of the parameters.",
      "::mlir::ArrayAttr", "getGradients">
  ];
}

def Mf_ShardingRuleOpInterface : OpInterface<"ShardingRuleOpInterface"> {
  let cppNamespace = "::mf::ir";
  let description = [{
    How an operator runs on parts of its operands, if the record of its kernel
    (`parts` in AscendKernelBase.td) does not define that completely. An operator
    without the interface has the rule of its kernel. Without a kernel it gets
    whole operands on every rank, which is always correct.
  }];
  let methods = [
    InterfaceMethod<[{
      The dimensions of operands and results that must be cut alike. The types at
      the call are those of whole tensors. Emits an error and fails if the record
      of the kernel does not describe the operands.
    }], "::mlir::FailureOr<::mf::ir::ShardingRule>", "getShardingRule", (ins), [{}], [{
      return ::mf::ir::getKernelShardingRule($_op);
    }]>,
    InterfaceMethod<[{
      Changes attributes and operands that describe whole tensors, such as the
      sizes of a slice, to those of a rank's shard. `operands` and `results` have
      the layouts of operands and results, whose types are local already.
    }], "void", "localize",
      (ins "::llvm::ArrayRef<::mf::ir::Layout>":$operands,
           "::llvm::ArrayRef<::mf::ir::Layout>":$results,
           "::mf::ir::LocalTables &":$tables), [{}], [{ return; }]>,
    InterfaceMethod<[{
      Changes attributes and operands that describe the whole sequence to those
      of one piece. Operands and types of results are those of the piece already;
      `whole` has the operands for the whole sequence.
    }], "void", "takePiece", (ins "::mf::ir::WholeOperands &":$whole), [{}],
      [{ return; }]>
  ];
}

def Mf_BoundedRowsOpInterface : OpInterface<"BoundedRowsOpInterface"> {
  let cppNamespace = "::mf::ir";
  let description = [{
    An operator whose number of result rows depends on data. The result has
    memory for a maximum number of rows.
  }];
  let methods = [
    InterfaceMethod<"The maximum number of result rows of each rank.",
      "int64_t", "getRoom">,
    InterfaceMethod<"The number of rows of a rank if all ranks get equally many.",
      "int64_t", "getMeanRows">
  ];
}

def Mf_UpdateOpInterface : OpInterface<"UpdateOpInterface"> {
  let cppNamespace = "::mf::ir";
  let description = [{
    An operator on a stage's parameters, gradients and optimizer state. These
    are not values of the IR, so that the operator itself defines which kernels
    run on them.
  }];
  let methods = [
    InterfaceMethod<"Emits the operator's kernels.",
      "void", "emitLaunches", (ins "::mf::ir::LaunchEmitter &":$emitter)>,
    InterfaceMethod<"The parameters whose gradients it reads or writes.",
      "::llvm::SmallVector<::llvm::StringRef>", "getUsedGradients">
  ];
}

def Mf_GradientReaderOpInterface : OpInterface<"GradientReaderOpInterface"> {
  let cppNamespace = "::mf::ir";
  let description = [{
    An operator of an update that reads gradients and can multiply them by
    scalar factors while it reads. Each element is multiplied by one factor after
    the other, and each product is rounded to the gradient's type, as if an
    `mf.scale_gradients` by each factor came before the operator.
  }];
  let methods = [
    InterfaceMethod<"The factors, in their order.",
      "::mlir::MutableOperandRange", "getFactorsMutable">
  ];
  let verify = [{ return verifyFactors($_op); }];
}

#endif // MF_INTERFACES_TD
