//===- AscendNormKernels.td - Norms, gates and sums --------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Part of AscendKernels.td: kernels that work on rows.
//
//===----------------------------------------------------------------------===//

def RmsNorm : Kernel<"aclnnRmsNorm", "makeRmsNorm"> {
  let cann = [{tensor(x), tensor(gamma), epsilon, tensor(y),
              tensor(withColumn(rstd))}];
  let summary = "root-mean-square normalisation over the last dimension";
  let parts = "*K, K -> *K, *";
  let description = [{`rstd` has the dimensions of x but the last, which is 1 in
    aclnn's.}];
  let inputs = (ins In:$x, In:$gamma);
  let outputs = (outs Out:$y, Out:$rstd);
  let attributes = (attrs Double:$epsilon);
  let kind = "norm";
  let workspace = "getRmsNormWorkspace(spec)";
  let measures = [Measure<"rows", "getRows(spec.inputs[0])">,
                  Measure<"columns", "getColumns(spec.inputs[0])">];
  let profiled = ["RmsNorm"];
}

def RmsNormGrad : Kernel<"aclnnRmsNormGrad", "makeRmsNormGrad"> {
  let cannBody = [{
    const CannTensor sum = stream.makeFloat(dgamma);
    stream.call(MF_CANN(aclnnRmsNormGrad), tensor(dy), tensor(x),
                tensor(withColumn(rstd)), tensor(gamma), tensor(dx), tensor(sum));
    if (sum.type != dgamma.type)
      stream.call(MF_CANN(aclnnCast), tensor(sum), dgamma.type, tensor(dgamma));}];
  let cannHeaders = ["rms_norm_grad", "cast"];
  let summary = "gradients of aclnnRmsNorm";
  let parts = "+*K, *K, *, K -> *K, K";
  let description = "`dgamma` has gamma's type; aclnn's is always fp32.";
  let inputs = (ins In:$dy, In:$x, In:$rstd, In:$gamma);
  let outputs = (outs Out:$dx, Out:$dgamma);
  let kind = "norm_grad";
  let workspace = "getRmsNormGradWorkspace(spec)";
  let measures = [Measure<"rows", "getRows(spec.inputs[1])">,
                  Measure<"columns", "getColumns(spec.inputs[1])">];
  let profiled = ["RmsNormGrad"];
}

def LayerNorm : Kernel<"aclnnLayerNorm", "makeLayerNorm"> {
  let cann = [{tensor(input), ints({input.dims.back()}), tensor(weight),
              tensor(bias), eps, tensor(out), tensor(withColumn(meanOut)),
              tensor(withColumn(rstdOut))}];
  let summary = "normalisation over the last dimension";
  let parts = "*K, K, K -> *K, *, *";
  let description = [{`meanOut` and `rstdOut` have the dimensions of input but
    the last, which is 1 in aclnn's.}];
  let inputs = (ins In:$input, In:$weight, In:$bias);
  let outputs = (outs Out:$out, Out:$meanOut, Out:$rstdOut);
  let attributes = (attrs Double:$eps);
  let kind = "norm";
  let workspace = "getLayerNormWorkspace(spec)";
  let measures = [Measure<"rows", "getRows(spec.inputs[0])">,
                  Measure<"columns", "getColumns(spec.inputs[0])">];
  let profiled = ["LayerNorm", "LayerNormV3", "LayerNormV4"];
}

def LayerNormBackward : Kernel<"aclnnLayerNormBackward",
                               "makeLayerNormBackward"> {
  // The weight stands for the bias, of which CANN takes the shape and the type.
  let cannBody = [{
    const bool hasFactors = !gradFactors.empty();
    const CannTensor none;
    stream.call(MF_CANN(aclnnLayerNormBackward), tensor(gradOut), tensor(input),
                ints({input.dims.back()}), tensor(withColumn(mean)),
                tensor(withColumn(rstd)), tensor(weight), tensor(weight),
                flags({true, hasFactors, hasFactors}), tensor(gradInput),
                tensor(hasFactors ? gradFactors[0] : none),
                tensor(hasFactors ? gradFactors[1] : none));}];
  let summary = "gradients of aclnnLayerNorm";
  let parts = "+*K, *K, *, *, K -> *K, K";
  let description = [{aclnn's kernel also takes the bias, whose values it does
    not read. `gradFactors` are aclnn's gradWeight and gradBias, or empty, in
    which case its `outputMask` has neither.}];
  let inputs = (ins In:$gradOut, In:$input, In:$mean, In:$rstd, In:$weight);
  let outputs = (outs Out:$gradInput, OptionalVariadicOut:$gradFactors);
  let kind = "norm_grad";
  let workspace = "getLayerNormBackwardWorkspace(spec)";
  let measures = [Measure<"rows", "getRows(spec.inputs[1])">,
                  Measure<"columns", "getColumns(spec.inputs[1])">];
  let profiled = ["LayerNormGrad", "LayerNormGradV3"];
}

def Softmax : Kernel<"aclnnSoftmax", "makeSoftmax"> {
  let cann = "tensor(self), int64_t{-1}, tensor(out)";
  let summary = "softmax over the last dimension";
  let parts = "*K -> *K";
  let description = "aclnn's dim is -1.";
  let inputs = (ins In:$self);
  let outputs = (outs Out:$out);
  let kind = "softmax";
  let measures = [Measure<"rows", "getRows(spec.inputs[0])">,
                  Measure<"columns", "getColumns(spec.inputs[0])">];
  let profiled = ["Softmax", "SoftmaxV2"];
}

def SoftmaxBackward : Kernel<"aclnnSoftmaxBackward", "makeSoftmaxBackward"> {
  let cann = "tensor(gradOutput), tensor(output), int64_t{-1}, tensor(gradInput)";
  let summary = "gradient of aclnnSoftmax";
  let parts = "+*K, *K -> *K";
  let inputs = (ins In:$gradOutput, In:$output);
  let outputs = (outs Out:$gradInput);
  let kind = "softmax";
  let measures = [Measure<"rows", "getRows(spec.inputs[0])">,
                  Measure<"columns", "getColumns(spec.inputs[0])">];
  let profiled = ["SoftmaxGrad"];
}

def Sinkhorn : Kernel<"mfSinkhorn", "makeSinkhorn"> {
  let cannBody = [{
    const size_t rank = self.dims.size();
    Dims rows = self.dims, columns = self.dims;
    rows[rank - 1] = 1;
    columns[rank - 2] = 1;
    const CannTensor rowSums = stream.makeScratch(rows, ACL_FLOAT);
    const CannTensor columnSums = stream.makeScratch(columns, ACL_FLOAT);
    stream.call(MF_CANN(aclnnSoftmax), tensor(self), int64_t{-1}, tensor(out));
    stream.call(MF_CANN(aclnnAdds), tensor(out), scalar(epsilon), scalar(1),
                tensor(out));
    for (int64_t i = 0; i < (iterations < 1 ? 1 : 2 * iterations - 1); ++i) {
      const CannTensor sums = i % 2 == 0 ? columnSums : rowSums;
      const auto axis = static_cast<int64_t>(rank) - (i % 2 == 0 ? 2 : 1);
      stream.call(MF_CANN(aclnnReduceSum), tensor(out), ints({axis}), true,
                  ACL_FLOAT, tensor(sums));
      stream.call(MF_CANN(aclnnAdds), tensor(sums), scalar(epsilon), scalar(1),
                  tensor(sums));
      stream.call(MF_CANN(aclnnDiv), tensor(out), tensor(sums), tensor(out));
    }
  }];
  let cannHeaders = ["softmax", "add", "reduce_sum", "div"];
  let summary = "rows and columns of square matrices divided by their sums in turn";
  let parts = "*IJ -> *IJ";
  let description = [{Begins with a softmax of rows plus `epsilon`. `iterations`
    count the divisions by columns; 0 are as 1.}];
  let inputs = (ins In:$self);
  let outputs = (outs OutOrSameAs<["self"]>:$out);
  let attributes = (attrs Int:$iterations, Double:$epsilon);
  let kind = "softmax";
  let flops = "getSinkhornFlops(spec)";
  let measures = [Measure<"rows", "getRows(spec.inputs[0])">,
                  Measure<"columns", "getColumns(spec.inputs[0])">];
}

def SinkhornBackward : Kernel<"mfSinkhornBackward", "makeSinkhornBackward"> {
  let cannBody = [{
    const size_t rank = self.dims.size();
    const int64_t divisions = iterations < 1 ? 1 : 2 * iterations - 1;
    const auto getAxis = [&](int64_t i) {
      return static_cast<int64_t>(rank) - (i % 2 == 0 ? 2 : 1);
    };
    const auto makeSums = [&](int64_t i) {
      Dims dims = self.dims;
      dims[static_cast<size_t>(getAxis(i))] = 1;
      return stream.makeScratch(dims, ACL_FLOAT);
    };
    const CannTensor first = stream.makeScratch(self.dims, ACL_FLOAT);
    CannTensor current = stream.makeScratch(self.dims, ACL_FLOAT);
    std::vector<CannTensor> quotients, divisors;
    stream.call(MF_CANN(aclnnSoftmax), tensor(self), int64_t{-1}, tensor(first));
    stream.call(MF_CANN(aclnnAdds), tensor(first), scalar(epsilon), scalar(1),
                tensor(current));
    for (int64_t i = 0; i < divisions; ++i) {
      const CannTensor sums = makeSums(i);
      const CannTensor quotient = stream.makeScratch(self.dims, ACL_FLOAT);
      stream.call(MF_CANN(aclnnReduceSum), tensor(current), ints({getAxis(i)}),
                  true, ACL_FLOAT, tensor(sums));
      stream.call(MF_CANN(aclnnAdds), tensor(sums), scalar(epsilon), scalar(1),
                  tensor(sums));
      stream.call(MF_CANN(aclnnDiv), tensor(current), tensor(sums),
                  tensor(quotient));
      quotients.push_back(quotient);
      divisors.push_back(sums);
      current = quotient;
    }
    CannTensor gradient = gradOutput;
    for (int64_t i = divisions - 1; i >= 0; --i) {
      const auto place = static_cast<size_t>(i);
      const CannTensor product = stream.makeScratch(self.dims, ACL_FLOAT);
      const CannTensor rest = stream.makeScratch(self.dims, ACL_FLOAT);
      const CannTensor total = makeSums(i);
      stream.call(MF_CANN(aclnnMul), tensor(gradient), tensor(quotients[place]),
                  tensor(product));
      stream.call(MF_CANN(aclnnReduceSum), tensor(product), ints({getAxis(i)}),
                  true, ACL_FLOAT, tensor(total));
      stream.call(MF_CANN(aclnnSub), tensor(gradient), tensor(total), scalar(1),
                  tensor(rest));
      stream.call(MF_CANN(aclnnDiv), tensor(rest), tensor(divisors[place]),
                  tensor(rest));
      gradient = rest;
    }
    stream.call(MF_CANN(aclnnSoftmaxBackward), tensor(gradient), tensor(first),
                int64_t{-1}, tensor(gradInput));}];
  let cannHeaders = ["softmax", "add", "reduce_sum", "div", "mul", "sub",
                     "softmax_backward"];
  let summary = "gradient of mfSinkhorn, which repeats the iterations";
  let parts = "+*IJ, *IJ -> *IJ";
  let inputs = (ins In:$gradOutput, In:$self);
  let outputs = (outs OutOrSameAs<["gradOutput", "self"]>:$gradInput);
  let attributes = (attrs Int:$iterations, Double:$epsilon);
  let kind = "softmax";
  let flops = "3 * getSinkhornFlops(spec)";
  let measures = [Measure<"rows", "getRows(spec.inputs[0])">,
                  Measure<"columns", "getColumns(spec.inputs[0])">];
}

def SwiGlu : Kernel<"aclnnSwiGlu", "makeSwiGlu"> {
  let cann = [{tensor(x.dims.size() > out.dims.size() ? joinColumns(x) : x),
              int64_t{-1}, tensor(out)}];
  let summary = "silu(first half) * second half of a dimension";
  let parts = "getGatedParts(spec)";
  let description = [{aclnn's dim is -1, or -2 where `out` has a dimension
    less.}];
  let inputs = (ins In:$x);
  let outputs = (outs Out:$out);
  let kind = "activation";
  let profiled = ["SwiGlu"];
}

def SwiGluGrad : Kernel<"aclnnSwiGluGrad", "makeSwiGluGrad"> {
  let cannBody = [{
    const bool isApart = x.dims.size() > yGrad.dims.size();
    stream.call(MF_CANN(aclnnSwiGluGrad), tensor(yGrad),
                tensor(isApart ? joinColumns(x) : x), int64_t{-1},
                tensor(isApart ? joinColumns(out) : out));}];
  let summary = "gradient of aclnnSwiGlu";
  let parts = "getGatedGradParts(spec)";
  let inputs = (ins In:$yGrad, In:$x);
  let outputs = (outs Out:$out);
  let kind = "activation_grad";
  let profiled = ["SwiGluGrad"];
}

// Makes `part` of `whole`, and `turned` for the part of `result`, with tables of
// the part's type, which CANN requires, calls `rotation`, and puts `turned` in
// its place. A part is rotated in the type of its tables.
class CannRotation<string whole, string result, string rotation> {
  string text = !subst("WHOLE", whole, !subst("RESULT", result, [{
    const int64_t columns = cos.dims.back();
    const bool isPart = columns != WHOLE.dims.back();
    CannTensor part = WHOLE, turned = RESULT, cosTable = cos, sinTable = sin;
    if (isPart) {
      Dims dims = WHOLE.dims;
      dims.back() = columns;
      part = stream.makeScratch(dims, WHOLE.type);
      stream.call(MF_CANN(aclnnInplaceCopy), tensor(part),
                  tensor(takeColumns(WHOLE, start, columns)));
      if (cos.type != part.type) {
        const CannTensor wide = stream.makeScratch(dims, cos.type);
        stream.call(MF_CANN(aclnnCast), tensor(part), cos.type, tensor(wide));
        part = wide;
      }
      turned = stream.makeScratch(dims, part.type);
    } else if (cos.type != part.type) {
      cosTable = stream.makeScratch(cos.dims, part.type);
      sinTable = stream.makeScratch(sin.dims, part.type);
      stream.call(MF_CANN(aclnnCast), tensor(cos), part.type, tensor(cosTable));
      stream.call(MF_CANN(aclnnCast), tensor(sin), part.type, tensor(sinTable));
    }
    const int64_t mode = interleaved ? 1 : 0; }] # rotation # [{
    if (isPart) {
      if (turned.type != RESULT.type) {
        const CannTensor narrow = stream.makeScratch(turned.dims, RESULT.type);
        stream.call(MF_CANN(aclnnCast), tensor(turned), RESULT.type, tensor(narrow));
        turned = narrow;
      }
      stream.call(MF_CANN(aclnnInplaceCopy), tensor(RESULT), tensor(WHOLE));
      stream.call(MF_CANN(aclnnInplaceCopy),
                  tensor(takeColumns(RESULT, start, columns)), tensor(turned));
    } }]));
}

def RotaryPositionEmbedding
    : Kernel<"aclnnRotaryPositionEmbedding", "makeRotary"> {
  let cannBody = CannRotation<"x", "out", [{
    stream.call(MF_CANN(aclnnRotaryPositionEmbedding), tensor(withFour(part)),
                tensor(withFour(cosTable)), tensor(withFour(sinTable)), mode,
                tensor(withFour(turned)));}]>.text;
  let cannHeaders = ["rotary_position_embedding", "cast", "copy"];
  let summary = "rotary position embedding of halves or neighbours";
  let parts = "+*D, *R, *R -> *D";
  let description = [{This is aclnn's mode 0, and mode 1 if `interleaved`. The tables may be fp32
    if x is bf16, and are broadcast over dimensions that they lack or that are 1.
    Tables with fewer columns than x rotate those from `start` on, and the others
    stay.}];
  let inputs = (ins In:$x, In:$cos, In:$sin);
  let outputs = (outs Out:$out);
  let attributes = (attrs OptionalBool:$interleaved, OptionalInt:$start);
  let kind = "rotary";
  let profiled = ["RotaryPositionEmbedding", "RotaryMul"];
}

def RotaryPositionEmbeddingGrad
    : Kernel<"aclnnRotaryPositionEmbeddingGrad", "makeRotary"> {
  let cannBody = CannRotation<"dy", "dx", [{
    const CannTensor none = empty(part.type);
    stream.call(MF_CANN(aclnnRotaryPositionEmbeddingGrad), tensor(withFour(part)),
                tensor(withFour(cosTable)), tensor(withFour(sinTable)), nullptr,
                mode, tensor(withFour(turned)), tensor(none), tensor(none));}]>.text;
  let cannHeaders = ["rotary_position_embedding_grad", "cast", "copy"];
  let summary = "gradient of aclnnRotaryPositionEmbedding";
  let parts = "+*D, *R, *R -> *D";
  let description = "The gradient is that of x only, since the tables are constants.";
  let inputs = (ins In:$dy, In:$cos, In:$sin);
  let outputs = (outs Out:$dx);
  let attributes = (attrs OptionalBool:$interleaved, OptionalInt:$start);
  let kind = "rotary";
  let profiled = ["RotaryPositionEmbeddingGrad", "RotaryMulGrad"];
}

def Amax : Kernel<"aclnnAmax", "makeLargest"> {
  let cann = "tensor(self), ints(axes), keep_dims, tensor(out)";
  let summary = "largest element over dimensions, the last one among them";
  let parts = "getLargestParts(spec)";
  let description = "`axes` are aclnn's dims.";
  let inputs = (ins In:$self);
  let outputs = (outs Out:$out);
  let attributes = (attrs Ints:$axes, OptionalBool:$keep_dims);
  let kind = "reduction";
  let flops = "spec.inputs[0].getNumElements()";
  let profiled = ["ReduceMax", "ReduceMaxD"];
}

def ReduceSum : Kernel<"aclnnReduceSum", "makeReduceSum"> {
  let cann = "tensor(self), ints(axes), keep_dims, out.type, tensor(out)";
  let summary = "sum over dimensions";
  let parts = "getReducedParts(spec)";
  let description = "`axes` are aclnn's dims; sums are in fp32.";
  let inputs = (ins In:$self);
  let outputs = (outs Out:$out);
  let attributes = (attrs Ints:$axes, OptionalBool:$keep_dims);
  let kind = "reduction";
  let workspace = "getReduceSumWorkspace(spec)";
  let profiled = ["ReduceSum", "ReduceSumD"];
}
