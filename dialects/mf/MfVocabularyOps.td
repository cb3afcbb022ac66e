//===- MfVocabularyOps.td - Embedding and loss -----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_VOCABULARY_OPS_TD
#define MF_VOCABULARY_OPS_TD

include "dialects/mf/MfOpBase.td"

// Operators on a vocabulary whose rows may be sharded over the ranks of a
// group, which differ only in the coordinates on `vocab_axes` of the module's
// mesh. A rank holds the rows from `first_row` on, which is a single number
// that it reads from a table.
class Mf_VocabularyOp<string mnemonic, dag operands, dag attributes, dag outputs,
                      list<Trait> traits = [], list<string> overridden = []>
    : Mf_ComputeOp<mnemonic, "",
        !con(operands, (ins Optional<Mf_IndexTensor>:$first_row)),
        !con(attributes, (ins OptionalAttr<StrArrayAttr>:$vocab_axes)), outputs,
        traits, !listconcat(["getKernelAttributes", "isView"], overridden)> {
  let extraClassDefinition = "";
  let hasVerifier = 1;
}

def Mf_EmbeddingOp : Mf_VocabularyOp<"embedding",
    (ins Mf_FloatTensor:$table, Mf_IndexTensor:$indices), (ins),
    (outs Mf_FloatTensor:$result),
    [Mf_Differentiable, Mf_OwnShardingRuleWith<["localize"]>]> {
  let trainer = [{ 
    tape.keep(getIndices());
    // The gradient of the gather works on the table and on the rows in fp32.
    tape.useWorkspace(0, tape.getBytes(getTable()) +
                             3 * tape.getBytes(getResult()) +
                             ::mf::ir::scatterWorkspace + 1536);
   }];
  let summary = "rows of a table by index";
  let description = [{
    An index outside of the table reads zeros. With `vocab_axes` and `first_row`
    the table is this rank's part, and the result is a partial sum over these
    axes, in which all ranks but one have zeros.

    ```mlir
    %x = mf.embedding %table, %tokens, %first {name = "tok_embeddings.gather", vocab_axes = ["mp"]}
        : (tensor<8x4xf32>, tensor<2x3xi32>, tensor<1xi32>) -> tensor<2x3x4xf32>
    ```
  }];
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$table,
                                 "::mlir::Value":$indices), [{
    build($_builder, $_state, result, table, indices, ::mlir::Value(), nullptr,
          nullptr, nullptr, nullptr);
  }]>];
}

def Mf_EmbeddingGradOp : Mf_VocabularyOp<"embedding_grad",
    (ins Mf_FloatTensor:$output_gradient, Mf_IndexTensor:$indices), (ins),
    (outs Mf_FloatTensor:$table_gradient)> {
  let summary = "gradient of mf.embedding with respect to its table";
  let description = [{
    Adds each row of the output's gradient to the row of the table that `indices` names.

    ```mlir
    %dtable = mf.embedding_grad %dy, %tokens : (tensor<2x8x16xf32>, tensor<2x8xi32>) -> tensor<100x16xf32>
    ```
  }];
}

def Mf_CrossEntropyOp : Mf_VocabularyOp<"cross_entropy",
    (ins Mf_FloatTensor:$logits, Mf_IndexTensor:$labels,
         Optional<Mf_IndexTensor>:$counted),
    (ins DefaultValuedAttr<I64Attr, "-100">:$ignore_index,
         OptionalAttr<StrArrayAttr>:$token_axes, UnitAttr:$own_means),
    (outs Mf_FloatTensor:$loss, Mf_FloatTensor:$logsumexp,
          Mf_FloatTensor:$count),
    [Mf_Differentiable, Mf_OwnShardingRuleWith<["localize", "takePiece"]>,
     AttrSizedOperandSegments],
    ["getEngine", "getFlops", "emitInstructions"]> {
  let trainer = [{ ::mf::ir::recordOnTape(*this, tape); }];
  let summary = "mean negative log-likelihood of labels";
  let description = [{
    Logits are [rows, classes], labels [rows]. Rows whose label is
    `ignore_index` do not count. The softmax is in fp32. `loss` and `count` are
    scalars, `logsumexp` is [rows]; loss = sum / (count + 1e-8), as MindSpore
    Transformers divides.

    With `vocab_axes` and `first_row` the logits are those of this rank's classes.
    The ranks exchange maxima, sums of exponentials and the labels' logits, each
    [rows] in fp32. With `token_axes` the rows are those of this rank, and sum and
    count are those of all ranks of these axes. The gradient exchanges nothing.
    With `own_means` the loss is then the mean of the means of these ranks, and
    `count`, [1], is the number of this rank's rows that count, times the number of
    ranks. With `counted`, labels of the whole sequence of which `labels` are a
    piece, the divisor is the number of rows that count in the whole sequence, so
    that the losses of the pieces add up to that of the whole.

    ```mlir
    %loss, %logsumexp, %count = mf.cross_entropy %logits, %labels of %all
        {name = "loss"} : (tensor<3x8xf32>, tensor<3xi32>, tensor<6xi32>)
        -> (tensor<f32>, tensor<3xf32>, tensor<f32>)
    ```

    ```mlir
    %loss, %logsumexp, %count = mf.cross_entropy %logits, %labels, %first
        {name = "loss", token_axes = ["dp"], vocab_axes = ["mp"]}
        : (tensor<6x8xf32>, tensor<6xi32>, tensor<1xi32>)
        -> (tensor<f32>, tensor<6xf32>, tensor<f32>)
    ```
  }];
  let assemblyFormat = [{
    $logits `,` $labels (`of` $counted^)? (`,` $first_row^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$logits,
                                 "::mlir::Value":$labels,
                                 "int64_t":$ignoreIndex)>];
}

def Mf_CrossEntropyGradOp : Mf_VocabularyOp<"cross_entropy_grad",
    (ins Mf_FloatTensor:$loss_gradient, Mf_FloatTensor:$logits,
         Mf_IndexTensor:$labels, Mf_FloatTensor:$logsumexp,
         Mf_FloatTensor:$count),
    (ins DefaultValuedAttr<I64Attr, "-100">:$ignore_index),
    (outs Mf_FloatTensor:$logits_gradient),
    [AllTypesMatch<["logits", "logits_gradient"]>]> {
  let summary = "gradient of mf.cross_entropy with respect to the logits";
  let description = [{
    Computes the gradient of the logits from that of the loss. `logsumexp` and `count` are
    results of `mf.cross_entropy`. Rows with the label `ignore_index` get 0.

    ```mlir
    %dlogits = mf.cross_entropy_grad %dloss, %logits, %labels, %logsumexp, %count {ignore_index = 0 : i64} : (tensor<f32>, tensor<16x100xbf16>, tensor<16xi32>, tensor<16xf32>, tensor<f32>) -> tensor<16x100xbf16>
    ```
  }];
}

#endif // MF_VOCABULARY_OPS_TD
