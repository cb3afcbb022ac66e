//===- MfNetworkOps.td - Matrix, norm, attention, loss ---------*- tablegen -*-===//

#ifndef MF_NETWORK_OPS_TD
#define MF_NETWORK_OPS_TD

include "dialects/mf/MfOpBase.td"

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

def Mf_MatmulOp : Mf_ComputeOp<"matmul", "aclnnMatmul",
    (ins Mf_FloatTensor:$lhs, Mf_FloatTensor:$rhs),
    (ins DefaultValuedAttr<BoolAttr, "false">:$transpose_a,
         DefaultValuedAttr<BoolAttr, "false">:$transpose_b,
         DefaultValuedAttr<BoolAttr, "false">:$contract_batch),
    (outs Mf_FloatTensor:$result), [Mf_Differentiable]> {
  let summary = "matrix product over the last two dimensions";
  let description = [{
    `lhs` is [..., m, k] and `rhs` [..., k, n]; `transpose_a` and `transpose_b`
    mean that an operand is stored with its last two dimensions swapped. A
    two-dimensional `rhs` is shared by all leading dimensions of `lhs`, as a
    weight is; otherwise the leading dimensions are equal. `contract_batch`,
    with `transpose_a`, sums over the leading dimensions: the gradient of a
    shared weight. Sums in fp32.
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs,
                                 CArg<"bool", "false">:$transposeA,
                                 CArg<"bool", "false">:$transposeB,
                                 CArg<"bool", "false">:$contractBatch)>];
}

//===----------------------------------------------------------------------===//
// Normalisation and softmax
//===----------------------------------------------------------------------===//

def Mf_RmsNormOp : Mf_ComputeOp<"rms_norm", "aclnnRmsNorm",
    (ins Mf_FloatTensor:$input, Mf_FloatTensor:$gamma), (ins F64Attr:$epsilon),
    (outs Mf_FloatTensor:$result, Mf_FloatTensor:$rstd),
    [Mf_Differentiable, AllTypesMatch<["input", "result"]>]> {
  let summary = "root-mean-square normalisation over the last dimension";
  let description = [{
    result = input * rstd * gamma with rstd = 1/sqrt(mean(input^2) + epsilon),
    in fp32; `rstd` has the input's shape without its last dimension
    (Zhang and Sennrich, 2019).
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$gamma,
                                 "double":$epsilon)>];
}

def Mf_RmsNormGradOp : Mf_ComputeOp<"rms_norm_grad", "aclnnRmsNormGrad",
    (ins Mf_FloatTensor:$output_gradient, Mf_FloatTensor:$input,
         Mf_FloatTensor:$rstd, Mf_FloatTensor:$gamma), (ins),
    (outs Mf_FloatTensor:$input_gradient, Mf_FloatTensor:$gamma_gradient),
    [AllTypesMatch<["output_gradient", "input", "input_gradient"]>,
     AllTypesMatch<["gamma", "gamma_gradient"]>]> {
  let summary = "gradients of mf.rms_norm";
}

def Mf_LayerNormOp : Mf_ComputeOp<"layer_norm", "aclnnLayerNorm",
    (ins Mf_FloatTensor:$input, Mf_FloatTensor:$weight, Mf_FloatTensor:$bias),
    (ins F64Attr:$eps),
    (outs Mf_FloatTensor:$result, Mf_FloatTensor:$mean, Mf_FloatTensor:$rstd),
    [Mf_Differentiable, AllTypesMatch<["input", "result"]>,
     AllTypesMatch<["weight", "bias"]>]> {
  let summary = "normalisation over the last dimension";
  let description = [{
    result = (input - mean) * rstd * weight + bias with rstd = 1/sqrt(variance +
    eps), in fp32; `mean` and `rstd` have the input's shape without its last
    dimension (Ba et al., 2016).

    ```mlir
    %y, %mean, %rstd = mf.layer_norm %x, %weight, %bias {..., name = "layernorm1.layer_norm"}
        : (tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>)
        -> (tensor<2x8xf32>, tensor<2xf32>, tensor<2xf32>)
    ```
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$weight,
                                 "::mlir::Value":$bias, "double":$eps)>];
}

