// Three ranks of a group with two experts each, in two groups. Each rank sends the rows of its part of `rows` to the
// experts that its part of `send` says; what arrives is the parameter `arrived`.
// RUN: mf-opt --ascend-verify-program %s -o /dev/null
// RUN: rm -rf %t && mkdir %t
// RUN: %python %S/Inputs/exchange_rows.py make %t
// RUN: mf-run %s --steps 2 --init-params %t/fine.safetensors --save-params %t/out.safetensors | FileCheck %s
// RUN: %python %S/Inputs/exchange_rows.py check %t/fine.safetensors %t/out.safetensors | FileCheck %s --check-prefix=SAME
// RUN: mf-run %s --steps 2 --init-params %t/fine.safetensors --save-params %t/debug.safetensors --debug-memory --threads 5 | FileCheck %s
// RUN: cmp %t/out.safetensors %t/debug.safetensors
// RUN: mf-run %s --steps 1 --init-params %t/full.safetensors --save-params %t/full.out.safetensors
// RUN: %python %S/Inputs/exchange_rows.py check %t/full.safetensors %t/full.out.safetensors | FileCheck %s --check-prefix=SAME
// SAME: 6 ranks: as the counts say

// CHECK: step:[ {{ *}}1/ {{ *}}2]
// CHECK: step:[ {{ *}}2/ {{ *}}2]

// What only a run shows ends it: the rank, the operator, what is wrong, and nothing is written.
// RUN: not mf-run %s --init-params %t/room.safetensors --save-params %t/never.safetensors 2>&1 | FileCheck %s --check-prefix=ROOM --implicit-check-not=loss
// ROOM: mf-run: error: rank 4 {{.*}}: all_to_all_v of 'layers.3.feed_forward.experts.dispatch': 12 rows would arrive, 7 of them for expert 3, the most, but there is room for 11; import with a larger --expert-room
// RUN: not mf-run %s --init-params %t/negative.safetensors --save-params %t/never.safetensors 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// NEGATIVE: mf-run: error: rank 2 {{.*}}: all_to_all_v of 'layers.3.feed_forward.experts.dispatch': expected a number of rows, but got -1 to send for expert 5
// RUN: not mf-run %s --init-params %t/fraction.safetensors --save-params %t/never.safetensors 2>&1 | FileCheck %s --check-prefix=FRACTION
// FRACTION: mf-run: error: rank 0 {{.*}}: expected a number of rows, but got 1.5 to send for expert 0
// RUN: not mf-run %s --init-params %t/nan.safetensors --save-params %t/never.safetensors 2>&1 | FileCheck %s --check-prefix=NAN
// NAN: mf-run: error: rank 5 {{.*}}: expected a number of rows, but got nan to send for expert 1
// RUN: not mf-run %s --init-params %t/many.safetensors --save-params %t/never.safetensors 2>&1 | FileCheck %s --check-prefix=MANY
// MANY: mf-run: error: rank 1 {{.*}}: expected to send at most the 6 rows of its input, but got 7
// RUN: sed 's/counts %%send, %%receive/counts %%send, %%given/' %s > %t/corrupt.mlir
// RUN: mf-run %t/corrupt.mlir --steps 2 --init-params %t/fine.safetensors --save-params %t/given.safetensors | FileCheck %s
// RUN: cmp %t/out.safetensors %t/given.safetensors
// RUN: not mf-run %t/corrupt.mlir --init-params %t/corrupt.safetensors --save-params %t/never.safetensors 2>&1 | FileCheck %s --check-prefix=CORRUPT
// CORRUPT: mf-run: error: rank 3 {{.*}}: all_to_all_v of 'layers.3.feed_forward.experts.dispatch': expects 3 rows of rank 5 for expert 1, but that sends 2
// RUN: not ls %t/never.safetensors

module attributes {mf.mesh = #mf.mesh<pp = 1, dp = 2, ep = 3>} {
  ascend.program @stage0 stage 0 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100, arena_bytes = 1024, host_bytes = 64} {
    ascend.stream @compute compute
    ascend.stream @ep communication
    ascend.static @rows parameter of "rows" : !ascend.buffer<1x6x2xf32, hbm> slice <[6, 6, 2] over [[dp, ep], [], []]> at 0 {init = #mf.init<ones>}
    ascend.static @send parameter of "send" : !ascend.buffer<1x3x2xf32, hbm> slice <[6, 3, 2] over [[dp, ep], [], []]> at 64 {init = #mf.init<ones>}
    ascend.static @given parameter of "given" : !ascend.buffer<1x3x2xf32, hbm> slice <[6, 3, 2] over [[dp, ep], [], []]> at 128 {init = #mf.init<ones>}
    ascend.static @arrived parameter of "arrived" : !ascend.buffer<1x11x2xf32, hbm> slice <[6, 11, 2] over [[dp, ep], [], []]> at 192 {init = #mf.init<ones>}
    ascend.step {
      %rows = ascend.global @rows : !ascend.buffer<1x6x2xf32, hbm>
      %send = ascend.global @send : !ascend.buffer<1x3x2xf32, hbm>
      %given = ascend.global @given : !ascend.buffer<1x3x2xf32, hbm>
      %arrived = ascend.global @arrived : !ascend.buffer<1x11x2xf32, hbm>
      %receive = ascend.message at 320 : !ascend.buffer<1x3x2xf32, hbm>
      %counted = ascend.collective all_to_all %send to %receive over <ep> channel "ep" cell "layers.3.feed_forward.experts.counts" on @ep : !ascend.buffer<1x3x2xf32, hbm> to !ascend.buffer<1x3x2xf32, hbm> -> !ascend.event
      %done = ascend.collective all_to_all_v %rows to %arrived counts %send, %receive over <ep> channel "ep" cell "layers.3.feed_forward.experts.dispatch" on @ep after %counted {fill = 0.5} : !ascend.buffer<1x6x2xf32, hbm> to !ascend.buffer<1x11x2xf32, hbm> counts !ascend.buffer<1x3x2xf32, hbm>, !ascend.buffer<1x3x2xf32, hbm> -> !ascend.event
    }
  }
}
