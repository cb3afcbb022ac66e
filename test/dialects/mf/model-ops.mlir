// RUN: %variants %s | %prints-itself %roundtrip

// What the YAML said, in all its forms.
mf.model @configured attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64,
    training = #mf.training<parallel = <stages = 2, interleave = 2, micro_batches = 4, offset = [[0, 1], [1, 0]], gathers_again = true>,
      optimizer = <type = "AdamW", beta1 = 9.000000e-01, beta2 = 0.94999999999999996, eps = 1.000000e-08, weight_decay = 1.000000e-01, bias_correction = true>,
      lr_schedule = <type = "ConstantWarmUpLR", parameters = {learning_rate = 1.000000e-03 : f64}>,
      clipping = <max_norm = 1.000000e+00>, loss_scale = 1.024000e+03, loss_scale_update = <factor = 2, window = 1000>, max_device_memory = 64>, vocab_size = 16 : i64} {
}

// What the YAML asks of single layers.
#loc = loc("train.yaml":3:5)
mf.model @settings attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  mf.layer @layers.3 body (%x: tensor<4xf32>) -> tensor<4xf32> attributes {settings = #mf.layer_settings<number = 3, requests = [recompute]>} {
    mf.return %x : tensor<4xf32>
  }
  mf.layer @a body (%x: tensor<4xf32>) -> tensor<4xf32> attributes {settings = #mf.layer_settings<selects, requests = [select_recompute "feed_forward\\.mul", select_recompute_exclude "attention\\.wo\\.matmul"]>} {
    mf.return %x : tensor<4xf32>
  }
  mf.layer @b body (%x: tensor<4xf32>) -> tensor<4xf32> attributes {settings = #mf.layer_settings<swap_on, requests = [layer_swap prefetch 2, op_swap ".*\\.flash_attention" prefetch 1]>} {
    mf.return %x : tensor<4xf32>
  }
  mf.layer @c body (%x: tensor<4xf32>) -> tensor<4xf32> attributes {settings = #mf.layer_settings<comm_fusion = 2, slices, keeps_comm, kept_operators = ["matmul"], requests = [select_comm_recompute ".*\\.norm" unnamed, select_comm_recompute_exclude "a", op_swap "b" whole prefetch 1 layers #loc]>} {
    mf.return %x : tensor<4xf32>
  }
}