def Mf_LayerNormGradOp : Mf_ComputeOp<"layer_norm_grad",
    "aclnnLayerNormBackward",
    (ins Mf_FloatTensor:$output_gradient, Mf_FloatTensor:$input,
         Mf_FloatTensor:$mean, Mf_FloatTensor:$rstd, Mf_FloatTensor:$weight),
    (ins),
    (outs Mf_FloatTensor:$input_gradient,
          Variadic<Mf_FloatTensor>:$factor_gradients),
    [AllTypesMatch<["output_gradient", "input", "input_gradient"]>]> {
  let summary = "gradients of mf.layer_norm";
  let description = [{
    `factor_gradients` are those of weight and bias, or empty if neither is trained.

    ```mlir
    %dx, %dfactors:2 = mf.layer_norm_grad %dy, %x, %mean, %rstd, %weight
        : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2xf32>, tensor<2xf32>,
           tensor<8xf32>) -> (tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>)
    ```
  }];
  let hasVerifier = 1;
}

def Mf_SoftmaxOp : Mf_ComputeOp<"softmax", "aclnnSoftmax",
    (ins Mf_FloatTensor:$input), (ins), (outs Mf_FloatTensor:$result),
    [Mf_Differentiable, SameOperandsAndResultType]> {
  let summary = "softmax over the last dimension";
}

