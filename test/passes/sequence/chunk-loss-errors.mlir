// A number of pieces that is none.
// RUN: not %roundtrip --pass-pipeline='builtin.module(mf.model(mf-chunk-loss{chunks=-1}))' %S/Inputs/one_loss.mlir 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// NEGATIVE: one_loss.mlir:{{[0-9]+}}:1: error: expected at least 1 for loss-chunks, or 0 for the YAML's chunk_loss_num, but got -1
