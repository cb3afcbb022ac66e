//===- MfUpdateOps.td - Updates and state ------------------*- tablegen -*-===//
//
// Part of MfStepOps.td.
//
//===----------------------------------------------------------------------===//

def Mf_UpdateOp : Mf_FunctionOp<"update", (ins I64Attr:$stage),
    [HasParent<"ModelOp">]> {
  let summary = "what a stage does with its accumulated gradients";
  let description = [{
    Takes the learning rate and the number of this update, counted from 1, and
    where losses are scaled the loss scale: scalars in fp32.
  }];
  let hasVerifier = 1;
}

// An operator on parameters, gradients and optimizer state.
class Mf_StateOp<string mnemonic, list<Trait> traits = []>
    : Mf_Op<mnemonic, !listconcat([HasParent<"UpdateOp">,
        DeclareOpInterfaceMethods<Mf_UpdateOpInterface>], traits)>;

def Mf_ReduceTiedOp : Mf_StateOp<"reduce_tied", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the sum of the gradients of an owner and all tied to it";
  let description = [{
    The gradients of `owner` and of every parameter of `tied` become the sum of
    all of them. `stages` are those that hold them, the owner's first, then one
    for each of `tied`; the update of each of these stages has the same
    operator. A stage with several of them adds its own first, in this order;
    one all-reduce then sums over the stages in the order of their first
    appearance. Where no stage but the owner's has several, and the owner's has
    the first ones, that is the sum of a single stage, to the bit.

    On the owner's stage tied parameters have the owner's memory, so only the
    owner's gradient is read from here on.

    ```mlir
    mf.reduce_tied @w, [@copy, @head] stages [0, 0, 3]
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$owner, FlatSymbolRefArrayAttr:$tied,
                       DenseI64ArrayAttr:$stages);
  let assemblyFormat = "$owner `,` $tied `stages` $stages attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Returns the names of the parameters that `stage` holds, the owner first.
    ::llvm::SmallVector<::llvm::StringRef> getParametersOn(int64_t stage);
  }];
}

def Mf_ReduceGradientOp : Mf_StateOp<"reduce_gradient", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the sum of a parameter's gradient over ranks";
  let description = [{
    `axes` are those over which the parameter's layout is `reduced`: each rank
    of them has a summand of the gradient, complete once the last micro-batch's
    backward is over. Where the parameter is stored in parts, a rank gets its
    part of the sum: by a reduce_scatter, which adds in the order in which the
    all_reduce does that gives all ranks the whole sum. Gradients that were
    shared out by micro-batch are summed over the other axes alone. With `mean`
    the sum is divided by the number of ranks of `axes`.

    An update has one for each of its parameters that needs it, before all else.

    ```mlir
    mf.reduce_gradient @layers.0.w1.weight over ["dp", "cp"]
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$param, StrArrayAttr:$axes,
                       UnitAttr:$mean);
  let assemblyFormat = "$param `over` $axes (`mean` $mean^)? attr-dict";
}

