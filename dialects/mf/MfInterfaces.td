//===- MfInterfaces.td - Interfaces for passes -------------*- tablegen -*-===//

#ifndef MF_INTERFACES_TD
#define MF_INTERFACES_TD

include "mlir/IR/OpBase.td"

def Mf_ComputeOpInterface : OpInterface<"ComputeOpInterface"> {
  let cppNamespace = "::mf::ir";
  let description = [{
    An operator of the model or of its backward graph: where it stands in the
    Cell tree, whether it is recomputed or swapped, and what the device runs for
    it.
  }];
  let methods = [
    InterfaceMethod<[{
      The aclnn kernel that computes the results from the operands, such as
      `aclnnMatmul`; empty for a view, which costs nothing because its result
      is the operand's memory.
    }], "::llvm::StringRef", "getKernelName">,
    InterfaceMethod<[{
      The kernel's attributes. By default all inherent attributes but the place
      in the Cell tree and the marks.
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
      Emits what computes the results, unless the operator is a view: by default
      one launch of its kernel on the buffers of the operands and results.
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
    InterfaceMethod<"Dotted place in the Cell tree; empty if unknown.",
      "::llvm::StringRef", "getCellName", (ins), [{}], [{
      ::std::optional<::llvm::StringRef> name = $_op.getName();
      return name.value_or(::llvm::StringRef());
    }]>,
    InterfaceMethod<"Sets the dotted place in the Cell tree.",
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
    How an operator differentiates. Which values its gradient uses is what
    backward needs from forward, so it decides what may become a residual.
  }];
  let methods = [
    InterfaceMethod<[{
      Builds the gradients of the operands. `resultGradients` has one value per
      result: its gradient, and null for a result that is not differentiable or
      that no loss depends on; at least one is not null.
      `needed` says which operands want a gradient; the others may be left
      null. `operandGradients` comes with one null value per operand.
    }], "void", "buildGradient",
      (ins "::mlir::OpBuilder &":$builder,
           "::mlir::ValueRange":$resultGradients,
           "::llvm::ArrayRef<bool>":$needed,
           "::llvm::MutableArrayRef<::mlir::Value>":$operandGradients)>,
    InterfaceMethod<[{
      Whether gradients flow through a result. What is only kept for backward
      has none.
    }], "bool", "isDifferentiable", (ins "unsigned":$result), [{}],
      [{ return result == 0; }]>
  ];
}

def Mf_SavedFormOpInterface : OpInterface<"SavedFormOpInterface"> {
  let cppNamespace = "::mf::ir";
  let description = [{
    An operator that, where it is recomputed, is not run again: forward makes
    another form of its result, which is kept, and backward makes the result of
    that.
  }];
  let methods = [
    InterfaceMethod<"The type of what is kept.",
      "::mlir::Type", "getSavedType">,
    InterfaceMethod<"Makes what is kept; runs in forward.",
      "::mlir::Value", "save", (ins "::mlir::OpBuilder &":$builder)>,
    InterfaceMethod<"Makes the result of what was kept; runs in backward.",
      "::mlir::Value", "restore",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Value":$saved)>
  ];
}

def Mf_GradientFunctionOpInterface : OpInterface<"GradientFunctionOpInterface"> {
  let cppNamespace = "::mf::ir";
  let description = [{
    A function that makes gradients of parameters, of which each is made by one
    function.
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
    How an operator runs on parts of its operands where the record of its kernel
    (`parts` in AscendKernelBase.td) does not say all of it. One without the
    interface has the rule of its kernel; without a kernel it gets whole operands
    on every rank, which is always right.
  }];
  let methods = [
    InterfaceMethod<[{
      Which dimensions of operands and results must be cut alike, by factors.
      Types are those of whole tensors.
    }], "::mf::ir::ShardingRule", "getShardingRule", (ins), [{}], [{
      return ::mf::ir::getKernelShardingRule($_op);
    }]>,
    InterfaceMethod<[{
      Changes attributes and operands that say something about whole tensors,
      such as the sizes of a slice, to those of a rank. Layouts are those of
      operands and results, whose types are local already.
    }], "void", "localize",
      (ins "::llvm::ArrayRef<::mf::ir::Layout>":$operands,
           "::llvm::ArrayRef<::mf::ir::Layout>":$results,
           "::mf::ir::LocalTables &":$tables), [{}], [{ return; }]>,
    InterfaceMethod<[{
      Changes what says something about whole tensors to a piece of the
      sequence. Operands and types of results are those of the piece already;
      `whole` has those of the whole sequence.
    }], "void", "takePiece", (ins "::mf::ir::WholeOperands &":$whole), [{}],
      [{ return; }]>
  ];
}

def Mf_BoundedRowsOpInterface : OpInterface<"BoundedRowsOpInterface"> {
  let cppNamespace = "::mf::ir";
  let description = [{
    An operator whose result has as many rows as data says, up to a bound for
    which there is memory.
  }];
  let methods = [
    InterfaceMethod<"The rows for which the result has room, of each rank.",
      "int64_t", "getRoom">,
    InterfaceMethod<"The rows that come to a rank if all get as many.",
      "int64_t", "getMeanRows">
  ];
}

def Mf_UpdateOpInterface : OpInterface<"UpdateOpInterface"> {
  let cppNamespace = "::mf::ir";
  let description = [{
    An operator on a stage's parameters, gradients and optimizer state, which
    are not values of the IR: it says itself which kernels run on them.
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
    An operator of an update that reads gradients, and can do so times factors:
    scalars by which each element is multiplied, by one after the other, each
    product rounded to the gradient's type. That is what it would read behind an
    `mf.scale_gradients` by each of them.
  }];
  let methods = [
    InterfaceMethod<"The factors, in their order.",
      "::mlir::MutableOperandRange", "getFactorsMutable">
  ];
  let verify = [{ return verifyFactors($_op); }];
}

#endif // MF_INTERFACES_TD
