//===- MfAttributes.td - Attributes of the mf dialect ----------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_ATTRIBUTES_TD
#define MF_ATTRIBUTES_TD

include "dialects/mf/MfDialect.td"
include "dialects/mf/MfLayout.td"
include "dialects/mf/MfMesh.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class Mf_Attr<string className, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Mf_Dialect, className, traits> {
  let mnemonic = attrMnemonic;
}

class Mf_Enum<string enumName, string enumSummary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<enumName, enumSummary, cases> {
  let cppNamespace = "::mf::ir";
  let genSpecializedAttr = 0;
}

// A double that is printed with all digits, so that it reads back as the same
// number.
class Mf_Double<string default = "">
    : AttrOrTypeParameter<"::llvm::APFloat", ""> {
  let parser = "::mf::ir::parseDouble($_parser)";
  let printer = "$_printer.printFloat($_self)";
  let comparator = "$_lhs.bitwiseIsEqual($_rhs)";
  let defaultValue = default;
}

//===----------------------------------------------------------------------===//
// Layers and marks of operators
//===----------------------------------------------------------------------===//

def Mf_LayerKind : Mf_Enum<"LayerKind", "where a layer stands in the model", [
  I32EnumAttrCase<"Embedding", 0, "embedding">,
  I32EnumAttrCase<"Body", 1, "body">,
  I32EnumAttrCase<"Head", 2, "head">
]>;
def Mf_LayerKindAttr : EnumAttr<Mf_Dialect, Mf_LayerKind, "layer_kind"> {
  let assemblyFormat = "$value";
}

def Mf_RecomputeKind : Mf_Enum<"RecomputeKind", "why an operator is recomputed", [
  I32EnumAttrCase<"Full", 0, "full">,
  I32EnumAttrCase<"Select", 1, "select">,
  I32EnumAttrCase<"Preset", 2, "preset">,
  I32EnumAttrCase<"Excluded", 3, "excluded">,
  I32EnumAttrCase<"Output", 4, "output">
]>;
def Mf_RecomputeAttr : EnumAttr<Mf_Dialect, Mf_RecomputeKind, "recompute"> {
  let summary = "recompute mark of one operator";
  let description = [{
    `full`: a Cell above the operator is recomputed. `select`: a pattern of
    `select_recompute` matches the operator, or the operator is a collective next
    to an operator that a pattern of `select_comm_recompute` matches. `preset`:
    the model itself asks for it (the casts of RMSNorm). `excluded`: an exclude
    pattern or `mp_comm_recompute: False` keeps the result. `output`: the operator
    is in a recomputed Cell, and its result leaves that Cell and is kept. With all
    but `excluded` and `output`, backward computes the result again instead of
    keeping it. The trainer repeats the Cell as a whole, so it does not keep the
    operands of an `output` either.
  }];
  let assemblyFormat = "`<` $value `>`";
}

