//===- AscendDropoutKernels.td - Random masks ------------------*- tablegen -*-===//
//
// Part of AscendKernels.td.
//
//===----------------------------------------------------------------------===//

include "dialects/ascend/AscendKernelBase.td"

def DropoutGenMask : Kernel<"aclnnDropoutGenMask", "makeDropoutMask"> {
  // The host draws the mask: the bits of CANN's generator are others.
  let cannBody = [{
    stream.drawMask(draw, firsts, out, rate, key, shape, starts, cut_dims);}];
  let summary = "random bits, 0 with probability `rate`";
  let parts = "getDropoutMaskParts(spec)";
  let description = [{Eight bits to a byte, in units of 128, the last one filled
    up with zeros. Seed and offset of aclnn are data: `draw` is the seed, the
    number of the step's update and that of the micro-batch. Philox 4x32-10 makes
    a key of these and of `key`, which stands for the operator, and under it 32
    bits for each element, whose number is that in a tensor of `shape`, of which
    the mask is the part from `starts` and, in the dimensions `cut_dims`,
    `firsts` on.}];
  let inputs = (ins In:$draw, OptionalVariadicIn:$firsts);
  let outputs = (outs Out:$out);
  let attributes = (attrs Double:$rate, Int:$key, Ints:$shape, Ints:$starts,
                          Ints:$cut_dims);
  let kind = "elementwise";
  // Ten rounds of eight operations compute four words.
  let flops = "20 * spec.outputs[0].getNumElements()";
}

def DropoutDoMask : Kernel<"aclnnDropoutDoMask", "makeDropout"> {
  let cann = "tensor(self), tensor(mask), rate, tensor(out)";
  let summary = "self / (1 - rate) where the mask is 1, else 0";
  let parts = "+*, * -> *";
  let inputs = (ins In:$self, In:$mask);
  let outputs = (outs OutOrSameAs<["self"]>:$out);
  let attributes = (attrs Double:$rate);
  let kind = "elementwise";
}
