//===- MfUpdateOps.td - Updates and state ------------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Part of MfStepOps.td.
//
//===----------------------------------------------------------------------===//

def Mf_UpdateOp : Mf_FunctionOp<"update", (ins I64Attr:$stage),
    [HasParent<"ModelOp">]> {
  let summary = "the end of a step: reduction, clipping and optimizer of one stage";
  let description = [{
    The arguments are the learning rate, the number of this update, counted from 1,
    and the loss scale if losses are scaled. They are scalars in fp32, except that
    the learning rate is a vector if the schedule has groups.
  }];
  let hasVerifier = 1;
}

// An operator on parameters, gradients and optimizer state. `gradients` are the
// parameters whose gradients it reads or writes, as C++ that initializes a list
// of names.
class Mf_StateOp<string mnemonic, string gradients = "{}",
                 list<Trait> traits = []>
    : Mf_Op<mnemonic, !listconcat([HasParent<"UpdateOp">,
        DeclareOpInterfaceMethods<Mf_UpdateOpInterface>], traits)> {
  let extraClassDefinition = [{
    ::llvm::SmallVector<::llvm::StringRef> $cppClass::getUsedGradients() {
      return }] # gradients # [{;
    }
  }];
}

// A state operator that names parameters.
class Mf_ParamStateOp<string mnemonic, string gradients = "{}",
                      list<Trait> traits = []>
    : Mf_StateOp<mnemonic, gradients, !listconcat(
        [DeclareOpInterfaceMethods<SymbolUserOpInterface>], traits)>;

// A state operator that reads gradients times factors.
class Mf_GradientReaderOp<string mnemonic, string gradients = "{getParam()}">
    : Mf_ParamStateOp<mnemonic, gradients, [Mf_GradientReaderOpInterface]>;

def Mf_ReduceTiedOp : Mf_ParamStateOp<"reduce_tied", "getGradientsHere()"> {
  let summary = "the sum of the gradients of an owner and all tied to it";
  let description = [{
    The gradients of `owner` and of every parameter of `tied` become the sum of all
    of them. `stages` has the stage of the owner and then that of each parameter of
    `tied`. The update of each of these stages has the same operator. A stage with
    several of the parameters first adds their gradients, in this order. One
    all-reduce then sums over the stages in the order of their first occurrence. If
    only the owner's stage has several of the parameters, and these come first, the
    sum has the same bits as on a single stage.

    On the owner's stage tied parameters share the owner's memory, so that only the
    owner's gradient is read afterwards.

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
    /// Returns those of the stage whose update this is a part of.
    ::llvm::SmallVector<::llvm::StringRef> getGradientsHere();
  }];
}

