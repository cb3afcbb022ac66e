// What the forms of a training configuration are, and are not.
// RUN: %variants %s | %roundtrip -allow-unregistered-dialect -verify-diagnostics -split-input-file

// expected-error @below {{expected stages, interleave and micro_batches to be from 1 to 65536, but got 0, 1 and 1}}
"test.op"() {a = #mf.parallel<stages = 0, interleave = 1, micro_batches = 1>} : () -> ()

// expected-error @below {{expected stages, interleave and micro_batches to be from 1 to 65536, but got 1, 1 and 9223372036854775807}}
"test.op"() {a = #mf.parallel<stages = 1, interleave = 1, micro_batches = 9223372036854775807>} : () -> ()

// expected-error @below {{expected offset to be a 32-bit number, a list of them or a list of such lists, but got "uneven"}}
"test.op"() {a = #mf.parallel<stages = 2, interleave = 1, micro_batches = 1, offset = "uneven">} : () -> ()

// expected-error @below {{expected offset to be a 32-bit number}}
"test.op"() {a = #mf.parallel<stages = 2, interleave = 1, micro_batches = 1, offset = [9223372036854775807, -9223372036854775807]>} : () -> ()

// expected-error @below {{expected offset to be a 32-bit number}}
"test.op"() {a = #mf.parallel<stages = 2, interleave = 1, micro_batches = 1, offset = [0, [1, 0]]>} : () -> ()

// expected-error @below {{unknown setting 'recomput'; did you mean 'recompute'?}}
"test.op"() {a = #mf.layer_settings<requests = [recomput]>} : () -> ()

// expected-error @below {{unknown setting 'slice'; did you mean 'slices'?}}
"test.op"() {a = #mf.layer_settings<slice>} : () -> ()

// Patterns are for operators, not for whole layers.
// expected-error @below {{expected a place in a file, but got "a"}}
"test.op"() {a = #mf.layer_settings<requests = [recompute "a"]>} : () -> ()

// expected-error @below {{expected string}}
"test.op"() {a = #mf.layer_settings<requests = [select_recompute 3]>} : () -> ()

// expected-error @below {{expected prefetch from 1 to 2147483647, but got -1}}
"test.op"() {a = #mf.layer_settings<requests = [layer_swap prefetch -1]>} : () -> ()

// expected-error @below {{expected number from 0 to 2147483647, but got -1}}
"test.op"() {a = #mf.layer_settings<number = -1>} : () -> ()

// expected-error @below {{expected a place in a file, but got loc(unknown)}}
"test.op"() {a = #mf.layer_settings<requests = [recompute loc(unknown)]>} : () -> ()

// expected-error @below {{expected max_norm to be a positive number, but got 0.0}}
"test.op"() {a = #mf.clipping<max_norm = 0.0>} : () -> ()

// expected-error @below {{expected window to be an int of at least 1, but got 0}}
"test.op"() {a = #mf.loss_scale_update<factor = 2, window = 0>} : () -> ()

// expected-error @below {{expected coefficients to be a list of three numbers for each step, but got []}}
"test.op"() {a = #mf.muon<momentum = 0.95, nesterov = true, rms = 0.2, eps = 1.0e-7, coefficients = []>} : () -> ()

// expected-error @below {{expected momentum to be a number from 0 to 1, but got 1.5}}
"test.op"() {a = #mf.muon<momentum = 1.5, nesterov = true, rms = 0.2, eps = 1.0e-7, coefficients = [[3.5, -4.5, 2.0]]>} : () -> ()

// expected-error @below {{expected level to be an int from 1 to 3, but got 4}}
"test.op"() {a = #mf.optimizer_shard<level = 4, threshold = 64>} : () -> ()

// expected-error @below {{expected share to be a number above 0 and below 1, but got 1.0}}
"test.op"() {a = #mf.weight_average<interval = 1, fused = 1, share = 1.0>} : () -> ()

// expected-error @below {{unknown attribute `trainig` in dialect `mf`}}
"test.op"() {a = #mf.trainig<a>} : () -> ()

// expected-error @below {{expected gradient_groups to be positive, but got 0}}
"test.op"() {a = #mf.parallel<stages = 1, interleave = 1, micro_batches = 1, gradient_groups = 0>} : () -> ()

// expected-error @below {{expected a distance from 1 to 2147483647 kernels, but got -1}}
"test.op"() {a = #mf.swap<distance = -1>} : () -> ()

// expected-error @below {{expected "whole", "round_robin" or "blocks" as mf.sample_order, but got "reversed"}}
module attributes {mf.sample_order = "reversed"} {
}

// expected-error @below {{has an order of samples; expected it on the module}}
"test.op"() {mf.sample_order = "blocks"} : () -> ()

// expected-error @below {{expected dim to be 0 for rows or 1 for columns, but got 2}}
"test.op"() {a = #mf.matrices<dim = 2, sizes = [4]>} : () -> ()

// expected-error @below {{expected sizes to be positive numbers of at most 2^40, but got []}}
"test.op"() {a = #mf.matrices<dim = 0, sizes = []>} : () -> ()

// expected-error @below {{expected rest to be positive numbers of at most 2^40, but got [0]}}
"test.op"() {a = #mf.matrices<dim = 0, sizes = [1], rest = [0]>} : () -> ()

// expected-error @below {{expected patterns of weight decay to be a list of texts, but got [1]}}
"test.op"() {a = #mf.optimizer<type = "AdamW", beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1, bias_correction = true, decay_include = [1]>} : () -> ()
