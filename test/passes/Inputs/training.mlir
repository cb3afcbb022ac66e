// How models of tests are trained where that does not matter to the test; in front of its text.
#adamw = #mf.optimizer<type = "AdamW", beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1, bias_correction = true>
#constant = #mf.lr_schedule<type = "ConstantWarmUpLR", parameters = {learning_rate = 1.0e-3 : f64}>
#one_stage = #mf.training<parallel = <stages = 1, interleave = 1, micro_batches = 1>,
  optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>
#two_stages = #mf.training<parallel = <stages = 2, interleave = 1, micro_batches = 2>,
  optimizer = #adamw, lr_schedule = #constant, loss_scale = 1.0, max_device_memory = 0>
