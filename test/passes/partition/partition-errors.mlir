// RUN: %variants %S/../Inputs/training.mlir %s | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-partition))' -verify-diagnostics -split-input-file

// Offsets must add up to 0, or layers would be lost.
// expected-error @below {{expected the values of 'offset' [1, 0] to add up to 0, what remains of 4 layers over 2 mini stages}}
mf.model @m attributes {
    micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64,
    training = #mf.training<parallel = <stages = 2, interleave = 1, micro_batches = 2, offset = [1, 0]>,
      optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>} {
  mf.layer @layers.0 body (%x: tensor<4xf32>) -> tensor<4xf32> { mf.return %x : tensor<4xf32> }
  mf.layer @layers.1 body (%x: tensor<4xf32>) -> tensor<4xf32> { mf.return %x : tensor<4xf32> }
  mf.layer @layers.2 body (%x: tensor<4xf32>) -> tensor<4xf32> { mf.return %x : tensor<4xf32> }
  mf.layer @layers.3 body (%x: tensor<4xf32>) -> tensor<4xf32> { mf.return %x : tensor<4xf32> }
}

// The YAML comes first.
// expected-error @below {{has no training configuration; run mf-read-config first}}
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
}

// Layers do not divide among stages.
= // expected-error @below {{expected the values of 'offset' 0 to add up to 1, what remains of 3 layers over 2 mini stages}}
= training = #mf.training<parallel = <stages = 2, interleave = 1, micro_batches = 2, offset = 0>,
- mf.layer @layers.3

// Fewer layers than stages.
= // expected-error @below {{expected at least one layer per pipeline stage, but there are 2 layers and 4 stages}}
= training = #mf.training<parallel = <stages = 4, interleave = 1, micro_batches = 4, offset = 0>,
- mf.layer @layers.2
- mf.layer @layers.3

// One offset for each stage.
= // expected-error @below {{expected one value per pipeline stage (2) in each row of 'offset' [1, 0, -1], but got 3}}
= training = #mf.training<parallel = <stages = 2, interleave = 1, micro_batches = 2, offset = [1, 0, -1]>,

// An offset that takes more layers than a stage has.
= // expected-error @below {{'offset' [3, -3] leaves stage 1 of interleave 0 with -1 layers; expected at least 0 there; [0, 0] would do}}
= training = #mf.training<parallel = <stages = 2, interleave = 1, micro_batches = 2, offset = [3, -3]>,

// One row of offsets for each interleave.
= // expected-error @below {{expected one row per interleave (2) in 'offset' [[0, 0]], but got 1}}
= training = #mf.training<parallel = <stages = 2, interleave = 2, micro_batches = 2, offset = [[0, 0]]>,

// No layers at all.
= // expected-error @below {{expected at least one layer per pipeline stage, but there are 0 layers and 1 stages}}
= training = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1, offset = 0>,
- mf.layer @layers.0
- ...
- mf.layer @layers.3

// The YAML and the mesh disagree.
- // expected-error
+ module attributes {mf.mesh = #mf.mesh<pp = 3, mp = 2>} {
+ // expected-error @below {{is to have 2 stages (pipeline_stage), but the mesh is #mf.mesh<pp = 3, mp = 2>}}
= training = #mf.training<parallel = <stages = 2, interleave = 1, micro_batches = 2, offset = 0>,
@ mf.layer @layers.3
+ }

// Only the stages with the embedding and with the head may have no layers.
= // expected-error @below {{'offset' [0, 2, -1, -1] leaves stage 2 of interleave 0 with 0 layers; expected at least 1 between the first and the last of all; [0, 0, 0, 0] would do}}
= training = #mf.training<parallel = <stages = 4, interleave = 1, micro_batches = 4, offset = [0, 2, -1, -1]>,
@ optimizer
+ mf.layer @embedding embedding (%x: tensor<4xf32>) -> tensor<4xf32> { mf.return %x : tensor<4xf32> }
@ mf.layer @layers.3
+ mf.layer @norm head (%x: tensor<4xf32>) -> tensor<4xf32> { mf.return %x : tensor<4xf32> }

// The names of schedules are those of the Schedule library.
= // expected-error @below {{no schedule is called 'one-by-one', expected one of}}
= training = #mf.training<parallel = <stages = 2, interleave = 1, micro_batches = 4, offset = 0, scheduler = "one-by-one">,