// A model that ties its head to its embedding, with a table that is not trained.
mf.model @layers attributes {family = "llama", micro_batch_size = 1 : i64, pad_token_id = 0 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  mf.param @embedding : tensor<16x4xf32> init <normal, value = 2.000000e-02>
  mf.param @head : tensor<16x4xf32> init <normal, value = 2.000000e-02> tied to @embedding
  mf.param @qb : tensor<16x4xf32> init <ones> {matrices = #mf.matrices<dim = 0, sizes = [6, 2]>}
  mf.param @qkv : tensor<16x4xf32> init <ones> {matrices = #mf.matrices<dim = 0, sizes = [3, 1], rest = [4]>}
  mf.param @cos : tensor<8x4xf32> init <rotary_cos, value = 1.000000e+04, scale = 5.000000e-01> {frozen}
  mf.param @sin : tensor<8x4xf32> init <rotary_sin, value = 1.000000e+04 amplitude 1.250000e+00 frequencies [1.000000e+00, 5.000000e-01]> {frozen}
  mf.param @gamma : tensor<4xbf16> init <ones>
  mf.cell_tree @tree ["attention.reshape", "feed_forward.cast"]
  mf.layer @tok_embeddings embedding (%tokens: tensor<1x8xi32>) -> tensor<1x8x4xf32> {
    %table = mf.get_param @embedding : tensor<16x4xf32>
    %x = mf.embedding %table, %tokens : (tensor<16x4xf32>, tensor<1x8xi32>) -> tensor<1x8x4xf32>
    mf.return %x : tensor<1x8x4xf32>
  }
  mf.layer @layers.0 body (%x: tensor<1x8x4xf32>) -> tensor<1x8x4xf32> attributes {cell_tree = @tree, placement = #mf.placement<stage = 1, chunk = 0>} {
    mf.return %x : tensor<1x8x4xf32>
  }
  mf.layer @head_layer head (%x: tensor<1x8x4xf32>, %labels: tensor<8xi32>) -> tensor<f32> {
    %weight = mf.get_param @head : tensor<16x4xf32>
    %logits = mf.matmul %x, %weight {transpose_b = true} : (tensor<1x8x4xf32>, tensor<16x4xf32>) -> tensor<1x8x16xf32>
    %rows = mf.reshape %logits : (tensor<1x8x16xf32>) -> tensor<8x16xf32>
    %loss, %l, %c = mf.cross_entropy %rows, %labels : (tensor<8x16xf32>, tensor<8xi32>) -> (tensor<f32>, tensor<8xf32>, tensor<f32>)
    mf.return %loss : tensor<f32>
  }
}

// A joint graph, and the two functions it splits into.
mf.model @chunks attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  mf.param @gamma : tensor<4xf32> init <ones>
  mf.chunk @joint (%x: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>) attributes {gradients = [@gamma], input_indices = [], inputs = [], placement = #mf.placement<stage = 1, chunk = 0>} {
    %gamma = mf.get_param @gamma : tensor<4xf32>
    %y, %rstd = mf.rms_norm %x, %gamma {epsilon = 1.000000e-05 : f64} : (tensor<8x4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<8xf32>)
    %dy = mf.cut %y : tensor<8x4xf32>
    %dx, %dgamma = mf.rms_norm_grad %dy, %x, %rstd, %gamma : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>)
    mf.return %dx, %dgamma : tensor<8x4xf32>, tensor<4xf32>
  }
  mf.forward @joint.forward (%tokens: tensor<8xi32>) -> (tensor<8x4xf32>, tensor<8xf32>) attributes {input_indices = [0], inputs = [#mf<input_kind tokens>], placement = #mf.placement<stage = 0, chunk = 0>} {
    %x = mf.get_param @gamma : tensor<4xf32>
    %table = mf.reshape %x : (tensor<4xf32>) -> tensor<1x4xf32>
    %y = mf.embedding %table, %tokens : (tensor<1x4xf32>, tensor<8xi32>) -> tensor<8x4xf32>
    %kept = mf.reduce_sum %y {axes = array<i64: 1>} : (tensor<8x4xf32>) -> tensor<8xf32>
    mf.return %y, %kept : tensor<8x4xf32>, tensor<8xf32>
  }
  mf.backward @joint.backward (%dy: tensor<8x4xf32>, %tokens: tensor<8xi32>, %kept: tensor<8xf32>) -> tensor<4xf32> attributes {forward_arguments = [0], gradients = [@gamma], placement = #mf.placement<stage = 0, chunk = 0>} {
    %dgamma = mf.reduce_sum %dy {axes = array<i64: 0>} : (tensor<8x4xf32>) -> tensor<4xf32>
    mf.return %dgamma : tensor<4xf32>
  }
}

// Each rank has a part of what a layout cuts.
module attributes {mf.mesh = #mf.mesh<pp = 1, mp = 2>} {
  mf.model @cut attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
    mf.param @wq : tensor<16x8xf32> init <normal, value = 2.000000e-02> layout <[[mp], []]>
    mf.param @first_row : tensor<2xi32> init <coordinate, value = 8.000000e+00> layout <[[mp]]> {frozen}
    mf.layer @layers.0 body (%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
      %w = mf.get_param @wq : tensor<8x8xf32>
      %first = mf.get_param @first_row : tensor<1xi32>
      mf.return %w : tensor<8x8xf32>
    }
  }
}