def Mf_SwapAttr : Mf_Attr<"Swap", "swap"> {
  let summary = "swap mark of one operator";
  let description = [{
    The operator's result lives in host memory between forward and backward.
    `distance` is the number of kernels between the start of the copy back and
    the first reader of the result.
  }];
  let parameters = (ins "int64_t":$distance);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Mf_Comparison : Mf_Enum<"Comparison", "relation of an element to a constant", [
  I32EnumAttrCase<"Greater", 0, "greater">,
  I32EnumAttrCase<"AtLeast", 1, "at_least">,
  I32EnumAttrCase<"Less", 2, "less">,
  I32EnumAttrCase<"NotEqual", 3, "not_equal">
]>;
def Mf_ComparisonAttr : EnumAttr<Mf_Dialect, Mf_Comparison, "comparison"> {
  let summary = "relation of an element to a constant";
  let assemblyFormat = "`<` $value `>`";
}

def Mf_PlacementAttr : Mf_Attr<"Placement", "placement"> {
  let summary = "pipeline stage and chunk that a layer belongs to";
  let description = [{
    Stages and chunks are numbered from 0. Where micro-batches run in pieces of
    their sequence, a layer has one version per piece, and `piece` is the number
    of its piece: `#mf.placement<stage = 0, chunk = 0, piece = 1>`. A chunk that
    recomputes only for some micro-batches has a second version for the others.
    That version keeps all that backward reads and is marked by `keeps`.
  }];
  let parameters = (ins "int64_t":$stage, "int64_t":$chunk,
                        DefaultValuedParameter<"int64_t", "0">:$piece,
                        DefaultValuedParameter<"bool", "false">:$keeps);
  let assemblyFormat = "`<` struct(params) `>`";
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

def Mf_InitKind : Mf_Enum<"InitKind", "initial value of a parameter", [
  I32EnumAttrCase<"Zeros", 0, "zeros">,
  I32EnumAttrCase<"Ones", 1, "ones">,
  I32EnumAttrCase<"Normal", 2, "normal">,
  I32EnumAttrCase<"RotaryCos", 3, "rotary_cos">,
  I32EnumAttrCase<"RotarySin", 4, "rotary_sin">,
  I32EnumAttrCase<"CausalMask", 5, "causal_mask">,
  I32EnumAttrCase<"Constant", 6, "constant">,
  I32EnumAttrCase<"Alibi", 7, "alibi">,
  I32EnumAttrCase<"Coordinate", 8, "coordinate">,
  I32EnumAttrCase<"Uniform", 9, "uniform">,
  I32EnumAttrCase<"IndexSum", 10, "index_sum">,
  I32EnumAttrCase<"TokenExperts", 11, "token_experts">,
  I32EnumAttrCase<"StreamMixing", 12, "stream_mixing">,
  I32EnumAttrCase<"Hadamard", 13, "hadamard">
]>;
def Mf_InitAttr : Mf_Attr<"Init", "init"> {
  let summary = "how a parameter or table gets its first value";
  let description = [{
    `zeros`, `ones`; `normal`: N(0, value^2); `uniform`: between -`value` and
    `value`; `rotary_cos` / `rotary_sin`: a
    table [sequence, head dimension] of the angles position * scale /
    value^(2i/d), the half of frequencies repeated twice, or position * scale *
    `frequencies`[i], an f64 per element of the head dimension or of its half,
    which is repeated, all times `amplitude` (YaRN);
    `causal_mask`: [sequence, sequence], 0 where attention is allowed and
    `value` above the diagonal; `constant`: `value` everywhere; `alibi`:
    [heads], the slope of each head (Press et al., 2022), or [heads, sequence,
    sequence], slope * (key - query); `coordinate`: a table of integers of one
    dimension, element i is i * `value`. Cut over axes of the mesh into parts of
    one element, it tells a rank where its part of a dimension begins.
    `index_sum`: a table whose element (i, j) is i * `value` + j * `scale`;
    `token_experts`: [tokens, choices], (token + choice) modulo `value`;
    `stream_mixing`: [n^2 + 2n], the bias with which n residual streams begin: n
    times -ln 3, n times 0, and n rows of 5 times (identity - 1); `hadamard`: the
    matrix of 1 and -1 of Sylvester, whose size is a power of two.
  }];
  let parameters = (ins EnumParameter<Mf_InitKind>:$kind,
                        Mf_Double<"::llvm::APFloat(0.0)">:$value,
                        Mf_Double<"::llvm::APFloat(1.0)">:$scale,
                        Mf_Double<"::llvm::APFloat(1.0)">:$amplitude,
                        OptionalParameter<"::mlir::ArrayAttr">:$frequencies);
  let builders = [AttrBuilder<(ins "InitKind":$kind, "double":$value,
                                   CArg<"double", "1.0">:$scale), [{
    return $_get($_ctxt, kind, ::llvm::APFloat(value), ::llvm::APFloat(scale),
                 ::llvm::APFloat(1.0), ::mlir::ArrayAttr());
  }]>];
  let assemblyFormat = [{
    `<` $kind (`,` `value` `=` $value^)? (`,` `scale` `=` $scale^)?
    (`amplitude` $amplitude^)? (`frequencies` $frequencies^)? `>`
  }];
}

def Mf_AveragedState : Mf_Enum<"AveragedState", "a running mean of an optimizer", [
  I32EnumAttrCase<"FirstMoment", 0, "first_moment">,
  I32EnumAttrCase<"SecondMoment", 1, "second_moment">,
  I32EnumAttrCase<"SquareRows", 2, "square_rows">,
  I32EnumAttrCase<"SquareColumns", 3, "square_columns">,
  I32EnumAttrCase<"InstabilityRows", 4, "instability_rows">,
  I32EnumAttrCase<"InstabilityColumns", 5, "instability_columns">
]>;
def Mf_AveragedStateAttr
    : EnumAttr<Mf_Dialect, Mf_AveragedState, "averaged_state"> {
  let summary = "a running mean of an optimizer";
  let description = [{
    What `mf.update_average` keeps of a parameter. Rows are means over the last
    dimension, columns over the one before it.
  }];
  let assemblyFormat = "$value";
}

def Mf_UpdateRule : Mf_Enum<"UpdateRule", "how a step updates a statistic", [
  I32EnumAttrCase<"Balance", 0, "balance">,
  I32EnumAttrCase<"Record", 1, "record">,
  I32EnumAttrCase<"Largest", 2, "largest">
]>;
def Mf_UpdateRuleAttr : EnumAttr<Mf_Dialect, Mf_UpdateRule, "update_rule"> {
  let summary = "how a step updates a statistic";
  let description = [{
    A statistic is a parameter that the optimizer does not train. In the place of
    its gradient backward makes another value of the same shape. `balance`: the
    parameter is the bias of a router's scores, and backward makes the load of
    each expert, summed over micro-batches and ranks. The end of the step raises
    the bias of experts below their share of the load and lowers the bias of the
    others. `record`: the parameter becomes the value of the last micro-batch.
    `largest`: the end of the step reads the largest value of all micro-batches
    and ranks, instead of their sum. The parameter itself does not change.
  }];
  let assemblyFormat = "`<` $value `>`";
}

def Mf_LoraAttr : Mf_Attr<"Lora", "lora"> {
  let summary = "low-rank adapters of linear layers, as pet_config or lora_config asks for them";
  let description = [{
    alpha / rank * dropout(x) A^T B^T is added to each product x W^T whose Cell
    `target` matches. Only A, [rank, in], and B, [out, rank], are trained (Hu et
    al., 2022). Their names are the name of the layer's Cell with `name_a` and
    `name_b`. Their first values are `init_a`, by default between -1/sqrt(in) and
    1/sqrt(in), and `init_b`, by default 0. A and B have the type `param_type`, by
    default that of W. The adapter computes in `compute_type`, by default the type
    of the product.

    `target` is a regular expression that is matched from the start of the name
    of a Cell, not of its path. Cells inside of a matched Cell are not searched.
    Cells that `exclude` matches get no adapters, nor do Cells inside of them.
    With `matches_paths` both are searched for anywhere in the path of a Cell from
    the network on, and Cells inside of a matched Cell are searched as well. Each
    weight of routed experts, [experts, in, out], then gets adapters too: A,
    [experts, in, rank], and B, [experts, rank, out], with names behind that of the
    weight, `weight1_lora_a`.
    `freeze_include` and `freeze_exclude` are globs on names of parameters: a
    parameter that only the first matches is frozen, and one that only the second
    matches is trained. With `trains_others` all other parameters are trained;
    otherwise, only those of adapters are. `inserted` is true once the model has
    its adapters. `location` is the place of the target in the YAML.
  }];
  let parameters = (ins "int64_t":$rank, Mf_Double<>:$alpha, Mf_Double<>:$dropout,
                        "::mlir::StringAttr":$target,
                        "::mlir::StringAttr":$name_a,
                        "::mlir::StringAttr":$name_b,
                        OptionalParameter<"::mf::ir::InitAttr">:$init_a,
                        OptionalParameter<"::mf::ir::InitAttr">:$init_b,
                        OptionalParameter<"::mlir::Type">:$param_type,
                        OptionalParameter<"::mlir::Type">:$compute_type,
                        OptionalParameter<"::mlir::ArrayAttr">:$exclude,
                        OptionalParameter<"::mlir::ArrayAttr">:$freeze_include,
                        OptionalParameter<"::mlir::ArrayAttr">:$freeze_exclude,
                        DefaultValuedParameter<"bool", "false">:$matches_paths,
                        DefaultValuedParameter<"bool", "false">:$trains_others,
                        DefaultValuedParameter<"bool", "false">:$inserted,
                        OptionalParameter<"::mlir::LocationAttr">:$location);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Training configuration, as read from the YAML
//===----------------------------------------------------------------------===//

def Mf_MatricesAttr : Mf_Attr<"Matrices", "matrices"> {
  let summary = "the matrices that a weight holds";
  let description = [{
    The rows (`dim` 0) or columns (`dim` 1) of the weight form periods, and each
    period consists of parts of `sizes` rows or columns. The first parts of all
    periods are one matrix, their second parts another, and so on. Examples are
    gate and up projections that alternate, and the rotated and the other rows of
    each attention head. Parts of sizes `rest` follow the last period, each a
    matrix of its own. In a weight of three dimensions this holds for each
    expert.

    ```mlir
    mf.param @qb : tensor<16x4xf32> init <ones> {matrices = #mf.matrices<dim = 0, sizes = [6, 2]>}
    ```
  }];
  let parameters = (ins "int64_t":$dim, "::mlir::ArrayAttr":$sizes,
                        OptionalParameter<"::mlir::ArrayAttr">:$rest);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Returns the sizes of the parts of a period.
    std::vector<int64_t> getPeriod();
    /// Returns the sizes of the parts after the last period.
    std::vector<int64_t> getTail();
    /// Returns the number of periods of a weight with `extent` rows or columns,
    /// or none if the parts do not add up to it.
    std::optional<int64_t> countPeriods(int64_t extent);
  }];
}

def Mf_LogitClipAttr : Mf_Attr<"LogitClip", "logit_clip"> {
  let summary = "how a weight shrinks where logits of attention are large";
  let description = [{
    Each period of the weight's #mf.matrices belongs to one attention head.
    `largest` names the statistic with the largest logit of each head. Where that
    is not below the threshold of #mf.muon, part i of the head is multiplied by
    (threshold / largest)^(roots[i] / 2).

    ```mlir
    mf.param @qb : tensor<16x4xf32> init <ones> {logit_clip = #mf.logit_clip<largest = @largest, roots = [1, 2]>, matrices = #mf.matrices<dim = 0, sizes = [6, 2]>}
    ```
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$largest,
                        "::mlir::ArrayAttr":$roots);
  let assemblyFormat = "`<` struct(params) `>`";
}

include "dialects/mf/MfTrainingAttributes.td"

//===----------------------------------------------------------------------===//
// Kernels and memory
//===----------------------------------------------------------------------===//

def Mf_InputKind : Mf_Enum<"InputKind", "what a step input holds", [
  I32EnumAttrCase<"Tokens", 0, "tokens">,
  I32EnumAttrCase<"Labels", 1, "labels">,
  I32EnumAttrCase<"LearningRate", 2, "learning_rate">,
  I32EnumAttrCase<"StepNumber", 3, "step_number">,
  I32EnumAttrCase<"Draw", 4, "draw">
]>;
def Mf_InputKindAttr : EnumAttr<Mf_Dialect, Mf_InputKind, "input_kind"> {
  let assemblyFormat = "$value";
}

#endif // MF_ATTRIBUTES_TD
