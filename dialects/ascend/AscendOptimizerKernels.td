//===- AscendOptimizerKernels.td - Gradients and steps ---------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Part of AscendKernels.td.
//
//===----------------------------------------------------------------------===//

include "dialects/ascend/AscendKernelBase.td"

def InplaceAdd : Kernel<"aclnnInplaceAdd", "makeInplaceAdd"> {
  let cann = "tensor(selfRef), tensor(other), scalar(1)";
  let cannHeaders = ["add"];
  let summary = "selfRef += other";
  let parts = "+* -> +*";
  let description = "`alpha` is 1; the shapes are equal.";
  let inputs = (ins In:$other);
  let outputs = (outs Accumulated:$selfRef);
  let kind = "elementwise";
}

def ForeachMulScalar : Kernel<"aclnnForeachMulScalar", "makeMulScalar"> {
  let cann = "list({x}), tensor(scalar), list({x})";
  let summary = "x *= scalar";
  let parts = ". -> ^*";
  let description = [{The list has one tensor, which is updated in place. The
    scalar is a tensor on the device, where aclnnForeachMulScalarV2's is a number
    on the host.}];
  let inputs = (ins In:$scalar);
  let outputs = (outs Updated:$x);
  let kind = "elementwise";
}

def ForeachNorm : Kernel<"aclnnForeachNorm", "makeNorm"> {
  let cannBody = [{
    stream.require(factors.empty(), "expected a norm without factors; lower with "
                                    "--for-cann");
    // CANN's norm has the type of its operand.
    CannTensor wide = x;
    if (x.type != out.type) {
      wide = stream.makeScratch(x.dims, out.type);
      stream.call(MF_CANN(aclnnCast), tensor(x), out.type, tensor(wide));
    }
    stream.call(MF_CANN(aclnnForeachNorm), list({wide}), scalar(2), list({out}));}];
  let cannHeaders = ["foreach_norm", "cast"];
  let summary = "Euclidean norm";
  let parts = "*, . -> ~.";
  let description = [{The list has one tensor, the norm is in fp32, and aclnn's
    scalar is 2. First each element is multiplied by one of `factors` after the
    other, and each product is rounded to the type of x. aclnn has no factors.}];
  let inputs = (ins In:$x, FactorsIn:$factors);
  let outputs = (outs Out:$out);
  let kind = "reduction";
  let flops = "2 * spec.inputs[0].getNumElements()";
  let workspace = "getNormWorkspace(spec)";
}

def NonFiniteCheck : Kernel<"mfNonFiniteCheck", "makeNonFiniteCheck"> {
  let cannBody = [{
    // Computes 1 - min(isfinite(x)), because CANN 8 only checks for overflow
    // together with scaling.
    const CannTensor flat = flatten(x);
    const CannTensor finite = stream.makeScratch(flat.dims, ACL_BOOL);
    const CannTensor ones = stream.makeScratch(flat.dims, ACL_FLOAT);
    const CannTensor found = stream.makeScratch({1}, ACL_FLOAT);
    stream.call(MF_CANN(aclnnIsFinite), tensor(flat), tensor(finite));
    stream.call(MF_CANN(aclnnCast), tensor(finite), ACL_FLOAT, tensor(ones));
    stream.call(MF_CANN(aclnnMuls), tensor(ones), scalar(-1), tensor(ones));
    stream.call(MF_CANN(aclnnAmax), tensor(ones), ints({0}), true, tensor(found));
    stream.call(MF_CANN(aclnnAdds), tensor(found), scalar(1), scalar(1),
                tensor(found));
    stream.call(MF_CANN(aclnnMaximum), tensor(flatten(foundInf)), tensor(found),
                tensor(flatten(foundInf)));}];
  let cannHeaders = ["isfinite", "cast", "mul", "amax", "add", "maximum"];
  let summary = "foundInf = max(foundInf, 1) if an element is infinite or NaN";
  let parts = "* -> >.";
  let description = [{This is aclnnForeachNonFiniteCheckAndUnscale without the
    scale, which CANN does not have as a kernel.}];
  let inputs = (ins In:$x);
  let outputs = (outs Updated:$foundInf);
  let kind = "reduction";
  let flops = "spec.inputs[0].getNumElements()";
}

