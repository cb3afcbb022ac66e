//===- MfAttributes.td - Attributes of the mf dialect ----------*- tablegen -*-===//

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
  I32EnumAttrCase<"Excluded", 3, "excluded">
]>;
def Mf_RecomputeAttr : EnumAttr<Mf_Dialect, Mf_RecomputeKind, "recompute"> {
  let summary = "recompute mark of one operator";
  let description = [{
    `full`: a Cell above the operator is recomputed; `select`: a pattern of
    `select_recompute` names it, or one of `select_comm_recompute` what is next
    to a collective; `preset`: the model itself asks for it (the casts of
    RMSNorm); `excluded`: an exclude or `mp_comm_recompute: False` keeps it. All
    but `excluded` mean that backward computes the result again instead of
    keeping it.
  }];
  let assemblyFormat = "`<` $value `>`";
}

def Mf_SwapAttr : Mf_Attr<"Swap", "swap"> {
  let summary = "swap mark of one operator";
  let description = [{
    What the operator makes lives in host memory between forward and backward.
    `distance`: kernels between the start of the copy back and its first reader.
  }];
  let parameters = (ins "int64_t":$distance);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Mf_Comparison : Mf_Enum<"Comparison", "which numbers a comparison holds for", [
  I32EnumAttrCase<"Greater", 0, "greater">,
  I32EnumAttrCase<"AtLeast", 1, "at_least">,
  I32EnumAttrCase<"Less", 2, "less">,
  I32EnumAttrCase<"NotEqual", 3, "not_equal">
]>;
def Mf_ComparisonAttr : EnumAttr<Mf_Dialect, Mf_Comparison, "comparison"> {
  let summary = "which numbers a comparison with a constant holds for";
  let assemblyFormat = "`<` $value `>`";
}

def Mf_PlacementAttr : Mf_Attr<"Placement", "placement"> {
  let summary = "pipeline stage and chunk that a layer belongs to";
  let description = [{
    And where micro-batches run in pieces of their sequence, the piece that a
    version of the layer is for:
    `#mf.placement<stage = 0, chunk = 0, piece = 1>`. A chunk that recomputes
    for some micro-batches alone has a second version, which keeps all that
    backward reads, for the others: it `keeps`.
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
  I32EnumAttrCase<"Uniform", 9, "uniform">
]>;
def Mf_InitAttr : Mf_Attr<"Init", "init"> {
  let summary = "how a parameter or table gets its first value";
  let description = [{
    `zeros`, `ones`; `normal`: N(0, value^2); `uniform`: between -`value` and
    `value`; `rotary_cos` / `rotary_sin`: a
    table [sequence, head dimension] of the angles position * scale /
    value^(2i/d), the half of frequencies repeated twice, or position * scale *
    `frequencies`[i], an f64 per two of the head dimension, all times
    `amplitude` (YaRN);
    `causal_mask`: [sequence, sequence], 0 where attention is allowed and
    `value` above the diagonal; `constant`: `value` everywhere; `alibi`:
    [heads], the slope of each head (Press et al., 2022), or [heads, sequence,
    sequence], slope * (key - query); `coordinate`: a table of integers of one
    dimension, element i is i * `value`. Cut over axes of the mesh into parts of
    one element, it tells a rank where its part of a dimension begins.
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

def Mf_UpdateRule : Mf_Enum<"UpdateRule", "what a step does with a statistic", [
  I32EnumAttrCase<"Balance", 0, "balance">,
  I32EnumAttrCase<"Record", 1, "record">,
  I32EnumAttrCase<"Largest", 2, "largest">
]>;
def Mf_UpdateRuleAttr : EnumAttr<Mf_Dialect, Mf_UpdateRule, "update_rule"> {
  let summary = "what a step does with a statistic";
  let description = [{
    Of a parameter that the optimizer does not train. `balance`: the parameter
    is the bias of a router's scores; backward makes the load of each expert for
    it, summed over micro-batches and ranks, and the step's end raises the bias
    of experts below their share and lowers that of those above. `record`: the
    parameter becomes what backward of the last micro-batch makes. `largest`:
    what backward makes is not added up, but the largest of all micro-batches and
    ranks is what the step's end reads; the parameter itself stays as it is.
  }];
  let assemblyFormat = "`<` $value `>`";
}

def Mf_LoraAttr : Mf_Attr<"Lora", "lora"> {
  let summary = "low-rank adapters of linear layers, as pet_config asks for them";
  let description = [{
    A product x W^T that `target` matches gets alpha / rank * dropout(x) A^T B^T
    added, and only A, [rank, in], and B, [out, rank], are trained (Hu et al.,
    2022). `prefix` begins their names behind that of the layer's Cell.
    Without `param_type` they have the type of W, and without `compute_type`
    all is computed in the type of that product.

    `target` matches from the start of the name of one Cell, not of its path;
    what is inside of a Cell that it matches is not looked at. `exclude`: what
    it matches stays as it is, with all that is inside. `freeze_include` and
    `freeze_exclude` are globs on names of parameters: of those that only the
    first matches none is trained, those that only the second matches are.
    `inserted`: the model has its adapters. `location` is where the YAML has the
    target.
  }];
  let parameters = (ins "int64_t":$rank, Mf_Double<>:$alpha, Mf_Double<>:$dropout,
                        "::mlir::StringAttr":$target,
                        "::mlir::StringAttr":$prefix,
                        OptionalParameter<"::mlir::Type">:$param_type,
                        OptionalParameter<"::mlir::Type">:$compute_type,
                        OptionalParameter<"::mlir::ArrayAttr">:$exclude,
                        OptionalParameter<"::mlir::ArrayAttr">:$freeze_include,
                        OptionalParameter<"::mlir::ArrayAttr">:$freeze_exclude,
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
    Rows (`dim` 0) or columns (1) lie in periods of parts of `sizes`. The first
    parts of all periods are one matrix, their second parts another, and so on:
    gates and up projections in turns, or the parts of each head that rotate and
    that do not. Behind the periods stand parts of sizes `rest`, a matrix each.
    Of a weight of three dimensions this holds for each expert.

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
    The parts of a period of #mf.matrices are those of a head of attention.
    `largest` names the statistic with the largest logit of each head. Where it
    is the threshold or more, part i of the head is multiplied by the square root
    of threshold / largest, `roots[i]` times: not at all for 0.

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
