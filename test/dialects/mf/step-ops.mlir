// RUN: %variants %s | %prints-itself %roundtrip

// The step of a stage in the middle of three: it receives and sends both ways.
mf.model @middle_stage attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  mf.param @gamma : tensor<4xf32> init <ones>
  mf.forward @f (%x: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8xf32>) attributes {input_indices = [], inputs = [], placement = #mf.placement<stage = 1, chunk = 0>} {
    %gamma = mf.get_param @gamma : tensor<4xf32>
    %y, %rstd = mf.rms_norm %x, %gamma {epsilon = 1.000000e-05 : f64} : (tensor<8x4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<8xf32>)
    mf.return %y, %rstd : tensor<8x4xf32>, tensor<8xf32>
  }
  mf.backward @b (%dy: tensor<8x4xf32>, %x: tensor<8x4xf32>, %rstd: tensor<8xf32>) -> (tensor<8x4xf32>, tensor<4xf32>) attributes {forward_arguments = [0], gradients = [@gamma], placement = #mf.placement<stage = 1, chunk = 0>} {
    %gamma = mf.get_param @gamma : tensor<4xf32>
    %dx, %dgamma = mf.rms_norm_grad %dy, %x, %rstd, %gamma : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>)
    mf.return %dx, %dgamma : tensor<8x4xf32>, tensor<4xf32>
  }
  mf.update @update1 (%lr: tensor<f32>, %step: tensor<f32>) attributes {stage = 1 : i64} {
    mf.return
  }
  mf.schedule stage 1 {
    %x = mf.receive from 0 channel "forward.0" micro_batch 0 : tensor<8x4xf32>
    %y, %frame = mf.run_forward @f micro_batch 0(%x) : (tensor<8x4xf32>) -> (tensor<8x4xf32>, !mf.frame<@f>)
    mf.send %y to 2 channel "forward.1" micro_batch 0 : tensor<8x4xf32>
    %dy = mf.receive from 2 channel "backward.2" micro_batch 0 : tensor<8x4xf32>
    %dx = mf.run_backward @b micro_batch 0 frame %frame(%dy, %x) : (!mf.frame<@f>, tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    mf.send %dx to 0 channel "backward.1" micro_batch 0 : tensor<8x4xf32>
    mf.run_update @update1
  }
}