def Mf_SoftmaxGradOp : Mf_ComputeOp<"softmax_grad", "aclnnSoftmaxBackward",
    (ins Mf_FloatTensor:$output_gradient, Mf_FloatTensor:$output), (ins),
    (outs Mf_FloatTensor:$input_gradient), [SameOperandsAndResultType]> {
  let summary = "gradient of mf.softmax, from its result";
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

def Mf_DocumentStartsOp : Mf_ComputeOp<"document_starts", "mfDocumentStarts",
    (ins Mf_IndexTensor:$tokens), (ins I64Attr:$end),
    (outs Mf_IndexTensor:$starts), [SameOperandsAndResultType]> {
  let summary = "for each token the position where its document starts";
  let description = [{
    Tokens and positions are [batch, sequence]. A document starts at the beginning
    of a sequence and after each token `end`, which belongs to the document that it
    ends.

    ```mlir
    %starts = mf.document_starts %tokens {end = 2 : i64, name = "eod_mask"}
        : (tensor<1x16xi32>) -> tensor<1x16xi32>
    ```
  }];
  let hasVerifier = 1;
}

def Mf_DocumentMaskOp : Mf_ComputeOp<"document_mask", "mfDocumentMask",
    (ins Mf_IndexTensor:$starts), (ins F64Attr:$value),
    (outs Mf_FloatTensor:$mask)> {
  let summary = "`value` where a key is before the query's document, else 0";
  let description = [{
    `starts` are [batch, queries]. The mask is [batch, 1, queries, keys] and is
    added to scores.

    ```mlir
    %mask = mf.document_mask %starts {name = "document_mask", value = -1.000000e+04 : f64}
        : (tensor<1x16xi32>) -> tensor<1x1x16x16xf32>
    ```
  }];
  let hasVerifier = 1;
}

def Mf_PrefixPositionsOp : Mf_ComputeOp<"prefix_positions", "mfPrefixPositions",
    (ins Mf_IndexTensor:$tokens), (ins I64Attr:$begin),
    (outs Mf_IndexTensor:$within, Mf_IndexTensor:$behind),
    [AllTypesMatch<["tokens", "within", "behind"]>]> {
  let summary = "positions of tokens in the prefix of their sample and behind it";
  let description = [{
    All tensors are [batch, sequence]. The prefix of a sample ends before its first
    token `begin` and has at least one token. `within` counts from 0 to the last
    position of the prefix and stays constant after it. `behind` is 0 in the prefix
    and counts from 1 after it (Du et al., 2022).

    ```mlir
    %within, %behind = mf.prefix_positions %tokens {begin = 5 : i64, name = "rotary_emb.position_ids"}
        : (tensor<1x16xi32>) -> (tensor<1x16xi32>, tensor<1x16xi32>)
    ```
  }];
  let hasVerifier = 1;
}

def Mf_PrefixMaskOp : Mf_ComputeOp<"prefix_mask", "mfPrefixMask",
    (ins Mf_IndexTensor:$behind), (ins F64Attr:$value),
    (outs Mf_FloatTensor:$mask)> {
  let summary = "`value` where a key is later than the query and behind the prefix, else 0";
  let description = [{
    `behind` is [batch, sequence], as from mf.prefix_positions. The mask, [batch, 1,
    sequence, sequence], is added to scores, so that tokens see the whole prefix.

    ```mlir
    %mask = mf.prefix_mask %behind {name = "masked_fill", value = -1.000000e+04 : f64}
        : (tensor<1x16xi32>) -> tensor<1x1x16x16xf32>
    ```
  }];
  let hasVerifier = 1;
}

// Attention, possibly on a rank that holds a part of the query rows.
class Mf_AttentionOp<string mnemonic, dag operands, dag outputs,
                     list<Trait> traits = []>
    : Mf_ComputeOp<mnemonic, "",
        !con(operands, (ins Optional<Mf_IndexTensor>:$first_query,
                            Optional<Mf_FloatTensor>:$slopes,
                            Optional<Mf_MaskTensor>:$drop_mask,
                            Optional<Mf_IndexTensor>:$starts)),
        (ins F64Attr:$scale, DefaultValuedAttr<BoolAttr, "true">:$causal,
             OptionalAttr<F64Attr>:$rate),
        outputs, !listconcat([AttrSizedOperandSegments], traits), ["isView"]> {
  let extraClassDefinition = "";
}

def Mf_FlashAttentionOp : Mf_AttentionOp<"flash_attention",
    (ins Mf_FloatTensor:$query, Mf_FloatTensor:$key, Mf_FloatTensor:$value),
    (outs Mf_FloatTensor:$softmax_max, Mf_FloatTensor:$softmax_sum,
          Mf_FloatTensor:$result),
    [Mf_DifferentiableWith<["isDifferentiable"]>,
     Mf_OwnShardingRuleWith<["localize"]>]> {
  let summary = "softmax(scale * query * key^T) * value, in tiles";
  let description = [{
    Query is [batch, heads, sequence, head dimension]; key and value may have
    fewer heads, of which each serves a group of query heads. Keeps the row
    maxima and sums of the softmax, [batch, heads, sequence] in fp32, instead
    of the scores (Dao et al., 2022). With `slopes`, [heads] in fp32, slope *
    (key's position - query's) is added to each scaled score (ALiBi, Press et
    al., 2022); slopes are constants and have no gradient.

    With `drop_mask`, [batch, heads, query rows, keys], a probability is divided by
    1 - `rate` where the mask is 1 and replaced by 0 elsewhere. The sums of the
    softmax are those without dropout (Dao et al., 2022).

    With `starts`, [batch, query rows], a query does not see keys before its start,
    which is the first position of its document.

    The query may have fewer rows than key and value: the last ones, or those from
    position `first_query` on, a tensor of one number that a rank of context parallel
    training reads from a table. Each row has the same bits as in the whole.

    ```mlir
    %max, %sum, %y = mf.flash_attention %q, %k, %v from %first {...}
        : (tensor<1x2x4x8xf32>, tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>, tensor<1xi32>)
        -> (tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4x8xf32>)
    ```
  }];
  let assemblyFormat = [{
    $query `,` $key `,` $value (`from` $first_query^)? (`,` $slopes^)?
    (`dropping` $drop_mask^)? (`within` $starts^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$query, "::mlir::Value":$key,
                                 "::mlir::Value":$value, "double":$scale,
                                 "bool":$causal,
                                 CArg<"::mlir::Value", "{}">:$slopes,
                                 CArg<"::mlir::Value", "{}">:$firstQuery)>];
  let extraClassDeclaration = [{
    /// Drops the probabilities at which `mask` is 0. `rate` is their expected
    /// fraction.
    void setDropout(::mlir::Value mask, double rate);
  }];
}

def Mf_FlashAttentionGradOp : Mf_AttentionOp<"flash_attention_grad",
    (ins Mf_FloatTensor:$query, Mf_FloatTensor:$key, Mf_FloatTensor:$value,
         Mf_FloatTensor:$output_gradient, Mf_FloatTensor:$softmax_max,
         Mf_FloatTensor:$softmax_sum, Mf_FloatTensor:$output),
    (outs Mf_FloatTensor:$query_gradient, Mf_FloatTensor:$key_gradient,
          Mf_FloatTensor:$value_gradient),
    [AllTypesMatch<["query", "query_gradient"]>,
     AllTypesMatch<["key", "key_gradient"]>,
     AllTypesMatch<["value", "value_gradient"]>,
     AllTypesMatch<["output", "output_gradient"]>]> {
  let summary = "gradients of mf.flash_attention";
  let description = [{
    If only part of the rows is given, key and value get their contributions.
  }];
  let assemblyFormat = [{
    $query `,` $key `,` $value `,` $output_gradient `,` $softmax_max `,`
    $softmax_sum `,` $output (`from` $first_query^)? (`,` $slopes^)?
    (`dropping` $drop_mask^)? (`within` $starts^)? attr-dict `:`
    functional-type(operands, results)
  }];
}

//===----------------------------------------------------------------------===//
// Fused operators
//===----------------------------------------------------------------------===//

def Mf_RotaryPositionEmbeddingOp : Mf_ComputeOp<"rotary_position_embedding",
    "aclnnRotaryPositionEmbedding",
    (ins Mf_FloatTensor:$input, Mf_FloatTensor:$cosine,
         Mf_FloatTensor:$sine), (ins),
    (outs Mf_FloatTensor:$result),
    [Mf_Differentiable, AllTypesMatch<["input", "result"]>,
     AllTypesMatch<["cosine", "sine"]>]> {
  let summary = "rotary position embedding of the last dimension's halves";
  let description = [{
    The result is x cos + (-second half, first half) sin, in fp32 (Su et al., 2021).
    The tables have the trailing dimensions of the input, of which each may be 1.
    Their type is that of the input or fp32. They have no gradient.

    ```mlir
    %y = mf.rotary_position_embedding %x, %cos, %sin {name = "attention.apply_rotary_emb.rope"}
        : (tensor<1x2x4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<1x2x4x8xf32>
    ```
  }];
  let hasVerifier = 1;
}

def Mf_RotaryPositionEmbeddingGradOp : Mf_ComputeOp<
    "rotary_position_embedding_grad", "aclnnRotaryPositionEmbeddingGrad",
    (ins Mf_FloatTensor:$output_gradient, Mf_FloatTensor:$cosine,
         Mf_FloatTensor:$sine), (ins),
    (outs Mf_FloatTensor:$input_gradient),
    [AllTypesMatch<["output_gradient", "input_gradient"]>]> {
  let summary = "gradient of mf.rotary_position_embedding";
}

def Mf_SwiGluOp : Mf_ComputeOp<"swiglu", "aclnnSwiGlu",
    (ins Mf_FloatTensor:$input), (ins), (outs Mf_FloatTensor:$result),
    [Mf_Differentiable]> {
  let summary = "silu(gate) * up of the two rows of the last two dimensions";
  let description = [{
    `input` is [..., 2, width], the gate before the up projection, and the
    result [..., width] (Shazeer, 2020). A tensor whose last dimension holds both
    halves has an input of this shape as a view.

    ```mlir
    %y = mf.swiglu %x {name = "feed_forward.swiglu"}
        : (tensor<3x2x8xf32>) -> tensor<3x8xf32>
    ```
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$input)>];
}

def Mf_SwiGluGradOp : Mf_ComputeOp<"swiglu_grad", "aclnnSwiGluGrad",
    (ins Mf_FloatTensor:$output_gradient, Mf_FloatTensor:$input), (ins),
    (outs Mf_FloatTensor:$input_gradient),
    [AllTypesMatch<["input", "input_gradient"]>]> {
  let summary = "gradient of mf.swiglu";
}

//===----------------------------------------------------------------------===//
// Embedding and loss
//===----------------------------------------------------------------------===//

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
}

#endif // MF_NETWORK_OPS_TD
