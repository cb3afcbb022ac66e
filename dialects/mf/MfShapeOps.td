//===- MfShapeOps.td - Operators that move elements ------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_SHAPE_OPS_TD
#define MF_SHAPE_OPS_TD

include "dialects/mf/MfOpBase.td"

def Mf_ReshapeOp : Mf_ComputeOp<"reshape", "",
    (ins Mf_AnyTensor:$input), (ins), (outs Mf_AnyTensor:$result),
    [Mf_Differentiable, Mf_OwnShardingRule]> {
  let trainer = [{ tape.viewReshaped(getResult(), getInput()); }];
  let summary = "the same elements in another shape; a view";
  let description = [{
    Numbers and order of elements stay the same. A reshape launches no kernel: its result
    is the memory of its input.

    ```mlir
    %rows = mf.reshape %logits : (tensor<1x8x16xf32>) -> tensor<8x16xf32>
    ```
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Mf_BarrierOp : Mf_ComputeOp<"barrier", "",
    (ins Mf_KeptTensor:$input, Variadic<Mf_AnyTensor>:$after), (ins),
    (outs Mf_KeptTensor:$result), [AllTypesMatch<["input", "result"]>]> {
  let trainer = [{ tape.view(getResult(), getInput()); }];
  let summary = "the same value, not before others are known; a view";
  let description = [{
    Recomputed operators read results of barriers. A clone of a forward operator
    on a barrier's result is a different value than the original, so that
    common-subexpression elimination does not merge the two and keep the original
    alive. The clone also cannot run before the gradients `after` exist.
  }];
}

def Mf_TransposeOp : Mf_ComputeOp<"transpose", "aclnnPermute",
    (ins Mf_AnyTensor:$input), (ins DenseI64ArrayAttr:$perm),
    (outs Mf_AnyTensor:$result), [Mf_Differentiable]> {
  let trainer = [{ tape.viewPermuted(getResult(), getInput(), getPerm()); }];
  let summary = "permutation of dimensions";
  let description = [{Dimension `i` of the result is dimension `perm[i]` of the input.}];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$input,
                                 "::llvm::ArrayRef<int64_t>":$perm)>];
}

def Mf_SliceOp : Mf_ComputeOp<"slice", "aclnnSliceV2",
    (ins Mf_AnyTensor:$input),
    (ins DenseI64ArrayAttr:$starts, DenseI64ArrayAttr:$sizes),
    (outs Mf_AnyTensor:$result),
    [Mf_Differentiable, Mf_ShardableWith<["localize", "takePiece"]>]> {
  let trainer = [{ tape.view(getResult(), getInput()); }];
  let summary = "a contiguous part of each dimension";
  let description = [{
    Of dimension d the result has `sizes[d]` elements from `starts[d]` on.

    ```mlir
    %part = mf.slice %x {sizes = array<i64: 2, 1, 2>, starts = array<i64: 0, 2, 2>} : (tensor<2x3x4xf32>) -> tensor<2x1x2xf32>
    ```
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$input,
                                 "::llvm::ArrayRef<int64_t>":$starts,
                                 "::llvm::ArrayRef<int64_t>":$sizes)>];
}

def Mf_PadOp : Mf_ComputeOp<"pad", "aclnnConstantPadNd",
    (ins Mf_AnyTensor:$input),
    (ins DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high,
         OptionalAttr<I64Attr>:$value),
    (outs Mf_AnyTensor:$result), [Mf_Differentiable]> {
  let summary = "a tensor with zeros, or another value, around it";
  let description = [{
    Dimension i gets `low[i]` elements in front and `high[i]` behind. They are 0, or
    the integer `value`. mf.pad is the gradient of mf.slice, and mf.slice that of
    mf.pad.

    ```mlir
    %y = mf.pad %x {high = array<i64: 0, 1>, low = array<i64: 0, 0>, value = -100 : i64} : (tensor<2x3xi32>) -> tensor<2x4xi32>
    ```
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$input,
                                 "::llvm::ArrayRef<int64_t>":$low,
                                 "::llvm::ArrayRef<int64_t>":$high,
                                 CArg<"int64_t", "0">:$value)>];
}

def Mf_ConcatOp : Mf_ComputeOp<"concat", "aclnnCat",
    (ins Variadic<Mf_AnyTensor>:$inputs), (ins I64Attr:$axis),
    (outs Mf_AnyTensor:$result), [Mf_Differentiable]> {
  let summary = "tensors one after another along a dimension";
  let description = [{
    The inputs have the same shape except along dimension `axis`.

    ```mlir
    %both = mf.concat %a, %b {axis = ...} : ...
    ```
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$inputs,
                                 "int64_t":$axis)>];
}

def Mf_SplitOp : Mf_ComputeOp<"split", "",
    (ins Mf_FloatTensor:$input), (ins I64Attr:$axis),
    (outs Variadic<Mf_FloatTensor>:$parts),
    [Mf_DifferentiableWith<["isDifferentiable"]>, Mf_OwnShardingRule],
    ["isView", "emitInstructions"]> {
  let trainer = [{ 
    for (::mlir::Value part : getParts())
      tape.view(part, getInput());
   }];
  let summary = "the parts of a tensor along a dimension; undoes mf.concat";
  let description = [{
    The sizes of the parts on `axis` are those of the result types. A gradient flows
    through each part; that of a part that no loss depends on is zero.

    ```mlir
    %parts:2 = mf.split %x {axis = 2 : i64}
        : (tensor<2x3x4xf32>) -> (tensor<2x3x1xf32>, tensor<2x3x3xf32>)
    ```
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = trainerDecl # [{
    /// Returns the offsets at which the parts begin on the axis.
    ::llvm::SmallVector<int64_t> getOffsets();
  }];
}

def Mf_RepeatOp : Mf_ComputeOp<"repeat", "aclnnRepeatInterleaveIntWithDim",
    (ins Mf_FloatTensor:$input), (ins I64Attr:$axis, I64Attr:$repeats),
    (outs Mf_FloatTensor:$result), [Mf_Differentiable, Mf_OwnShardingRule]> {
  let summary = "each slice along a dimension repeated in place";
  let description = [{
    Each slice is followed directly by its `repeats` - 1 copies. The operator gives
    every query head of grouped-query attention its key and value head (`tile_kv`
    of MindSpore Transformers).
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "int64_t":$axis,
                                 "int64_t":$repeats)>];
}

def Mf_ReduceSumOp : Mf_ComputeOp<"reduce_sum", "aclnnReduceSum",
    (ins Mf_FloatTensor:$input), (ins DenseI64ArrayAttr:$axes),
    (outs Mf_FloatTensor:$result), [Mf_Differentiable]> {
  let summary = "sum over dimensions, which disappear";
  let description = [{
    Sums over the dimensions `axes`. The result does not have these dimensions.

    ```mlir
    %sums = mf.reduce_sum %x {axes = array<i64: 1>} : (tensor<8x4xf32>) -> tensor<8xf32>
    ```
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$input,
                                 "::llvm::ArrayRef<int64_t>":$axes)>];
}

def Mf_ReduceMaxOp : Mf_ComputeOp<"reduce_max", "aclnnAmax",
    (ins Mf_FloatTensor:$input), (ins DenseI64ArrayAttr:$axes),
    (outs Mf_FloatTensor:$result)> {
  let summary = "largest element over dimensions, which disappear";
  let description = [{
    The largest element over the dimensions `axes`. The result does not have these
    dimensions.

    ```mlir
    %largest = mf.reduce_max %x {axes = array<i64: 0, 2>} : (tensor<2x3x4xf32>) -> tensor<3xf32>
    ```
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$input,
                                 "::llvm::ArrayRef<int64_t>":$axes)>];
}

#endif // MF_SHAPE_OPS_TD
