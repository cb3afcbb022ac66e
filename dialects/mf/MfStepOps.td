//===- MfStepOps.td - Schedules and the optimizer --------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_STEP_OPS_TD
#define MF_STEP_OPS_TD

include "dialects/mf/MfModelOps.td"

//===----------------------------------------------------------------------===//
// Schedule
//===----------------------------------------------------------------------===//

def Mf_ScheduleOp : Mf_Op<"schedule", [HasParent<"ModelOp">, NoTerminator,
    SingleBlock, NoRegionArguments]> {
  let summary = "the tasks of one stage in one step, in order";
  let description = [{
    The body has the runs of the stage's chunks and the transfers between them. A
    receive or load comes before its reader, and a send after the run that
    computes its value. Values between chunks of the same stage are operands.

    ```mlir
    mf.schedule stage 1 {
      %x = mf.receive from 0 channel "forward.0" micro_batch 0 : tensor<1x4x8xf32>
      ...
      %y, %f = mf.run_forward @chunk1.forward micro_batch 0(%x, ...) : ...
      ...
    }
    ```
  }];
  let arguments = (ins I64Attr:$stage);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`stage` $stage attr-dict-with-keyword $body";
}

class Mf_TaskOp<string mnemonic, list<Trait> traits = []>
    : Mf_Op<mnemonic, !listconcat([HasParent<"ScheduleOp">], traits)>;

def Mf_LoadOp : Mf_TaskOp<"load"> {
  let summary = "the tokens, labels or draw of one micro-batch, from the host";
  let description = [{
    The copy starts `ahead` runs (1 by default) before the run that reads it, as
    soon as the run before that one has ended. Where a run has several copies of
    the model, copy c of run m reads `micro_batch` m * copies + c.
  }];
  let arguments = (ins Mf_InputKindAttr:$input, I64Attr:$micro_batch,
                       DefaultValuedAttr<I64Attr, "1">:$ahead);
  let results = (outs Mf_LoadedTensor:$result);
  let assemblyFormat = [{
    `` $input `micro_batch` $micro_batch (`ahead` $ahead^)? attr-dict `:`
    type($result)
  }];
  let hasVerifier = 1;
}

def Mf_RunForwardOp : Mf_TaskOp<"run_forward", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "one run of a chunk's forward function";
  let description = [{
    The results are the chunk's outputs and the frame that holds its residuals for
    backward. Each input is a load, a receive, or the output of the chunk before
    on the same stage. A `paired` run shares a slot with the next run. The next
    run uses another frame or, after a backward, is the other half of that
    backward. The parts of the two runs alternate, and neither reads a result of
    the other except a weight gradient.

    ```mlir
    %y:2, %f = mf.run_forward @chunk1.forward micro_batch 0(%x)
        : (tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<f32>, !mf.frame<@chunk1.forward>)
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$forward, I64Attr:$micro_batch,
                       Variadic<Mf_PassedTensor>:$inputs, UnitAttr:$paired);
  let results = (outs Variadic<Mf_FloatTensor>:$outputs, Mf_FrameType:$frame);
  let assemblyFormat = [{
    $forward `micro_batch` $micro_batch `(` $inputs `)` attr-dict `:`
    functional-type(operands, results)
  }];
}

def Mf_LossGradientOp : Mf_TaskOp<"loss_gradient"> {
  let summary = "the gradient of one micro-batch's loss";
  let description = [{
    `value` is 1 / (number of micro-batches), because the step's loss is the mean
    over its micro-batches (MindSpore divides the sensitivity by micro_batch_num).
    With `scaled` it is multiplied by the step's loss scale, a scalar in fp32.
  }];
  let arguments = (ins F64Attr:$value, UnitAttr:$scaled);
  let results = (outs Mf_FloatTensor:$result);
  let assemblyFormat = "$value (`scaled` $scaled^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Mf_RunRecomputeOp : Mf_TaskOp<"run_recompute", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "one run of a chunk's recompute function";
  let description = [{
    The run reads `frame` and adds the recomputed values to it, before the
    `mf.run_backward` of the frame. `arguments` are the arguments and outputs of
    forward that the function takes. The run waits for no gradient.

    ```mlir
    mf.run_recompute @chunk1.recompute micro_batch 0 frame %f(%x)
        : (!mf.frame<@chunk1.forward>, tensor<8x4xf32>) -> ()
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$recompute, I64Attr:$micro_batch,
                       Mf_FrameType:$frame, Variadic<Mf_PassedTensor>:$arguments);
  let assemblyFormat = [{
    $recompute `micro_batch` $micro_batch `frame` $frame `(` $arguments `)`
    attr-dict `:` functional-type(operands, results)
  }];
}

