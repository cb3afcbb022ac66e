// What the forms of a training configuration are, and are not.
// RUN: %roundtrip -allow-unregistered-dialect -verify-diagnostics -split-input-file %s

// expected-error @below {{expected stages, interleave and micro_batches to be from 1 to 65536, but got 0, 1 and 1}}
"test.op"() {a = #mf.parallel<stages = 0, interleave = 1, micro_batches = 1>} : () -> ()

// -----

// expected-error @below {{expected stages, interleave and micro_batches to be from 1 to 65536, but got 1, 1 and 9223372036854775807}}
"test.op"() {a = #mf.parallel<stages = 1, interleave = 1, micro_batches = 9223372036854775807>} : () -> ()

// -----

// expected-error @below {{expected offset to be a 32-bit number, a list of them or a list of such lists, but got "uneven"}}
"test.op"() {a = #mf.parallel<stages = 2, interleave = 1, micro_batches = 1, offset = "uneven">} : () -> ()

// -----

// expected-error @below {{expected offset to be a 32-bit number}}
"test.op"() {a = #mf.parallel<stages = 2, interleave = 1, micro_batches = 1, offset = [9223372036854775807, -9223372036854775807]>} : () -> ()

// -----

// expected-error @below {{expected offset to be a 32-bit number}}
"test.op"() {a = #mf.parallel<stages = 2, interleave = 1, micro_batches = 1, offset = [0, [1, 0]]>} : () -> ()

// -----

// expected-error @below {{expected a bool, a list of counts or a list of such lists for pattern "a", but got 1 : i64}}
"test.op"() {a = #mf.pattern<"a", 1>} : () -> ()

// -----

// expected-error @below {{expected a bool, a list of counts or a list of such lists for pattern "a", but got ["b"]}}
"test.op"() {a = #mf.pattern<"a", ["b"]>} : () -> ()

// -----

// expected-error @below {{expected recompute to be a bool, a list of counts or a list of such lists, but got [1, [1]]}}
"test.op"() {a = #mf.recompute_config<recompute = [1, [1]], select = false, select_comm = false, select_exclude = false, select_comm_exclude = false, parallel_optimizer_comm = false, mp_comm = true, slice_activation = false>} : () -> ()

// -----

// Patterns are for operators, not for whole layers.
// expected-error @below {{expected recompute to be a bool, a list of counts or a list of such lists, but got [#mf.pattern<"a", true>]}}
"test.op"() {a = #mf.recompute_config<recompute = [#mf.pattern<"a", true>], select = false, select_comm = false, select_exclude = false, select_comm_exclude = false, parallel_optimizer_comm = false, mp_comm = true, slice_activation = false>} : () -> ()

// -----

// expected-error @below {{expected select_exclude to be a bool}}
"test.op"() {a = #mf.recompute_config<recompute = true, select = false, select_comm = false, select_exclude = 3, select_comm_exclude = false, parallel_optimizer_comm = false, mp_comm = true, slice_activation = false>} : () -> ()

// -----

// expected-error @below {{expected default_prefetch to be an int of at least 1, but got 0}}
"test.op"() {a = #mf.swap_config<swap = true, default_prefetch = 0>} : () -> ()

// -----

// expected-error @below {{expected layer_swap to be a list of #mf.swap_entry, but got [1]}}
"test.op"() {a = #mf.swap_config<swap = true, default_prefetch = 1, layer_swap = [1]>} : () -> ()

// -----

// expected-error @below {{expected op_swap to be a list of #mf.op_swap, but got ["a"]}}
"test.op"() {a = #mf.swap_config<swap = true, default_prefetch = 1, op_swap = ["a"]>} : () -> ()

// -----

// expected-error @below {{expected prefetch to be positive, but got -1}}
"test.op"() {a = #mf.swap_entry<prefetch = -1, layers = true>} : () -> ()

// -----

// expected-error @below {{expected layers to be a bool or a list of layers, but got ["first"]}}
"test.op"() {a = #mf.swap_entry<prefetch = 1, layers = ["first"]>} : () -> ()

// -----

// expected-error @below {{expected max_norm to be a positive number, but got 0.0}}
"test.op"() {a = #mf.clipping<max_norm = 0.0>} : () -> ()

// -----

// expected-error @below {{expected window to be an int of at least 1, but got 0}}
"test.op"() {a = #mf.loss_scale_update<factor = 2, window = 0>} : () -> ()

// -----

// expected-error @below {{unknown parameter 'windw'; did you mean 'window'?}}
"test.op"() {a = #mf.loss_scale_update<windw = 1>} : () -> ()

// -----

// expected-error @below {{expected factor once, but got it again}}
"test.op"() {a = #mf.loss_scale_update<factor = 2, factor = 3>} : () -> ()

// -----

// expected-error @below {{expected coefficients to be a list of three numbers for each step, but got []}}
"test.op"() {a = #mf.muon<coefficients = []>} : () -> ()

// -----

// expected-error @below {{unknown attribute `trainig` in dialect `mf`}}
"test.op"() {a = #mf.trainig<a>} : () -> ()

// -----

// expected-error @below {{expected gradient_groups to be positive, but got 0}}
"test.op"() {a = #mf.parallel<stages = 1, interleave = 1, micro_batches = 1, gradient_groups = 0>} : () -> ()

// -----

// expected-error @below {{expected a distance from 1 to 2147483647 kernels, but got -1}}
"test.op"() {a = #mf.swap<distance = -1>} : () -> ()

// -----

// expected-error @below {{expected "whole", "round_robin" or "blocks" as mf.sample_order, but got "reversed"}}
module attributes {mf.sample_order = "reversed"} {
}

// -----

// expected-error @below {{has an order of samples; expected it on the module}}
"test.op"() {mf.sample_order = "blocks"} : () -> ()

// -----

// expected-error @below {{expected dim to be 0 for rows or 1 for columns, but got 2}}
"test.op"() {a = #mf.matrices<dim = 2, sizes = [4]>} : () -> ()

// -----

// expected-error @below {{expected sizes to be positive numbers of at most 2^40, but got []}}
"test.op"() {a = #mf.matrices<dim = 0, sizes = []>} : () -> ()

// -----

// expected-error @below {{expected rest to be positive numbers of at most 2^40, but got [0]}}
"test.op"() {a = #mf.matrices<dim = 0, sizes = [1], rest = [0]>} : () -> ()

// -----

// expected-error @below {{expected patterns of weight decay to be a list of texts, but got [1]}}
"test.op"() {a = #mf.optimizer<type = "AdamW", beta1 = 0.9, beta2 = 0.95, eps = 1.0e-8, weight_decay = 0.1, bias_correction = true, decay_include = [1]>} : () -> ()
