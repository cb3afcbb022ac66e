// RUN: %variants %s | %roundtrip -verify-diagnostics -split-input-file

// An update without errors, of parameters that the operators below name.
mf.model @m attributes {micro_batch_size = 1 : i64, sequence_length = 8 : i64, vocab_size = 16 : i64} {
  mf.param @w : tensor<4xf32> init <ones>
  mf.param @matrix : tensor<16x4xf32> init <ones>
  mf.param @a : tensor<4xf32> init <ones>
  mf.param @b : tensor<4xf32> init <ones> tied to @a
  mf.param @bias : tensor<8xf32> init <zeros> {update_rule = #mf.update_rule<balance>}
  mf.param @share : tensor<2x8xf32> init <zeros> {update_rule = #mf.update_rule<record>}
  mf.update @u (%lr: tensor<f32>, %step: tensor<f32>) attributes {stage = 0 : i64} {
    mf.return
  }
}

// An update takes the learning rate, the step number and perhaps the loss scale.
// expected-error @below {{expected two or three fp32 scalars, the learning rate, the step number and the loss scale, but takes ('tensor<f32>')}}
= mf.update @u (%lr: tensor<f32>) attributes {stage = 0 : i64} {

@ mf.update
+ // expected-error @below {{expected a parameter, but got 'v'}}
+ mf.adamw @v, %lr, %step, %lr {beta1 = 0.9 : f64, beta2 = 0.95 : f64, eps = 1.0e-8 : f64, weight_decay = 0.0 : f64, bias_correction = false} : tensor<f32>, tensor<f32>, tensor<f32>

@ mf.update
+ // expected-error @below {{expected a parameter, but got 'v'}}
+ mf.scale_gradients [@w, @v] by %lr : tensor<f32>

@ mf.update
+ // expected-error @below {{expected one position below 2 for each of its 1 parameters}}
+ %norms = mf.gradient_norms [@w] at [2] : tensor<2xf32>

@ mf.update
+ // expected-error @below {{expected one position below 2 for each of its 1 parameters}}
+ %norms = mf.gradient_norms [@w] at [0, 1] : tensor<2xf32>

@ mf.update
+ %norms = mf.gradient_norms [@w] at [0] : tensor<2xf32>
+ // expected-error @below {{expected a factor of type 'tensor<f32>', but got 'tensor<2xf32>'}}
+ %again = mf.gradient_norms [@w] at [0] times %norms : tensor<2xf32> : tensor<2xf32>

@ mf.update
+ // expected-error @below {{expected a vector in fp32, but got 'tensor<1x1xf32>'}}
+ %norms = mf.gradient_norms [@w] at [0] : tensor<1x1xf32>

@ mf.update
+ %d = mf.momentum @matrix, %lr {momentum = 0.5 : f64, nesterov = true} : tensor<f32> -> tensor<16x4xbf16>
+ // expected-error @below {{expected matrices [experts, rows, columns] in 16 bits, but got 'tensor<16x4xbf16>'}}
+ %x = mf.newton_schulz %d {coefficients = array<f64: 3.5, -4.5, 2.0>, eps = 0.1 : f64} : (tensor<16x4xbf16>) -> tensor<16x4xbf16>

@ mf.update
+ %d = mf.momentum @matrix, %lr {momentum = 0.5 : f64, nesterov = true} : tensor<f32> -> tensor<16x4xf32>
+ %m = mf.reshape %d : (tensor<16x4xf32>) -> tensor<1x16x4xf32>
+ // expected-error @below {{expected matrices [experts, rows, columns] in 16 bits, but got 'tensor<1x16x4xf32>'}}
+ %x = mf.newton_schulz %m {coefficients = array<f64: 3.5, -4.5, 2.0>, eps = 0.1 : f64} : (tensor<1x16x4xf32>) -> tensor<1x16x4xf32>

@ mf.update
+ %d = mf.momentum @matrix, %lr {momentum = 0.5 : f64, nesterov = true} : tensor<f32> -> tensor<16x4xbf16>
+ %m = mf.reshape %d : (tensor<16x4xbf16>) -> tensor<1x16x4xbf16>
+ // expected-error @below {{expected three coefficients for each iteration, but got 4}}
+ %x = mf.newton_schulz %m {coefficients = array<f64: 3.5, -4.5, 2.0, 3.5>, eps = 0.1 : f64} : (tensor<1x16x4xbf16>) -> tensor<1x16x4xbf16>

@ mf.update
+ %d = mf.momentum @matrix, %lr {momentum = 0.5 : f64, nesterov = true} : tensor<f32> -> tensor<16x4xbf16>
+ %m = mf.reshape %d : (tensor<16x4xbf16>) -> tensor<1x16x4xbf16>
+ // expected-error @below {{expected three coefficients for each iteration, but got 0}}
+ %x = mf.newton_schulz %m {coefficients = array<f64>, eps = 0.1 : f64} : (tensor<1x16x4xbf16>) -> tensor<1x16x4xbf16>

@ mf.update
+ // expected-error @below {{expected the owner's stage and one for each tied parameter, but got 1 for 1}}
+ mf.reduce_tied @a, [@b] stages [0]

@ mf.update
+ // expected-error @below {{expected the owner's stage and one for each tied parameter, but got 1 for 0}}
+ mf.reduce_tied @a, [] stages [0]

= mf.update @u (%lr: tensor<f32>, %step: tensor<f32>) attributes {stage = 1 : i64} {
+ // expected-error @below {{is in the update of stage 1, which holds none of its parameters}}
+ mf.reduce_tied @a, [@b] stages [0, 2]

@ mf.update
+ // expected-error @below {{expected 'w' to be tied to 'a'}}
+ mf.reduce_tied @a, [@w] stages [0, 1]

@ mf.update
+ // expected-error @below {{expected a parameter, but got 'v'}}
+ mf.reduce_tied @a, [@v] stages [0, 1]

// What works on gradients stands in an update.
// expected-error @below {{expects parent op 'mf.update'}}
mf.reduce_tied @a, [@b] stages [0, 1]

@ mf.update
+ // expected-error @below {{expected a parameter with update_rule = #mf.update_rule<balance>, but 'w' has none}}
+ mf.balance_experts @w rate 1.0e-03 target 1.25e-01

@ mf.update
+ // expected-error @below {{expected a parameter with update_rule = #mf.update_rule<record>, but 'bias' has another}}
+ %share = mf.record_statistic @bias : tensor<8xf32>

@ mf.update
+ // expected-error @below {{expected a result of type 'tensor<2x8xf32>', but got 'tensor<8xf32>'}}
+ %share = mf.record_statistic @share : tensor<8xf32>

@ mf.update
+ %g = mf.take_gradient @matrix : tensor<16x4xf32>
+ // expected-error @below {{'mf.update_average' op expected a value of the shape of the square_columns of 'matrix', 'tensor<4xf32>', but got 'tensor<16x4xf32>'}}
+ %m = mf.update_average square_columns of @matrix, %g, %step, %lr {decay = 5.0e-01 : f64} : tensor<16x4xf32>, tensor<f32>, tensor<f32>

@ mf.update
+ // expected-error @below {{'mf.take_gradient' op expected a direction of the shape of 'w', 'tensor<4xf32>', but got 'tensor<16xf32>'}}
+ %g = mf.take_gradient @w : tensor<16xf32>

@ mf.update
+ %g = mf.take_gradient @w : tensor<4xf32>
+ // expected-error @below {{'mf.update_average' op expected a value of the shape of the square_rows of 'w', which is no matrix}}
+ %m = mf.update_average square_rows of @w, %g, %step, %lr {decay = 5.0e-01 : f64} : tensor<4xf32>, tensor<f32>, tensor<f32>