def Mf_RunBackwardOp : Mf_TaskOp<"run_backward", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "one run of a chunk's backward function";
  let description = [{
    The run reads `frame` and adds the parameters' gradients to the stage's
    accumulated gradients. `arguments` are the gradients of the chunk's outputs and
    then the arguments of forward that backward reads again. The results are the
    gradients of the hidden inputs. The run ends the frame, unless the function
    keeps values for a `mf.backward_weights`, which are then added to the frame.
    `paired` has the meaning that it has in mf.run_forward.

    ```mlir
    %dx = mf.run_backward @chunk1.backward micro_batch 0 frame %f(%dy, %daux, %x)
        : (!mf.frame<@chunk1.forward>, tensor<8x4xf32>, tensor<f32>, tensor<8x4xf32>)
        -> tensor<8x4xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$backward, I64Attr:$micro_batch,
                       Mf_FrameType:$frame, Variadic<Mf_PassedTensor>:$arguments,
                       UnitAttr:$paired);
  let results = (outs Variadic<Mf_FloatTensor>:$input_gradients);
  let assemblyFormat = [{
    $backward `micro_batch` $micro_batch `frame` $frame `(` $arguments `)`
    attr-dict `:` functional-type(operands, results)
  }];
}

def Mf_RunBackwardWeightsOp : Mf_TaskOp<"run_backward_weights", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "one run of the weights' half of a chunk's backward";
  let description = [{
    The run reads and ends `frame`, after the `mf.run_backward` of the frame. It
    adds the parameters' gradients to the stage's accumulated gradients.
    `arguments` are the gradients of outputs and the arguments of forward that the
    function takes. No other run waits for it.

    ```mlir
    mf.run_backward_weights @chunk1.weights micro_batch 0 frame %f(%x)
        : (!mf.frame<@chunk1.forward>, tensor<8x4xf32>) -> ()
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$weights, I64Attr:$micro_batch,
                       Mf_FrameType:$frame, Variadic<Mf_PassedTensor>:$arguments);
  let assemblyFormat = [{
    $weights `micro_batch` $micro_batch `frame` $frame `(` $arguments `)`
    attr-dict `:` functional-type(operands, results)
  }];
}

def Mf_SendOp : Mf_TaskOp<"send"> {
  let summary = "sends a tensor to another stage";
  let description = [{
    The transfer is issued when the run before it has ended. The `behind`-th run
    after that one (the second by default) starts only once the transfer has
    ended, and from then on the memory of `value` is free.
  }];
  let arguments = (ins Mf_FloatTensor:$value, I64Attr:$stage, StrAttr:$channel,
                       I64Attr:$micro_batch,
                       DefaultValuedAttr<I64Attr, "0">:$piece,
                       DefaultValuedAttr<I64Attr, "2">:$behind);
  let assemblyFormat = [{
    $value `to` $stage `channel` $channel `micro_batch` $micro_batch
    (`piece` $piece^)? (`behind` $behind^)? attr-dict `:` type($value)
  }];
  let hasVerifier = 1;
}

def Mf_ReceiveOp : Mf_TaskOp<"receive"> {
  let summary = "receives a tensor from another stage";
  let description = [{
    The transfer is issued `ahead` runs (1 by default) before the run that reads
    it, as soon as the run before that one has ended. The memory of the result is
    in use from then on.

    ```mlir
    %x = mf.receive from 0 channel "forward.0" micro_batch 3 ahead 2 : tensor<8x4xf32>
    ```
  }];
  let arguments = (ins I64Attr:$stage, StrAttr:$channel, I64Attr:$micro_batch,
                       DefaultValuedAttr<I64Attr, "0">:$piece,
                       DefaultValuedAttr<I64Attr, "1">:$ahead);
  let results = (outs Mf_FloatTensor:$result);
  let assemblyFormat = [{
    `from` $stage `channel` $channel `micro_batch` $micro_batch
    (`piece` $piece^)? (`ahead` $ahead^)? attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

def Mf_AccumulateLossOp : Mf_TaskOp<"accumulate_loss"> {
  let summary = "adds one micro-batch's loss to the step's loss";
  let description = [{
    The step reports the mean of the losses of its micro-batches.

    ```mlir
    mf.accumulate_loss %loss : tensor<f32>
    ```
  }];
  let arguments = (ins Mf_FloatTensor:$loss);
  let assemblyFormat = "$loss attr-dict `:` type($loss)";
  let hasVerifier = 1;
}

def Mf_RunUpdateOp : Mf_TaskOp<"run_update", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "clipping and the optimizer, once all gradients are summed";
  let description = [{
    Runs `update`, the `mf.update` of the stage.

    ```mlir
    mf.run_update @update1
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$update);
  let assemblyFormat = "$update attr-dict";
}

//===----------------------------------------------------------------------===//
// Optimizer
//===----------------------------------------------------------------------===//

include "dialects/mf/MfUpdateOps.td"

#endif // MF_STEP_OPS_TD