// A stage of its own: it loads, and its output is a loss.
mf.model @only_stage attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  mf.param @w : tensor<16x4xf32> init <zeros>
  mf.param @copy : tensor<16x4xf32> init <zeros> tied to @w
  mf.param @head : tensor<16x4xf32> init <zeros> tied to @w
  mf.forward @f (%tokens: tensor<8xi32>) -> tensor<f32> attributes {input_indices = [0], inputs = [#mf<input_kind tokens>], placement = #mf.placement<stage = 0, chunk = 0>} {
    %w = mf.get_param @w : tensor<16x4xf32>
    %x = mf.embedding %w, %tokens : (tensor<16x4xf32>, tensor<8xi32>) -> tensor<8x4xf32>
    %sum = mf.reduce_sum %x {axes = array<i64: 0, 1>} : (tensor<8x4xf32>) -> tensor<f32>
    mf.return %sum : tensor<f32>
  }
  mf.backward @b (%dy: tensor<f32>) attributes {forward_arguments = [], gradients = [], placement = #mf.placement<stage = 0, chunk = 0>} {
    mf.return
  }
  mf.update @update0 (%lr: tensor<f32>, %step: tensor<f32>) attributes {stage = 0 : i64} {
    mf.reduce_tied @w, [@copy, @head] stages [0, 0, 3]
    %norms = mf.gradient_norms [@w] at [2] : tensor<3xf32>
    %all = mf.all_reduce %norms over ["pp"] : tensor<3xf32> -> tensor<3xf32>
    %norm = mf.reduce_sum %all {axes = array<i64: 0>} : (tensor<3xf32>) -> tensor<f32>
    %overflow = mf.non_finite %norm : tensor<f32> -> tensor<f32>
    mf.scale_gradients [@w] by %norm : tensor<f32>
    mf.adamw @w, %lr, %step, %overflow {beta1 = 9.000000e-01 : f64, beta2 = 0.94999999999999996 : f64, bias_correction = false, eps = 1.000000e-08 : f64, weight_decay = 0.000000e+00 : f64} : tensor<f32>, tensor<f32>, tensor<f32>
    %d = mf.momentum @w, %overflow {momentum = 5.000000e-01 : f64, nesterov = true} : tensor<f32> -> tensor<16x4xbf16>
    %rows = mf.reshape %d : (tensor<16x4xbf16>) -> tensor<1x16x4xbf16>
    %orthogonal = mf.newton_schulz %rows {coefficients = array<f64: 3.500000e+00, -4.500000e+00, 2.000000e+00>, eps = 1.250000e-01 : f64} : (tensor<1x16x4xbf16>) -> tensor<1x16x4xbf16>
    %g = mf.take_gradient @w : tensor<16x4xf32>
    %x = mf.take_gradient @w times %lr : tensor<f32> : tensor<16x4xf32>
    %m = mf.update_average  first_moment of @w, %x, %step, %overflow {decay = 5.000000e-01 : f64} : tensor<16x4xf32>, tensor<f32>, tensor<f32>
    mf.take_step @w, %d, %lr, %overflow {scale = 5.000000e-01 : f64, weight_decay = 1.000000e-01 : f64} : tensor<16x4xbf16>, tensor<f32>, tensor<f32>
    mf.average_weight @w, %step, %overflow <interval = 1000, fused = 10, share = 2.000000e-01> : tensor<f32>, tensor<f32>
    %scaled = mf.gradient_norms [@w] at [2] times %lr, %step : tensor<f32>, tensor<f32> : tensor<3xf32>
    mf.adamw @w, %lr, %step, %overflow times %lr : tensor<f32> {beta1 = 9.000000e-01 : f64, beta2 = 0.94999999999999996 : f64, bias_correction = false, eps = 1.000000e-08 : f64, weight_decay = 0.000000e+00 : f64} : tensor<f32>, tensor<f32>, tensor<f32>
    mf.report "global_norm", %norm : tensor<f32>
    mf.return
  }
  mf.schedule stage 0 {
    %tokens = mf.load tokens micro_batch 1 : tensor<8xi32>
    %loss, %frame = mf.run_forward @f micro_batch 1(%tokens) : (tensor<8xi32>) -> (tensor<f32>, !mf.frame<@f>)
    mf.accumulate_loss %loss : tensor<f32>
    %dloss = mf.loss_gradient 5.000000e-01 : tensor<f32>
    %scaled = mf.loss_gradient 5.000000e-01 scaled : tensor<f32>
    // Backward of the first stage has no gradient to send.
    mf.run_backward @b micro_batch 1 frame %frame(%dloss) : (!mf.frame<@f>, tensor<f32>) -> ()
  }
}

