// RUN: %roundtrip --ascend-print-memory -verify-diagnostics %s

// expected-error @below {{has no memory plan; run ascend-plan-memory first}}
ascend.program @stage0 stage 0 attributes {
    micro_batches = 1 : i64, micro_batch_size = 1 : i64, sequence_length = 8 : i64,
    vocab_size = 16 : i64, pad_token_id = -1 : i64, ignore_index = -100 : i64} {
}
