//===- MfStepOps.td - Schedules and the optimizer --------------*- tablegen -*-===//

#ifndef MF_STEP_OPS_TD
#define MF_STEP_OPS_TD

include "dialects/mf/MfModelOps.td"

//===----------------------------------------------------------------------===//
// Schedule
//===----------------------------------------------------------------------===//

def Mf_ScheduleOp : Mf_Op<"schedule", [HasParent<"ModelOp">, NoTerminator,
    SingleBlock, NoRegionArguments]> {
  let summary = "what one stage runs in one step, in order";
  let description = [{
    Runs of the stage's chunks, and between them what they exchange: a receive
    or load stands before its reader, a send behind the run that makes its
    value. Values between chunks of the stage are operands.

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
    The copy starts `ahead` runs (one, unless said) before the run that
    reads it, as soon as the one before that has ended. Where a run has several
    copies of the model, `micro_batch` counts what each of them reads: that of
    copy c of run m is m * copies + c.
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
    Gives the chunk's outputs, and the frame that holds its residuals for
    backward. An input is loaded, received, or the output of a run of the chunk
    before on the same stage. A `paired` run is in one slot with the next run,
    which is of another frame or, behind a backward, its other half: parts of
    the runs of a slot take turns, and none reads what another makes but a
    weight gradient.

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
    1 / micro-batches, as the step's loss is the mean over its micro-batches
    (MindSpore divides the sensitivity by micro_batch_num); `scaled` by the
    step's loss scale, a scalar in fp32.
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
    Reads `frame` and adds what it computes again to it, before the
    `mf.run_backward` of the frame. `arguments` are the arguments and outputs of
    forward that the function takes. It waits for no gradient.

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
    Reads `frame`; adds the parameters' gradients to the stage's accumulated
    gradients. `arguments` are the gradients of the chunk's outputs, then the
    arguments of forward that backward reads again; the results are the
    gradients of the hidden inputs. Ends the frame, unless the function keeps
    values for a `mf.backward_weights`: those are added to it. A `paired` run is
    in one slot with the next one, as mf.run_forward says.

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
    Reads and ends `frame`, behind the `mf.run_backward` of it; adds the
    parameters' gradients to the stage's accumulated gradients. `arguments` are
    the gradients of outputs and the arguments of forward that the function
    takes. Nobody waits for it.

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
  let summary = "a tensor to another stage";
  let description = [{
    Issued when the run before it has ended; over before the `behind`-th run
    (the second, unless said) after that one starts, from where on its memory is
    free.
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
  let summary = "a tensor from another stage";
  let description = [{
    Issued `ahead` runs (one, unless said) before the run that reads it,
    as soon as the one before that has ended: its memory is taken from there.

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
  let summary = "adds one micro-batch's loss to the step's";
  let arguments = (ins Mf_FloatTensor:$loss);
  let assemblyFormat = "$loss attr-dict `:` type($loss)";
  let hasVerifier = 1;
}

def Mf_RunUpdateOp : Mf_TaskOp<"run_update", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "clipping and the optimizer, once all gradients are summed";
  let arguments = (ins FlatSymbolRefAttr:$update);
  let assemblyFormat = "$update attr-dict";
}

//===----------------------------------------------------------------------===//
// Optimizer
//===----------------------------------------------------------------------===//

include "dialects/mf/MfUpdateOps.td"

#endif // MF_STEP_OPS_TD