def ApplyAdamWV2 : Kernel<"aclnnApplyAdamWV2", "makeAdamW"> {
  let cannBody = [{
    stream.require(factors.empty(), "expected AdamW without factors; lower with "
                                    "--for-cann");
    // The host reads the flag, because CANN's AdamW has no input to skip the step.
    if (overflow.isThere() && stream.isSet(overflow))
      return;
    // CANN adds eps after the correction of the root.
    const double correction = !corrects_eps ? 1
        : 1 / std::sqrt(1 - std::pow(beta2, double{stream.getHostValue(step)}));
    // CANN adds 1 to the step. For a large step the powers of the betas are 0, so
    // that CANN's correction has no effect.
    const CannTensor before = stream.makeScratch({1}, ACL_FLOAT);
    if (bias_correction)
      stream.call(MF_CANN(aclnnAdds), tensor(flatten(step)), scalar(-1), scalar(1),
                  tensor(before));
    else
      stream.call(MF_CANN(aclnnInplaceFillScalar), tensor(before), scalar(1e9));
    stream.call(MF_CANN(aclnnApplyAdamWV2), tensor(var), tensor(m), tensor(v),
                nullptr, tensor(grad), tensor(before), stream.getHostValue(lr),
                static_cast<float>(beta1), static_cast<float>(beta2),
                static_cast<float>(weight_decay),
                static_cast<float>(eps * correction), false, false);}];
  let cannHeaders = ["apply_adam_w_v2", "add", "fill_scalar"];
  let summary = "one AdamW step of one parameter";
  let parts = "*, ., ., ., . -> *, *, *";
  let description = [{The learning rate is a tensor, so that it can change from
    step to step; aclnn's is a number. Without `bias_correction` the step is
    MindSpore's AdamWeightDecay. With `corrects_eps` eps is added to sqrt(v) before
    the correction. Nothing changes if `overflow` is given and not 0. `factors`
    multiply `grad` as in aclnnForeachNorm. aclnn has none of these four.
    amsgrad and maximize are not supported.}];
  let inputs = (ins In:$grad, In:$step, In:$lr, OptionalIn:$overflow,
                    FactorsIn:$factors);
  let outputs = (outs Updated:$var, Updated:$m, Updated:$v);
  let attributes = (attrs Double:$beta1, Double:$beta2, Double:$eps,
                          Double:$weight_decay, OptionalBool:$bias_correction,
                          OptionalBool:$corrects_eps);
  let kind = "optimizer";
  let profiled = ["ApplyAdamW", "ApplyAdamWV2"];
  let fromProfile = "takeProfiledAdam(spec)";
}

def Momentum : Kernel<"mfMomentum", "makeMomentum"> {
  let cannBody = [{
    stream.require(factors.empty(), "expected a momentum without factors; lower with "
                                    "--for-cann");
    stream.call(MF_CANN(aclnnInplaceZero), tensor(direction));
    if (stream.isSet(overflow))
      return;
    const CannTensor wide = stream.makeFloat(grad);
    const CannTensor next = stream.makeFloat(direction);
    if (grad.type != ACL_FLOAT)
      stream.call(MF_CANN(aclnnCast), tensor(grad), ACL_FLOAT, tensor(wide));
    stream.call(MF_CANN(aclnnAdd), tensor(wide), tensor(m), scalar(momentum), tensor(m));
    if (nesterov)
      stream.call(MF_CANN(aclnnAdd), tensor(wide), tensor(m), scalar(momentum),
                  tensor(next));
    const CannTensor &made = nesterov ? next : m;
    if (direction.type != ACL_FLOAT)
      stream.call(MF_CANN(aclnnCast), tensor(made), direction.type, tensor(direction));
    else if (!nesterov)
      stream.call(MF_CANN(aclnnInplaceCopy), tensor(direction), tensor(made));}];
  let cannHeaders = ["zero", "cast", "add", "copy"];
  let summary = "adds a gradient to the momentum, and the direction of Muon's step";
  let parts = "*, ., . -> *, *";
  let description = [{m = momentum m + grad; direction = grad + momentum m with
    `nesterov`, else m, rounded to its type. `factors` multiply `grad` as in
    aclnnForeachNorm. If `overflow` is not 0, m does not change and the direction
    is 0.}];
  let inputs = (ins In:$grad, In:$overflow, FactorsIn:$factors);
  let outputs = (outs Updated:$m, Out:$direction);
  let attributes = (attrs Double:$momentum, Bool:$nesterov);
  let kind = "optimizer";
}

