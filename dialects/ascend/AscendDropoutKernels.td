//===- AscendDropoutKernels.td - Random masks ------------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Part of AscendKernels.td.
//
//===----------------------------------------------------------------------===//

include "dialects/ascend/AscendKernelBase.td"

def DropoutGenMask : Kernel<"aclnnDropoutGenMask", "makeDropoutMask"> {
  // The host draws the mask, because CANN's generator has different bits.
  let cannBody = [{
    stream.drawMask(draw, firsts, out, rate, key, shape, starts, cut_dims);}];
  let summary = "random bits, 0 with probability `rate`";
  let parts = "getDropoutMaskParts(spec)";
  let description = [{A byte has eight bits, and the size is padded with zeros to
    a multiple of 128 bits. Seed and offset are a tensor, where aclnn's are
    numbers: `draw` has the seed, the number of the step's update and that of the
    micro-batch. Philox 4x32-10 computes a key from these and from `key`, which
    stands for the operator, and with this key 32 bits for each element from the
    element's index in a tensor of `shape`. The mask is the part of that tensor
    that begins at `starts`, plus `firsts` in the dimensions `cut_dims`.}];
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