// A chunk with several outputs, one of them a loss, and a backward in two
// functions; transfers that are issued earlier and end later than usual.
mf.model @split_backward attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  mf.param @gamma : tensor<4xf32> init <ones>
  mf.forward @chunk1.forward (%x: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<f32>, tensor<8xf32>) attributes {input_indices = [], inputs = [], outputs = 2 : i64, placement = #mf.placement<stage = 1, chunk = 0>} {
    %gamma = mf.get_param @gamma : tensor<4xf32>
    %y, %rstd = mf.rms_norm %x, %gamma {epsilon = 1.000000e-05 : f64} : (tensor<8x4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<8xf32>)
    %aux = mf.reduce_sum %y {axes = array<i64: 0, 1>} : (tensor<8x4xf32>) -> tensor<f32>
    mf.return %y, %aux, %rstd : tensor<8x4xf32>, tensor<f32>, tensor<8xf32>
  }
  mf.backward @chunk1.backward (%dy: tensor<8x4xf32>, %daux: tensor<f32>, %x: tensor<8x4xf32>, %rstd: tensor<8xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) attributes {forward_arguments = [0], gradients = [], kept = 1 : i64, outputs = 2 : i64, placement = #mf.placement<stage = 1, chunk = 0>} {
    %gamma = mf.get_param @gamma : tensor<4xf32>
    %sum = mf.add %dy, %daux : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
    %dx, %dgamma = mf.rms_norm_grad %sum, %x, %rstd, %gamma : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>)
    mf.return %dx, %sum : tensor<8x4xf32>, tensor<8x4xf32>
  }
  mf.backward_weights @chunk1.weights (%x: tensor<8x4xf32>, %rstd: tensor<8xf32>, %sum: tensor<8x4xf32>) -> tensor<4xf32> attributes {forward_arguments = [0], gradients = [@gamma], output_gradients = [], placement = #mf.placement<stage = 1, chunk = 0>} {
    %gamma = mf.get_param @gamma : tensor<4xf32>
    %dx, %dgamma = mf.rms_norm_grad %sum, %x, %rstd, %gamma : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>)
    mf.return %dgamma : tensor<4xf32>
  }
  mf.recompute @chunk1.recompute (%x: tensor<8x4xf32>, %rstd: tensor<8xf32>) attributes {forward_arguments = [0], placement = #mf.placement<stage = 1, chunk = 0>} {
    mf.return
  }
  mf.schedule stage 1 {
    %x = mf.receive from 0 channel "forward.0" micro_batch 0 : tensor<8x4xf32>
    %y, %aux, %f = mf.run_forward @chunk1.forward micro_batch 0(%x) : (tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<f32>, !mf.frame<@chunk1.forward>)
    mf.run_recompute @chunk1.recompute micro_batch 0 frame %f(%x) : (!mf.frame<@chunk1.forward>, tensor<8x4xf32>) -> ()
    mf.send %y to 2 channel "forward.1" micro_batch 0 behind 3 : tensor<8x4xf32>
    mf.accumulate_loss %aux : tensor<f32>
    %dy = mf.receive from 2 channel "backward.2" micro_batch 0 : tensor<8x4xf32>
    %daux = mf.loss_gradient 1.000000e+00 : tensor<f32>
    %dx = mf.run_backward @chunk1.backward micro_batch 0 frame %f(%dy, %daux, %x) : (!mf.frame<@chunk1.forward>, tensor<8x4xf32>, tensor<f32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    mf.send %dx to 0 channel "backward.1" micro_batch 0 : tensor<8x4xf32>
    %next = mf.receive from 0 channel "forward.0" micro_batch 3 ahead 2 : tensor<8x4xf32>
    %tokens = mf.load tokens micro_batch 3 ahead 2 : tensor<8xi32>
    mf.run_backward_weights @chunk1.weights micro_batch 0 frame %f(%x) : (!mf.frame<@chunk1.forward>, tensor<8x4xf32>) -> ()
  }
}

// Statistics are no weights: the step's end has other uses for them.
mf.model @statistics attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  mf.param @layers.3.topk_bias : tensor<8xf32> init <zeros> {update_rule = #mf.update_rule<balance>}
  mf.param @layers.3.fi_parameter : tensor<2x8xf32> init <zeros> {capacity_share = 1.250000e-01 : f64, update_rule = #mf.update_rule<record>}
  mf.param @largest : tensor<2xf32> init <zeros> {update_rule = #mf.update_rule<largest>}
  mf.param @qb : tensor<16x4xf32> init <ones> {logit_clip = #mf.logit_clip<largest = @largest, roots = [1, 2]>, matrices = #mf.matrices<dim = 0, sizes = [6, 2]>}
  mf.update @update0 (%lr: tensor<f32>, %step: tensor<f32>) attributes {stage = 0 : i64} {
    mf.balance_experts @layers.3.topk_bias rate 1.000000e-03 target 1.250000e-01
    %share = mf.record_statistic @layers.3.fi_parameter : tensor<2x8xf32>
    %factors = mf.logit_factors @largest, %step {roots = [1, 2], sizes = [6, 2], threshold = 1.000000e+02 : f64} : tensor<f32> -> tensor<16xf32>
    mf.scale_rows @qb by %factors : tensor<16xf32>
    mf.return
  }
}
