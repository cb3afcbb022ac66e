//===- MfAttentionOps.td - Attention, documents, prefixes ------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_ATTENTION_OPS_TD
#define MF_ATTENTION_OPS_TD

include "dialects/mf/MfOpBase.td"

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
  let trainer = [{ 
    tape.keepContiguous(getQuery());
    tape.keepContiguous(getKey());
    tape.keepContiguous(getValue());
    tape.keep(getResult());
    for (::mlir::Value rows : {getSoftmaxMax(), getSoftmaxSum()}) {
      tape.make(rows, ::mf::ir::flashAttentionRowWidth);
      tape.keep(rows);
    }
   }];
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
  let extraClassDeclaration = trainerDecl # [{
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

#endif // MF_ATTENTION_OPS_TD
