//===- AscendHyperConnectionKernels.td - Residual streams --*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Part of AscendKernels.td.
//
//===----------------------------------------------------------------------===//

// Computes `streams`, the dimensions [batch, sequence, count, hidden] of the
// tensor `x`. CANN's kernels take no others than 4 streams in 16 bits.
class StreamDims<string count> {
  string text = !subst("COUNT", count, [{
    const int64_t count = COUNT;
    stream.require(count == 4 && x.type != ACL_FLOAT &&
                       x.dims.back() / count % 128 == 0,
                   "expected 4 streams in 16 bits, each a multiple of 128 wide");
    const Dims streams = {x.dims[0], x.dims[1], count, x.dims.back() / count};
}]);
}

// The first division of Sinkhorn's iterations is that by columns.
def MhcPreSinkhorn : Kernel<"aclnnMhcPreSinkhorn", "makeMhcPre"> {
  let cannBody = [{
    stream.require(count == 4 && iterations == 20 && x.type != ACL_FLOAT &&
                       hIn.dims.back() % 128 == 0,
                   "expected 4 streams in 16 bits, each a multiple of 128 wide, "
                   "and 20 iterations");
    stream.call(MF_CANN(aclnnMhcPreSinkhorn),
                tensor(reshape(x, {x.dims[0], x.dims[1], count, hIn.dims.back()})),
                tensor(phi), tensor(alpha), tensor(bias), count, iterations, least,
                epsilon, true, tensor(hIn), tensor(hPost),
                tensor(reshape(hRes, {x.dims[0], x.dims[1], count * count})),
                tensor(hPre), tensor(hcBeforeNorm), tensor(withColumn(invRms)),
                tensor(sumOut), tensor(normOut));}];
  let summary = "what a layer reads of residual streams, and how they are mixed";
  let parts = "bsK, MK, F, M -> bsH, bsN, bsIJ, bsN, bsM, bs, LbsN, LbsIJ";
  let description = [{`x` is [batch, sequence, `count` * hidden], where aclnn's has the
    streams in a dimension of their own; `invRms` lacks aclnn's last dimension, of 1.
    `count` is aclnn's hcMult, `least` its hcEps, and `epsilon` its normEps; its
    needGrad is true. The first row of `sumOut` is 0; aclnn does not say what it
    is.}];
  let inputs = (ins In:$x, In:$phi, In:$alpha, In:$bias);
  let outputs = (outs Out:$hIn, Out:$hPost, Out:$hRes, Out:$hPre,
                      Out:$hcBeforeNorm, Out:$invRms, Out:$sumOut,
                      Out:$normOut);
  let attributes = (attrs Int:$count, Int:$iterations, Double:$least,
                          Double:$epsilon);
  let kind = "norm";
  let flops = "getProjectionFlops(spec, 0, 1, 1)";
  let measures = [Measure<"rows", "getRows(spec.inputs[0])">,
                  Measure<"columns", "getColumns(spec.inputs[0])">];
}

def MhcPreSinkhornBackward
    : Kernel<"aclnnMhcPreSinkhornBackward", "makeMhcPreBackward"> {
  let cannBody = StreamDims<"hPre.dims.back()">.text # [{
    stream.call(MF_CANN(aclnnMhcPreSinkhornBackward), tensor(gradHIn),
                tensor(gradHPost), tensor(gradHRes), tensor(reshape(x, streams)),
                tensor(phi), tensor(alpha), tensor(bias), tensor(hPre),
                tensor(hcBeforeNorm), tensor(withColumn(invRms)), tensor(sumOut),
                tensor(normOut), least, tensor(reshape(gradX, streams)),
                tensor(gradPhi), tensor(gradAlpha), tensor(gradBias));}];
  let summary = "gradients of aclnnMhcPreSinkhorn";
  let parts = "+bsH, +bsN, +bsIJ, bsK, MK, F, M, bsN, bsM, bs, LbsN, LbsIJ -> "
              # "bsK, MK, F, M";
  let description = "`least` is aclnn's hcEps.";
  let inputs = (ins In:$gradHIn, In:$gradHPost, In:$gradHRes, In:$x, In:$phi,
                    In:$alpha, In:$bias, In:$hPre, In:$hcBeforeNorm,
                    In:$invRms, In:$sumOut, In:$normOut);
  let outputs = (outs Out:$gradX, Out:$gradPhi, Out:$gradAlpha,
                      Out:$gradBias);
  let attributes = (attrs Double:$least);
  let kind = "norm_grad";
  let flops = "getProjectionFlops(spec, 3, 4, 2)";
  let workspace = "getMhcPreBackwardWorkspace(spec)";
  let measures = [Measure<"rows", "getRows(spec.inputs[3])">,
                  Measure<"columns", "getColumns(spec.inputs[3])">];
}

def MhcPost : Kernel<"aclnnMhcPost", "makeMhcPost"> {
  let cannBody = StreamDims<"hPost.dims.back()">.text # [{
    stream.call(MF_CANN(aclnnMhcPost), tensor(reshape(x, streams)), tensor(hRes),
                tensor(hOut), tensor(hPost), tensor(reshape(out, streams)));}];
  let summary = "residual streams mixed, with shares of a layer's result added";
  let parts = "+bsK, bsIJ, +bsH, bsN -> bsK";
  let description = [{`x` and `out` are [batch, sequence, streams * hidden], where
    aclnn's have the streams in a dimension of their own.}];
  let inputs = (ins In:$x, In:$hRes, In:$hOut, In:$hPost);
  let outputs = (outs Out:$out);
  let kind = "elementwise";
  let flops = "getProjectionFlops(spec, 0, 3, 1)";
}

def MhcPostBackward : Kernel<"aclnnMhcPostBackward", "makeMhcPostBackward"> {
  let cannBody = StreamDims<"hPost.dims.back()">.text # [{
    stream.call(MF_CANN(aclnnMhcPostBackward), tensor(reshape(gradOut, streams)),
                tensor(reshape(x, streams)), tensor(hRes), tensor(hOut),
                tensor(hPost), tensor(reshape(gradX, streams)), tensor(gradHRes),
                tensor(gradHOut), tensor(gradHPost));}];
  let summary = "gradients of aclnnMhcPost";
  let parts = "+bsK, bsK, bsIJ, bsH, bsN -> bsK, bsIJ, bsH, bsN";
  let inputs = (ins In:$gradOut, In:$x, In:$hRes, In:$hOut, In:$hPost);
  let outputs = (outs Out:$gradX, Out:$gradHRes, Out:$gradHOut,
                      Out:$gradHPost);
  let kind = "elementwise";
  let flops = "getProjectionFlops(spec, 0, 4, 2)";
}
