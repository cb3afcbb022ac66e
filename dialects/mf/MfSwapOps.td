//===- MfSwapOps.td - Copies of activations to the host ----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_SWAP_OPS_TD
#define MF_SWAP_OPS_TD

include "dialects/mf/MfOpBase.td"

// A copy between a tensor and its copy in host memory.
class Mf_SwapOp<string mnemonic, dag operands, dag outputs>
    : Mf_Op<mnemonic, [Pure, TypesMatchWith<
        "the host tensor has the type of the one on the device", "tensor", "host",
        "::mf::ir::HostType::get($_self.getContext(), "
        "::llvm::cast<::mlir::RankedTensorType>($_self))">]> {
  let arguments = !con(operands, (ins I64Attr:$distance,
                                      OptionalAttr<StrAttr>:$name));
  let results = outputs;
  let hasVerifier = 1;
  code swapDefs = [{
    ::mlir::LogicalResult $cppClass::verify() {
      return ::mf::ir::verifySwapDistance([&] { return emitOpError(); },
                                          getDistance());
    }
  }];
  let extraClassDefinition = swapDefs;
}

def Mf_OffloadOp : Mf_SwapOp<"offload", (ins Mf_KeptTensor:$tensor),
                             (outs Mf_HostType:$host)> {
  let summary = "the copy of an activation in host memory";
  let description = [{
    The copy starts as soon as `tensor` is computed. The device keeps `tensor` for
    3 * `distance` more kernels, then waits for the copy and reuses the memory
    (MindSpore places the wait behind MoveTo in the same way).

    ```mlir
    %c = mf.offload %a {distance = 2 : i64,
        name = "layers.0.feed_forward.w1.activation.silu"} : tensor<1x4x8xf32>
    ```
  }];
  let assemblyFormat = "$tensor attr-dict `:` type($tensor)";
}

def Mf_PrefetchOp : Mf_SwapOp<"prefetch", (ins Mf_HostType:$host),
                              (outs Mf_KeptTensor:$tensor)> {
  let summary = "an activation that comes back from host memory";
  let description = [{
    The operation stands before the first reader. The copy starts `distance`
    kernels earlier, if necessary in an earlier task of the schedule, but not
    before the forward run that computed the value has ended. The memory on the
    device is in use from the start of the copy.

    ```mlir
    %a = mf.prefetch %c {distance = 2 : i64,
        name = "layers.0.feed_forward.w1.activation.silu"} : tensor<1x4x8xf32>
    ```
  }];
  let assemblyFormat = "$host attr-dict `:` type($tensor)";
}

#endif // MF_SWAP_OPS_TD
