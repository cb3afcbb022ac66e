//===- MfCollectiveOps.td - Operators of several ranks ---------*- tablegen -*-===//

#ifndef MF_COLLECTIVE_OPS_TD
#define MF_COLLECTIVE_OPS_TD

include "dialects/mf/MfOpBase.td"

// What the ranks of a group do together: those that differ in the coordinates
// on `axes` of the module's mesh alone.
class Mf_CollectiveOp<string mnemonic, list<Trait> traits = []>
    : Mf_ComputeOp<mnemonic, "", "Communication", (ins Mf_FloatTensor:$input),
                   (ins StrArrayAttr:$axes), (outs Mf_FloatTensor:$result),
                   !listconcat([Mf_Differentiable], traits),
                   ["isView", "getFlops", "emitInstructions"]> {
  let assemblyFormat = [{
    $input `over` $axes attr-dict `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$input,
                                 "::mlir::ArrayAttr":$axes), [{
    $_state.addTypes(result);
    $_state.addOperands(input);
    $_state.addAttribute(getAxesAttrName($_state.name), axes);
  }]>];
}

def Mf_AllReduceOp : Mf_CollectiveOp<"all_reduce", [
    AllTypesMatch<["input", "result"]>]> {
  let summary = "the sum over a group of ranks, on each of them";
  let description = [{
    Sums in the order of ranks, in fp32, and rounds once. Its gradient is an
    all-reduce: a gradient of what is the same on several ranks is a partial sum
    on each of them, as in MindSpore.

    ```mlir
    %y = mf.all_reduce %x over ["mp"] {name = "attention.wo.matmul"}
        : tensor<4x8xf32> -> tensor<4x8xf32>
    ```
  }];
}

def Mf_AllGatherOp : Mf_CollectiveOp<"all_gather"> {
  let summary = "the inputs of a group of ranks side by side, on each of them";
  let description = [{
    Along the first dimension, in the order of ranks. Its gradient is a
    reduce-scatter.

    ```mlir
    %y = mf.all_gather %x over ["mp"] {name = "feed_forward.w1.matmul"}
        : tensor<4x8xf32> -> tensor<8x8xf32>
    ```
  }];
}

def Mf_ReduceScatterOp : Mf_CollectiveOp<"reduce_scatter"> {
  let summary = "a part of the sum over a group of ranks on each of them";
  let description = [{
    The first dimension is cut in the order of ranks. Its gradient is an
    all-gather.

    ```mlir
    %y = mf.reduce_scatter %x over ["mp"] {name = "feed_forward.w2.matmul"}
        : tensor<8x8xf32> -> tensor<4x8xf32>
    ```
  }];
}

#endif // MF_COLLECTIVE_OPS_TD