def Mf_GradientNormsOp : Mf_StateOp<"gradient_norms", [
    Mf_GradientReaderOpInterface,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the norm of each gradient, at its place among all parameters";
  let description = [{
    Result element `positions[i]` is the norm of the gradient of
    `parameters[i]`, all others are 0. Places do not depend on the stages, so
    summing the vector over stages, and then over its elements, gives the same
    bits for any number of stages. Norms are those of the gradients times
    `factors`.

    ```mlir
    %n = mf.gradient_norms [@w] at [2] times %f, %g : tensor<f32>, tensor<f32> : tensor<3xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefArrayAttr:$parameters,
                       I64ArrayAttr:$positions,
                       Variadic<Mf_FloatTensor>:$factors);
  let results = (outs Mf_FloatTensor:$result);
  let assemblyFormat = [{
    $parameters `at` $positions (`times` $factors^ `:` type($factors))?
    attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

def Mf_ScaleGradientsOp : Mf_StateOp<"scale_gradients", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "multiplies gradients in place";
  let arguments = (ins Mf_FloatTensor:$factor,
                       FlatSymbolRefArrayAttr:$parameters);
  let assemblyFormat = "$parameters `by` $factor attr-dict `:` type($factor)";
}

def Mf_AdamWOp : Mf_StateOp<"adamw", [
    Mf_GradientReaderOpInterface,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "one AdamW step of one parameter, in place";
  let description = [{
    m = beta1 m + (1-beta1) g, v = beta2 v + (1-beta2) g^2; without
    `bias_correction` the step is lr (m / (sqrt(v) + eps) + weight_decay w), as
    MindSpore's AdamWeightDecay; with it that of Loshchilov and Hutter, 2019,
    where with `corrects_eps` eps is added to sqrt(v) before the correction.
    g is the gradient times `factors`. Where `overflow` is not 0 nothing changes.
  }];
  let arguments = (ins FlatSymbolRefAttr:$param, Mf_FloatTensor:$learning_rate,
                       Mf_FloatTensor:$step, Mf_FloatTensor:$overflow,
                       Variadic<Mf_FloatTensor>:$factors,
                       F64Attr:$beta1, F64Attr:$beta2,
                       F64Attr:$eps, F64Attr:$weight_decay,
                       BoolAttr:$bias_correction,
                       UnitAttr:$corrects_eps);
  let assemblyFormat = [{
    $param `,` $learning_rate `,` $step `,` $overflow (`times` $factors^ `:`
    type($factors))? attr-dict `:` type($learning_rate) `,` type($step) `,`
    type($overflow)
  }];
}

def Mf_MomentumOp : Mf_StateOp<"momentum", [
    Mf_GradientReaderOpInterface,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "adds the gradient of one parameter to its momentum, in place";
  let description = [{
    m = momentum m + g, where g is the gradient times `factors`. The result is
    g + momentum m with `nesterov`, and m without, as the type of the result
    rounds it. Where `overflow` is not 0, m stays and the result is 0.

    ```mlir
    %d = mf.momentum @w, %overflow {momentum = 5.000000e-01 : f64, nesterov = true} : tensor<f32> -> tensor<16x4xbf16>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$param, Mf_FloatTensor:$overflow,
                       Variadic<Mf_FloatTensor>:$factors, F64Attr:$momentum,
                       BoolAttr:$nesterov);
  let results = (outs Mf_FloatTensor:$result);
  let assemblyFormat = [{
    $param `,` $overflow (`times` $factors^ `:` type($factors))? attr-dict `:`
    type($overflow) `->` type($result)
  }];
}

def Mf_TakeGradientOp : Mf_StateOp<"take_gradient", [
    Mf_GradientReaderOpInterface,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the gradient of one parameter as a tensor, in fp32";
  let description = [{
    Times `factors`.

    ```mlir
    %g = mf.take_gradient @w : tensor<16x4xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$param,
                       Variadic<Mf_FloatTensor>:$factors);
  let results = (outs Mf_FloatTensor:$result);
  let assemblyFormat = [{
    $param (`times` $factors^ `:` type($factors))? attr-dict `:` type($result)
  }];
}

def Mf_UpdateAverageOp : Mf_StateOp<"update_average", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    AllTypesMatch<["value", "result"]>]> {
  let summary = "adds a value to a running mean of one parameter, in place";
  let description = [{
    state = beta state + (1 - beta) value, where beta is `decay`, and with `grows`
    1 - step^-decay. The result is the state, as its type rounds it. Where
    `overflow` is not 0 the state stays.

    ```mlir
    %m = mf.update_average first_moment of @w, %x, %step, %overflow {decay = 5.000000e-01 : f64} : tensor<16x4xf32>, tensor<f32>, tensor<f32>
    ```
  }];
  let arguments = (ins Mf_AveragedStateAttr:$state, FlatSymbolRefAttr:$param,
                       Mf_FloatTensor:$value, Mf_FloatTensor:$step,
                       Mf_FloatTensor:$overflow, F64Attr:$decay,
                       UnitAttr:$grows);
  let results = (outs Mf_FloatTensor:$result);
  let assemblyFormat = [{
    $state `of` $param `,` $value `,` $step `,` $overflow attr-dict `:`
    type($value) `,` type($step) `,` type($overflow)
  }];
}

def Mf_TakeStepOp : Mf_StateOp<"take_step", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "one step of one parameter along a direction, in place";
  let description = [{
    w = (1 - lr weight_decay) w - lr scale direction. Where `overflow` is not 0
    nothing changes.

    ```mlir
    mf.take_step @w, %direction, %lr, %overflow {scale = 5.000000e-01 : f64, weight_decay = 1.000000e-01 : f64} : tensor<16x4xbf16>, tensor<f32>, tensor<f32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$param, Mf_FloatTensor:$direction,
                       Mf_FloatTensor:$learning_rate, Mf_FloatTensor:$overflow,
                       F64Attr:$scale, F64Attr:$weight_decay);
  let assemblyFormat = [{
    $param `,` $direction `,` $learning_rate `,` $overflow attr-dict `:`
    type($direction) `,` type($learning_rate) `,` type($overflow)
  }];
}

def Mf_LogitFactorsOp : Mf_StateOp<"logit_factors", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "by what rows of a weight shrink where logits are large";
  let description = [{
    The rows are those of periods of parts of `sizes`, one period for each head
    of `largest`, and `rest` more behind them. A head whose largest logit is not
    below `threshold` has in part i the square root of threshold / largest to the
    power of `roots[i]`; all else is 1, and everything where `overflow` is not 0.

    ```mlir
    %f = mf.logit_factors @largest, %overflow {roots = [1, 2], sizes = [6, 2], threshold = 1.000000e+02 : f64} : tensor<f32> -> tensor<16xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$largest, Mf_FloatTensor:$overflow,
                       F64Attr:$threshold, I64ArrayAttr:$sizes,
                       I64ArrayAttr:$roots,
                       DefaultValuedAttr<I64Attr, "0">:$rest);
  let results = (outs Mf_FloatTensor:$result);
  let assemblyFormat = [{
    $largest `,` $overflow attr-dict `:` type($overflow) `->` type($result)
  }];
}

def Mf_ScaleRowsOp : Mf_StateOp<"scale_rows", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "multiplies the rows of a parameter, in place";
  let description = [{
    By one factor for each row of a rank's own part, in fp32, rounded once.

    ```mlir
    mf.scale_rows @qb by %factors : tensor<16xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$param, Mf_FloatTensor:$factors);
  let assemblyFormat = "$param `by` $factors attr-dict `:` type($factors)";
}

def Mf_AverageWeightOp : Mf_StateOp<"average_weight", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "what PmaAdamW does behind the step of one parameter, in place";
  let description = [{
    On the steps that `average` says, the parameter joins its running average or
    is replaced by it. Where `overflow` is not 0 nothing changes.

    ```mlir
    mf.average_weight @w, %step, %overflow <interval = 1000, fused = 10, share = 2.000000e-01, sums = false> : tensor<f32>, tensor<f32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$param, Mf_FloatTensor:$step,
                       Mf_FloatTensor:$overflow, Mf_WeightAverageAttr:$average);
  let assemblyFormat = [{
    $param `,` $step `,` $overflow $average attr-dict `:` type($step) `,`
    type($overflow)
  }];
}

def Mf_NonFiniteOp : Mf_StateOp<"non_finite"> {
  let summary = "1 if an element is infinite or not a number, 0 otherwise";
  let arguments = (ins Mf_FloatTensor:$input);
  let results = (outs Mf_FloatTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

def Mf_BalanceExpertsOp : Mf_StateOp<"balance_experts", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "raises the bias of experts below their share of the load";
  let description = [{
    bias += rate * sign(target - load), in place, of each expert; `load` is what
    backward of the step's micro-batches made for the parameter, summed over
    ranks (Wang et al., 2024: auxiliary-loss-free balancing). It changes on
    steps that overflow too, as TopkBiasBalanceCallback of MindSpore
    Transformers has it.

    ```mlir
    mf.balance_experts @layers.3.topk_bias rate 1.000000e-03 target 1.250000e-01
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$param, F64Attr:$rate,
                       F64Attr:$target);
  let assemblyFormat = "$param `rate` $rate `target` $target attr-dict";
}

def Mf_RecordStatisticOp : Mf_StateOp<"record_statistic", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "makes a parameter what the last micro-batch gave for it";
  let description = [{
    The result is its new value.

    ```mlir
    %share = mf.record_statistic @layers.3.fi_parameter : tensor<2x8xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$param);
  let results = (outs Mf_FloatTensor:$result);
  let assemblyFormat = "$param attr-dict `:` type($result)";
}

def Mf_ReportOp : Mf_StateOp<"report"> {
  let summary = "a tensor that the host gets at the end of the step";
  let arguments = (ins Mf_FloatTensor:$value, StrAttr:$quantity);
  let assemblyFormat = "$quantity `,` $value attr-dict `:` type($value)";
}

// Scalar and vector arithmetic for the clipping coefficient.
class Mf_ScalarOp<string mnemonic, string kernel, dag attributes = (ins)>
    : Mf_ComputeOp<mnemonic, kernel, (ins Mf_FloatTensor:$input),
                   attributes, (outs Mf_FloatTensor:$result),
                   [SameOperandsAndResultType]>;

def Mf_SqrtOp : Mf_ScalarOp<"sqrt", "aclnnSqrt"> {
  let summary = "square root";
}
def Mf_ReciprocalOp : Mf_ScalarOp<"reciprocal", "aclnnReciprocal"> {
  let summary = "1 / x";
}
def Mf_ClampMinOp : Mf_ScalarOp<"clamp_min", "aclnnClampMin", (ins F64Attr:$value)> {
  let summary = "the larger of x and a constant";
}
def Mf_ClampMaxOp : Mf_ScalarOp<"clamp_max", "aclnnClampMax", (ins F64Attr:$value)> {
  let summary = "the smaller of x and a constant";
}