// Layers with several results, one of them a loss, and a chunk with several
// outputs whose backward is split.
mf.model @several attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  mf.param @w : tensor<4xf32> init <ones>
  mf.layer @a body (%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>, tensor<8xf32>) {
    %loss = mf.reduce_sum %x {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
    %y = mf.concat %x, %x {axis = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
    mf.return %x, %loss, %y : tensor<4xf32>, tensor<f32>, tensor<8xf32>
  }
  mf.layer @b body (%x: tensor<4xf32>, %y: tensor<8xf32>) -> tensor<4xf32> {
    mf.return %x : tensor<4xf32>
  }
  mf.chunk @joint (%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {gradients = [@w], input_indices = [], inputs = [], placement = #mf.placement<stage = 1, chunk = 0>} {
    %loss = mf.reduce_sum %x {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
    %dx, %dloss = mf.cut %x, %loss : tensor<4xf32>, tensor<f32>
    mf.return %dx, %dx : tensor<4xf32>, tensor<4xf32>
  }
  mf.forward @split.forward (%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>, tensor<4xf32>) attributes {input_indices = [], inputs = [], outputs = 2 : i64, placement = #mf.placement<stage = 0, chunk = 0>} {
    %loss = mf.reduce_sum %x {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
    mf.return %x, %loss, %x : tensor<4xf32>, tensor<f32>, tensor<4xf32>
  }
  mf.backward @split.backward (%dy: tensor<4xf32>, %dloss: tensor<f32>, %r: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {forward_arguments = [], gradients = [], kept = 1 : i64, outputs = 2 : i64, placement = #mf.placement<stage = 0, chunk = 0>} {
    %kept = mf.mul %dy, %r : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    mf.return %dy, %kept : tensor<4xf32>, tensor<4xf32>
  }
  mf.backward_weights @split.weights (%dloss: tensor<f32>, %x: tensor<4xf32>, %r: tensor<4xf32>, %kept: tensor<4xf32>) -> tensor<4xf32> attributes {forward_arguments = [0], gradients = [@w], output_gradients = [1], placement = #mf.placement<stage = 0, chunk = 0>} {
    mf.return %kept : tensor<4xf32>
  }
}

// What backward computes again of forward without a gradient.
mf.model @recompute attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.forward @chunk0.forward (%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {input_indices = [], inputs = [], placement = #mf.placement<stage = 0, chunk = 0>} {
    %y = mf.silu %x : (tensor<4xf32>) -> tensor<4xf32>
    mf.return %y, %x : tensor<4xf32>, tensor<4xf32>
  }
  mf.recompute @chunk0.recompute (%x: tensor<4xf32>, %kept: tensor<4xf32>) -> tensor<4xf32> attributes {forward_arguments = [0], placement = #mf.placement<stage = 0, chunk = 0>} {
    %y = mf.silu %kept : (tensor<4xf32>) -> tensor<4xf32>
    mf.return %y : tensor<4xf32>
  }
  mf.backward @chunk0.backward (%dy: tensor<4xf32>, %kept: tensor<4xf32>, %again: tensor<4xf32>) -> tensor<4xf32> attributes {forward_arguments = [], gradients = [], placement = #mf.placement<stage = 0, chunk = 0>} {
    %dx = mf.mul %dy, %again : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    mf.return %dx : tensor<4xf32>
  }
  mf.schedule stage 0 {
    %x = mf.receive from 1 channel "forward.1" micro_batch 0 : tensor<4xf32>
    %y, %frame = mf.run_forward @chunk0.forward micro_batch 0(%x) : (tensor<4xf32>) -> (tensor<4xf32>, !mf.frame<@chunk0.forward>)
    mf.run_recompute @chunk0.recompute micro_batch 0 frame %frame(%x) : (!mf.frame<@chunk0.forward>, tensor<4xf32>) -> ()
    %dx = mf.run_backward @chunk0.backward micro_batch 0 frame %frame(%y) : (!mf.frame<@chunk0.forward>, tensor<4xf32>) -> tensor<4xf32>
  }
}

// What prepares the input of a layer that predicts a later token: an embedding
// among layers, of the stage of the layer behind.
mf.model @later_tokens attributes {micro_batch_size = 1 : i64, sequence_length = 4 : i64, vocab_size = 16 : i64} {
  mf.layer @next_token embedding (%h: tensor<1x4x8xf32>, %tokens: tensor<1x4xi32>) -> (tensor<1x4x8xf32>, tensor<1x4x8xf32>) attributes {joins_next} {
    mf.return %h, %h : tensor<1x4x8xf32>, tensor<1x4x8xf32>
  }
  mf.layer @c body (%h: tensor<1x4x8xf32>, %next: tensor<1x4x8xf32>) -> tensor<1x4x8xf32> {
    mf.return %h : tensor<1x4x8xf32>
  }
}
