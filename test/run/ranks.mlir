// Two stages of two ranks each: stage 0 gathers halves of w, the ranks of stage 1
// take the largest of what they receive. Each reports it; its mean is the loss.
// RUN: mf-run %s --steps 2 --report %t.json | FileCheck %s
// RUN: mf-run %s --steps 2 --debug-memory --threads 5 --save-params %t.safetensors | FileCheck %s
// RUN: FileCheck %s --check-prefix=REPORT --input-file=%t.json
// RUN: %python -c "import json, struct, sys; f = open(sys.argv[1], 'rb'); n, = struct.unpack('<Q', f.read(8)); print(json.loads(f.read(n))['w']['shape'])" %t.safetensors | FileCheck %s --check-prefix=WHOLE

// CHECK: loss: 2.000
// CHECK: loss: 2.000
// REPORT: "rank": 0,
// REPORT-NEXT: "stage": 0,
// REPORT: "rank": 1,
// REPORT-NEXT: "stage": 0,
// REPORT: "rank": 2,
// REPORT-NEXT: "stage": 1,
// REPORT: "rank": 3,
// REPORT-NEXT: "stage": 1,
// WHOLE: [4]
module attributes {mf.mesh = #mf.mesh<pp = 2, mp = 2>} {
  ascend.program @stage0 stage 0 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100, arena_bytes = 192, host_bytes = 64} {
    ascend.stream @compute compute
    ascend.stream @mp communication
    ascend.stream @pp communication
    ascend.static @w parameter of "w" : !ascend.buffer<2xf32, hbm> slice <[4] over [[mp]]> at 0 {init = #mf.init<constant, value = 2.0>}
    ascend.step {
      %w = ascend.global @w : !ascend.buffer<2xf32, hbm>
      %whole = ascend.message at 64 : !ascend.buffer<4xf32, hbm>
      %gathered = ascend.collective all_gather %w to %whole over <mp> channel "gather" on @mp : !ascend.buffer<2xf32, hbm> to !ascend.buffer<4xf32, hbm> -> !ascend.event
      ascend.send %whole to <pp = 1> channel "hidden" on @pp after %gathered : !ascend.buffer<4xf32, hbm>
    }
  }
  ascend.program @stage1 stage 1 attributes {micro_batches = 1, micro_batch_size = 1, sequence_length = 4, vocab_size = 16, pad_token_id = -1, ignore_index = -100, arena_bytes = 192, host_bytes = 64} {
    ascend.stream @compute compute
    ascend.stream @mp communication
    ascend.stream @pp communication
    ascend.stream @d2h d2h
    ascend.static @loss report of "loss" : !ascend.buffer<4xf32, host> at 0
    ascend.step {
      %loss = ascend.global @loss : !ascend.buffer<4xf32, host>
      %x = ascend.message at 0 : !ascend.buffer<4xf32, hbm>
      %came = ascend.receive %x from <pp = 0> channel "hidden" on @pp : !ascend.buffer<4xf32, hbm> -> !ascend.event
      %largest = ascend.collective all_reduce %x to %x over <mp> channel "largest" on @mp after %came {reduction = #ascend<reduction max>} : !ascend.buffer<4xf32, hbm> to !ascend.buffer<4xf32, hbm> -> !ascend.event
      ascend.copy %x to %loss on @d2h after %largest : !ascend.buffer<4xf32, hbm> to !ascend.buffer<4xf32, host>
    }
  }
}