def Mf_ReduceGradientOp : Mf_ParamStateOp<"reduce_gradient", "{getParam()}"> {
  let summary = "the sum of a parameter's gradient over ranks";
  let description = [{
    `axes` are the axes over which the parameter's layout is `reduced`. Each of
    their ranks has a summand of the gradient, which is complete after the backward
    of the last micro-batch. If the storage of the parameter is divided among ranks,
    a rank gets its part of the sum by a reduce-scatter, otherwise all get the whole
    by an all-reduce. Both add in the same order. A gradient that is scattered for
    each micro-batch is summed only over the other axes. With `mean` the sum is
    divided by the number of ranks of `axes`.

    An update begins with one such operator for each parameter that needs it.

    ```mlir
    mf.reduce_gradient @layers.0.w1.weight over ["dp", "cp"]
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$param, StrArrayAttr:$axes,
                       UnitAttr:$mean);
  let assemblyFormat = "$param `over` $axes (`mean` $mean^)? attr-dict";
}

def Mf_GradientNormsOp
    : Mf_GradientReaderOp<"gradient_norms", "getNames(getParameters())"> {
  let summary = "the norms of gradients, each at its parameter's position in the model";
  let description = [{
    Element `positions[i]` of the result is the Euclidean norm of the gradient of
    `parameters[i]` times `factors`. All other elements are 0. Positions do not
    depend on the stages, so that the sum over stages has the same bits for any
    number of stages.

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

def Mf_ScaleGradientsOp
    : Mf_ParamStateOp<"scale_gradients", "getNames(getParameters())"> {
  let summary = "multiplies gradients in place";
  let description = [{
    The gradients of `parameters` are multiplied by `factor`, a scalar on the device, in
    the memory where they are.
  }];
  let arguments = (ins Mf_FloatTensor:$factor,
                       FlatSymbolRefArrayAttr:$parameters);
  let assemblyFormat = "$parameters `by` $factor attr-dict `:` type($factor)";
}

def Mf_AdamWOp : Mf_GradientReaderOp<"adamw"> {
  let summary = "one AdamW step of one parameter, in place";
  let description = [{
    m = beta1 m + (1-beta1) g, v = beta2 v + (1-beta2) g^2; without
    `bias_correction` w decreases by lr (m / (sqrt(v) + eps) + weight_decay w), as in
    MindSpore's AdamWeightDecay. With it the step is that of Loshchilov and Hutter,
    2019, and with `corrects_eps` eps is added to sqrt(v) before the correction.
    g is the gradient times `factors`. Nothing changes if `overflow` is not 0.
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

def Mf_MomentumOp : Mf_GradientReaderOp<"momentum"> {
  let summary = "adds the gradient of one parameter to its momentum, in place";
  let description = [{
    m = momentum m + g, where g is the gradient times `factors`. The result is
    g + momentum m with `nesterov`, and m without, rounded to the result's type.
    If `overflow` is not 0, m does not change and the result is 0.

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

def Mf_NewtonSchulzOp : Mf_ComputeOp<"newton_schulz", "mfNewtonSchulz",
    (ins Mf_FloatTensor:$matrices),
    (ins DenseF64ArrayAttr:$coefficients, F64Attr:$eps),
    (outs Mf_FloatTensor:$result), [SameOperandsAndResultType]> {
  let summary = "nearly orthogonal matrices, by Newton-Schulz iterations";
  let description = [{
    `matrices` are [experts, rows, columns] in 16 bits, and each is made orthogonal by
    itself. First x = matrix / (norm + `eps`), with the sum of squares in fp32. Then for
    each three numbers a, b, c of `coefficients`: A = x xT, x = a x + (b A + c A A) x. If
    there are more rows than columns, A = xT x, and is multiplied from the other side,
    which computes the same for the transpose. All results are rounded to 16 bits, with
    sums of products in fp32.

    The operator is a part of Muon's update, through which no gradient flows.

    ```mlir
    %x = mf.newton_schulz %m {coefficients = array<f64: 3.500000e+00, -4.500000e+00, 2.000000e+00>, eps = 1.250000e-01 : f64} : (tensor<1x16x4xbf16>) -> tensor<1x16x4xbf16>
    ```
  }];
  let hasVerifier = 1;
}

def Mf_TakeGradientOp : Mf_GradientReaderOp<"take_gradient"> {
  let summary = "the gradient of one parameter as a tensor, in fp32";
  let description = [{
    The gradient is multiplied by `factors`.

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

def Mf_UpdateAverageOp
    : Mf_ParamStateOp<"update_average", "{}", [AllTypesMatch<["value", "result"]>]> {
  let summary = "adds a value to a running mean of one parameter, in place";
  let description = [{
    state = beta state + (1 - beta) value, where beta is `decay`, or 1 - step^-decay
    with `grows`. The result is the state, rounded to the result's type. If
    `overflow` is not 0 the state does not change.

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

def Mf_TakeStepOp : Mf_ParamStateOp<"take_step"> {
  let summary = "one step of one parameter along a direction, in place";
  let description = [{
    w = (1 - lr weight_decay) w - lr scale direction. Nothing changes if `overflow`
    is not 0.

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

def Mf_LogitFactorsOp : Mf_ParamStateOp<"logit_factors", "{getLargest()}"> {
  let summary = "the factors that scale down rows of a weight where logits are large";
  let description = [{
    The result has one factor per row. The rows consist of one period for each head
    of the statistic `largest`, and each period of parts of `sizes`; `rest` more rows
    follow. In a head whose largest logit is not below `threshold`, the factor of
    part i is (threshold / largest)^(roots[i] / 2). All other factors are 1. If
    `overflow` is not 0, all factors are 1.

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

def Mf_ScaleRowsOp : Mf_ParamStateOp<"scale_rows"> {
  let summary = "multiplies the rows of a parameter, in place";
  let description = [{
    `factors` has one factor for each row of the rank's own part. Products are in
    fp32 and rounded once.

    ```mlir
    mf.scale_rows @qb by %factors : tensor<16xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$param, Mf_FloatTensor:$factors);
  let assemblyFormat = "$param `by` $factors attr-dict `:` type($factors)";
}

def Mf_AverageWeightOp : Mf_ParamStateOp<"average_weight"> {
  let summary = "PmaAdamW's average after the step of one parameter, in place";
  let description = [{
    On the steps that `average` defines, the parameter is added to its running
    average or replaced by it. Nothing changes if `overflow` is not 0.

    ```mlir
    mf.average_weight @w, %step, %overflow <interval = 1000, fused = 10, share = 2.000000e-01> : tensor<f32>, tensor<f32>
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
  let description = [{
    With dynamic loss scaling the optimizer skips a step whose gradients overflow. The
    result says whether they did.

    ```mlir
    %overflow = mf.non_finite %norm : tensor<f32> -> tensor<f32>
    ```
  }];
  let arguments = (ins Mf_FloatTensor:$input);
  let results = (outs Mf_FloatTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

def Mf_BalanceExpertsOp : Mf_ParamStateOp<"balance_experts", "{getParam()}"> {
  let summary = "raises the bias of experts below their share of the load";
  let description = [{
    bias += rate * sign(target - load) for each expert, in place. `load` is the value
    that backward of the step's micro-batches computed for the parameter, summed over
    ranks (Wang et al., 2024: auxiliary-loss-free balancing). The bias changes also
    on steps that overflow, as with TopkBiasBalanceCallback of MindSpore
    Transformers.

    ```mlir
    mf.balance_experts @layers.3.topk_bias rate 1.000000e-03 target 1.250000e-01
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$param, F64Attr:$rate,
                       F64Attr:$target);
  let assemblyFormat = "$param `rate` $rate `target` $target attr-dict";
}

def Mf_RecordStatisticOp : Mf_ParamStateOp<"record_statistic", "{getParam()}"> {
  let summary = "sets a statistic to the value of the last micro-batch";
  let description = [{
    The result is the new value.

    ```mlir
    %share = mf.record_statistic @layers.3.fi_parameter : tensor<2x8xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$param);
  let results = (outs Mf_FloatTensor:$result);
  let assemblyFormat = "$param attr-dict `:` type($result)";
}

def Mf_ReportOp : Mf_StateOp<"report"> {
  let summary = "copies a tensor to the host at the end of the step";
  let description = [{
    The host prints the value as `quantity` after the step.

    ```mlir
    mf.report "global_norm", %norm : tensor<f32>
    ```
  }];
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
  let description = [{
    The square root of each element.

    ```mlir
    %root = mf.sqrt %x : (tensor<f32>) -> tensor<f32>
    ```
  }];
}
def Mf_ReciprocalOp : Mf_ScalarOp<"reciprocal", "aclnnReciprocal"> {
  let summary = "1 / x";
  let description = [{
    The reciprocal of each element.

    ```mlir
    %inverse = mf.reciprocal %x : (tensor<f32>) -> tensor<f32>
    ```
  }];
}
def Mf_ClampMinOp : Mf_ScalarOp<"clamp_min", "aclnnClampMin", (ins F64Attr:$value)> {
  let summary = "the larger of x and a constant";
  let description = [{
    Elements below `value` become `value`.

    ```mlir
    %clamped = mf.clamp_min %x {value = 1.000000e+00 : f64} : (tensor<f32>) -> tensor<f32>
    ```
  }];
}
def Mf_ClampMaxOp : Mf_ScalarOp<"clamp_max", "aclnnClampMax", (ins F64Attr:$value)> {
  let summary = "the smaller of x and a constant";
  let description = [{
    Elements above `value` become `value`.

    ```mlir
    %clamped = mf.clamp_max %x {value = 1.000000e+00 : f64} : (tensor<f32>) -> tensor<f32>
    ```
  }];
}