def NewtonSchulz : Kernel<"mfNewtonSchulz", "makeNewtonSchulz"> {
  let cannBody = [{
    const int64_t experts = matrices.dims[0], rows = matrices.dims[1],
                  columns = matrices.dims[2], side = std::min(rows, columns);
    const bool isTall = rows > columns;
    const Dims inner = {experts, side, side};
    // The squares are read before the first product is made.
    const CannTensor squares = stream.makeScratch(matrices.dims, ACL_FLOAT);
    const CannTensor sums = stream.makeScratch({experts}, ACL_FLOAT);
    const CannTensor norms = stream.makeScratch({experts}, matrices.type);
    const CannTensor gram = reuse(squares, 0, matrices.type, inner);
    const CannTensor square = reuse(squares, count(inner), matrices.type, inner);
    const CannTensor product = reuse(squares, count(inner), matrices.type, matrices.dims);
    stream.call(MF_CANN(aclnnCast), tensor(matrices), ACL_FLOAT, tensor(squares));
    stream.call(MF_CANN(aclnnMul), tensor(squares), tensor(squares), tensor(squares));
    stream.call(MF_CANN(aclnnReduceSum), tensor(squares), ints({1, 2}), false, ACL_FLOAT,
                tensor(sums));
    stream.call(MF_CANN(aclnnSqrt), tensor(sums), tensor(sums));
    stream.call(MF_CANN(aclnnCast), tensor(sums), norms.type, tensor(norms));
    stream.call(MF_CANN(aclnnAdds), tensor(norms), scalar(eps), scalar(1), tensor(norms));
    stream.call(MF_CANN(aclnnDiv), tensor(matrices),
                tensor(reshape(norms, {experts, 1, 1})), tensor(out));
    for (auto step = coefficients.begin(); step != coefficients.end(); step += 3) {
      stream.call(MF_CANN(aclnnMatmul), tensor(isTall ? transpose(out) : out),
                  tensor(isTall ? out : transpose(out)), tensor(gram), int8_t{0});
      stream.call(MF_CANN(aclnnMatmul), tensor(gram), tensor(gram), tensor(square),
                  int8_t{0});
      stream.call(MF_CANN(aclnnMuls), tensor(gram), scalar(step[1]), tensor(gram));
      stream.call(MF_CANN(aclnnMuls), tensor(square), scalar(step[2]), tensor(square));
      stream.call(MF_CANN(aclnnAdd), tensor(gram), tensor(square), scalar(1),
                  tensor(gram));
      stream.call(MF_CANN(aclnnMatmul), tensor(isTall ? out : gram),
                  tensor(isTall ? transpose(gram) : out), tensor(product), int8_t{0});
      stream.call(MF_CANN(aclnnMuls), tensor(out), scalar(step[0]), tensor(out));
      stream.call(MF_CANN(aclnnAdd), tensor(out), tensor(product), scalar(1),
                  tensor(out));
    } }];
  let cannHeaders = ["cast", "mul", "reduce_sum", "sqrt", "add", "div", "matmul"];
  let summary = "nearly orthogonal matrices, by Newton-Schulz iterations";
  let parts = "eRC -> eRC";
  let description = [{Operands are [experts, rows, columns] in 16 bits. x = matrices /
    (norm + `eps`), where the sum of squares is in fp32; then for each three
    coefficients a, b, c: A = x xT, x = a x + (b A + c A A) x. If there are more rows
    than columns, A = xT x, and is multiplied from the other side. Each result is
    rounded as if it came from a kernel of its own, and FLOPs, bytes and time are the
    sums of those kernels'.}];
  let inputs = (ins In:$matrices);
  let outputs = (outs OutOrSameAs<["matrices"]>:$out);
  let attributes = (attrs Doubles:$coefficients, Double:$eps);
  let engine = Cube;
  let kind = "optimizer";
  let flops = "sumFlops(getSpecs(getNewtonSchulzSequence(spec)))";
  let bytes = "sumBytes(getSpecs(getNewtonSchulzSequence(spec)))";
  let members = "getSpecs(getNewtonSchulzSequence(spec))";
  let workspace = "getNewtonSchulzWorkspace(spec)";
}

def TakeGradient : Kernel<"mfTakeGradient", "makeTakeGradient"> {
  let cannBody = [{
    stream.require(factors.empty(), "expected a gradient without factors; lower with "
                                    "--for-cann");
    if (grad.type == ACL_FLOAT)
      stream.call(MF_CANN(aclnnInplaceCopy), tensor(out), tensor(grad));
    else
      stream.call(MF_CANN(aclnnCast), tensor(grad), ACL_FLOAT, tensor(out));}];
  let cannHeaders = ["copy", "cast"];
  let summary = "a gradient in fp32";
  let parts = "*, . -> *";
  let description = "`factors` multiply the gradient as in aclnnForeachNorm.";
  let inputs = (ins In:$grad, FactorsIn:$factors);
  let outputs = (outs Out:$out);
  let kind = "elementwise";
}

def UpdateAverage : Kernel<"mfUpdateAverage", "makeUpdateAverage"> {
  let cannBody = [{
    const bool isFloat = state.type == ACL_FLOAT;
    if (isFloat)
      stream.call(MF_CANN(aclnnInplaceCopy), tensor(out), tensor(state));
    else
      stream.call(MF_CANN(aclnnCast), tensor(state), ACL_FLOAT, tensor(out));
    if (stream.isSet(overflow))
      return;
    const double beta =
        grows ? 1 - std::pow(double{stream.getHostValue(step)}, -decay) : decay;
    const CannTensor added = stream.makeScratch(x.dims, ACL_FLOAT);
    stream.call(MF_CANN(aclnnMuls), tensor(x), scalar(1 - beta), tensor(added));
    stream.call(MF_CANN(aclnnAdd), tensor(added), tensor(out), scalar(beta), tensor(out));
    if (isFloat) {
      stream.call(MF_CANN(aclnnInplaceCopy), tensor(state), tensor(out));
    } else {
      stream.call(MF_CANN(aclnnCast), tensor(out), state.type, tensor(state));
      stream.call(MF_CANN(aclnnCast), tensor(state), ACL_FLOAT, tensor(out));
    } }];
  let cannHeaders = ["copy", "cast", "mul", "add"];
  let summary = "state = beta state + (1 - beta) x; out = state in fp32";
  let parts = "*, ., . -> *, *";
  let description = [{beta is `decay`, or 1 - step^-decay with `grows`. `out` is the
    state after it is rounded to its own type. If `overflow` is not 0 the state
    does not change.}];
  let inputs = (ins In:$x, In:$step, In:$overflow);
  let outputs = (outs Updated:$state, Out:$out);
  let attributes = (attrs Double:$decay, Bool:$grows);
  let kind = "optimizer";
}

def TakeStep : Kernel<"mfTakeStep", "makeTakeStep"> {
  let cannBody = [{
    if (stream.isSet(overflow))
      return;
    // Each product is rounded before the difference is.
    const double rate = stream.getHostValue(lr);
    const CannTensor taken = stream.makeScratch(direction.dims, ACL_FLOAT);
    const CannTensor wide = stream.makeFloat(var);
    stream.call(MF_CANN(aclnnCast), tensor(direction), ACL_FLOAT, tensor(taken));
    stream.call(MF_CANN(aclnnInplaceMuls), tensor(taken), scalar(rate * scale));
    if (var.type != ACL_FLOAT)
      stream.call(MF_CANN(aclnnCast), tensor(var), ACL_FLOAT, tensor(wide));
    stream.call(MF_CANN(aclnnInplaceMuls), tensor(wide), scalar(1 - rate * weight_decay));
    stream.call(MF_CANN(aclnnSub), tensor(wide), tensor(taken), scalar(1), tensor(wide));
    if (var.type != ACL_FLOAT)
      stream.call(MF_CANN(aclnnCast), tensor(wide), var.type, tensor(var));}];
  let cannHeaders = ["cast", "mul", "sub"];
  let summary = "var = (1 - lr weight_decay) var - lr scale direction";
  let parts = "*, ., . -> *";
  let description = [{Nothing changes if `overflow` is not 0.}];
  let inputs = (ins In:$direction, In:$lr, In:$overflow);
  let outputs = (outs Updated:$var);
  let attributes = (attrs Double:$scale, Double:$weight_decay);
  let kind = "optimizer";
}

def LogitFactors : Kernel<"mfLogitFactors", "makeLogitFactors"> {
  let cannBody = [{
    stream.call(MF_CANN(aclnnInplaceFillScalar), tensor(factors), scalar(1));
    if (stream.isSet(overflow))
      return;
    // threshold / largest where that is at most 1, else 1.
    const int64_t heads = largest.dims[0];
    const CannTensor clips = stream.makeScratch(largest.dims, ACL_BOOL);
    const CannTensor share = stream.makeScratch(largest.dims, ACL_FLOAT);
    const CannTensor root = stream.makeScratch(largest.dims, ACL_FLOAT);
    stream.call(MF_CANN(aclnnGeScalar), tensor(largest), scalar(threshold), tensor(clips));
    stream.call(MF_CANN(aclnnLogicalNot), tensor(clips), tensor(clips));
    stream.call(MF_CANN(aclnnInplaceFillScalar), tensor(share), scalar(threshold));
    stream.call(MF_CANN(aclnnDiv), tensor(share), tensor(largest), tensor(share));
    stream.call(MF_CANN(aclnnInplaceMaskedFillScalar), tensor(share), tensor(clips),
                scalar(1));
    std::vector<CannTensor> periods;
    int64_t period = 0;
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (roots[i] % 2 == 0)
        stream.call(MF_CANN(aclnnInplaceFillScalar), tensor(root), scalar(1));
      else
        stream.call(MF_CANN(aclnnSqrt), tensor(share), tensor(root));
      for (int64_t power = 0; power < roots[i] / 2; ++power)
        stream.call(MF_CANN(aclnnMul), tensor(root), tensor(share), tensor(root));
      periods.push_back(stream.makeScratch({heads, sizes[i]}, ACL_FLOAT));
      period += sizes[i];
      stream.call(MF_CANN(aclnnInplaceCopy), tensor(periods.back()),
                  tensor(withColumn(root)));
    }
    stream.call(MF_CANN(aclnnCat), list(periods), int64_t{1},
                tensor(reshape(factors, {heads, period})));}];
  let cannHeaders = ["fill_scalar", "ge_scalar", "logical_not", "div", "masked_fill_scalar", "sqrt", "mul", "copy", "cat"];
  let summary = "factors of rows of a weight, by the largest logits of its heads";
  let parts = "getLogitFactorParts(spec)";
  let description = [{Each head has a period of rows of `sizes`, whose factors are
    sqrt(threshold / largest) to the power of `roots`, or 1 if largest is below
    `threshold` or `overflow` is not 0. The factors of the `rest` rows after the
    last period are 1.}];
  let inputs = (ins In:$largest, In:$overflow);
  let outputs = (outs Out:$factors);
  let attributes = (attrs Double:$threshold, Ints:$sizes, Ints:$roots, OptionalInt:$rest);
  let kind = "optimizer";
}

def ScaleRows : Kernel<"mfScaleRows", "makeScaleRows"> {
  let cannBody = [{
    const CannTensor wide = stream.makeFloat(var);
    if (var.type != ACL_FLOAT)
      stream.call(MF_CANN(aclnnCast), tensor(var), ACL_FLOAT, tensor(wide));
    stream.call(MF_CANN(aclnnMul), tensor(wide), tensor(withColumn(scales)), tensor(wide));
    if (var.type != ACL_FLOAT)
      stream.call(MF_CANN(aclnnCast), tensor(wide), var.type, tensor(var));}];
  let cannHeaders = ["cast", "mul"];
  let summary = "var = scales var, a scale for each row";
  let parts = "v -> vc";
  let inputs = (ins In:$scales);
  let outputs = (outs Updated:$var);
  let kind = "optimizer";
}

def AverageWeight : Kernel<"mfAverageWeight", "makeAverageWeight"> {
  let cannBody = [{
    const auto number = static_cast<int64_t>(stream.getHostValue(step));
    if (stream.isSet(overflow) || number % interval != 0)
      return;
    const auto part = static_cast<float>(share);
    const CannTensor wide = stream.makeScratch(var.dims, ACL_FLOAT);
    stream.call(MF_CANN(aclnnCast), tensor(var), ACL_FLOAT, tensor(wide));
    stream.call(MF_CANN(aclnnInplaceMuls), tensor(wide), scalar(sums ? 1 : part));
    stream.call(MF_CANN(aclnnAdd), tensor(wide), tensor(average),
                scalar(sums ? 1 : 1 - part), tensor(average));
    if (number / interval % fused != 0)
      return;
    stream.call(MF_CANN(aclnnDivs), tensor(average),
                scalar(sums ? static_cast<double>(fused) : 1), tensor(wide));
    stream.call(MF_CANN(aclnnCast), tensor(wide), var.type, tensor(var));
    stream.call(MF_CANN(aclnnInplaceZero), tensor(average));}];
  let cannHeaders = ["cast", "mul", "add", "div", "zero"];
  let summary = "what PmaAdamW does behind AdamW's step of one parameter";
  let parts = "., . -> *, *";
  let description = [{On a step that `interval` divides, average becomes
    (1 - share) average + share var, with `sums` average + var. Where
    interval * fused divides it too, var then becomes the average, with `sums`
    average / fused, and average 0. Nothing changes if `overflow` is not 0. FLOPs
    and bytes are means over steps.}];
  let inputs = (ins In:$step, In:$overflow);
  let outputs = (outs Updated:$var, Updated:$average);
  let attributes = (attrs Int:$interval, Int:$fused, Double:$share, Bool:$sums);
  let kind = "optimizer";
  let flops = "getMeanOfSteps(spec, 3 * spec.outputs[0].getNumElements())";
  let bytes = "getMeanOfSteps(spec, getMovedBytes(spec, /*readOutputs=*/3))";
}
