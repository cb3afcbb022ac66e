// A swapped value whose copies are not ordered: the verifier names it and both operators.
// RUN: cat %S/../Inputs/training.mlir %S/../lower/lower-to-ascend-swap.mlir | %roundtrip --pass-pipeline='builtin.module(mf.model(mf-build-schedule),mf-lower-to-ascend,ascend.program(ascend-plan-memory))' -o %t.mlir
// RUN: %roundtrip --ascend-verify-program %t.mlir -o /dev/null

// The wait before the reader is gone.
// RUN: sed '/routine @chunk0.backward/,/routine @begin/{/wait @compute for %%6/d}' %t.mlir > %t.event.mlir
// RUN: not %roundtrip --ascend-verify-program %t.event.mlir 2>&1 | FileCheck %s --check-prefix=EVENT
// EVENT: error: aclnnMul ('c', task 'chunk0.backward' of micro-batch 0, stream 'compute') reads prefetched residual 'early', but no event orders this after copy (task 'chunk0.backward' of micro-batch 0, stream 'h2d'), which writes it
// EVENT: note: that is here

// The same for a copy that starts in the task before.
// RUN: sed '/routine @chunk0.backward/,/routine @begin/{/wait @compute for %%arg3/d}' %t.mlir > %t.passed.mlir
// RUN: not %roundtrip --ascend-verify-program %t.passed.mlir 2>&1 | FileCheck %s --check-prefix=PASSED
// PASSED: error: aclnnMul ('a', task 'chunk0.backward' of micro-batch 0, stream 'compute') reads prefetched residual 'late', but no event orders this after copy (stream 'h2d'), which writes it

// The copy back is gone: what lies there is another value.
// RUN: sed '/routine @chunk0.backward/,/routine @begin/s/= ascend.copy .*/= ascend.record @h2d/' %t.mlir > %t.prefetch.mlir
// RUN: not %roundtrip --ascend-verify-program %t.prefetch.mlir 2>&1 | FileCheck %s --check-prefix=PREFETCH
// PREFETCH: error: aclnnMul ('c', task 'chunk0.backward' of micro-batch 0, stream 'compute') reads {{.*}}, but aclnnSilu ('late', task 'chunk0.forward' of micro-batch 1, stream 'compute') wrote result of 'late' to the same memory before

// Memory is given back before the copy out is over.
// RUN: sed '/routine @chunk0.forward/,/routine @chunk0.backward/{/wait @compute for %%6/d}' %t.mlir > %t.release.mlir
// RUN: not %roundtrip --ascend-verify-program %t.release.mlir 2>&1 | FileCheck %s --check-prefix=RELEASE
// RELEASE: error: aclnnSilu ('late', task 'chunk0.forward' of micro-batch 0, stream 'compute') writes result of 'late', but no event orders this after copy (task 'chunk0.forward' of micro-batch 0, stream 'd2h'), which reads result of 'early' in its memory

// The copy out starts before its operator is done.
// RUN: sed '/routine @chunk0.forward/,/routine @chunk0.backward/s/ on @d2h after %%[0-9]*/ on @d2h/' %t.mlir > %t.out.mlir
// RUN: not %roundtrip --ascend-verify-program %t.out.mlir 2>&1 | FileCheck %s --check-prefix=OUT
// OUT: error: copy (task 'chunk0.forward' of micro-batch 0, stream 'd2h') reads result of 'early', but no event orders this after aclnnSilu ('early', task 'chunk0.forward' of micro-batch 0, stream 'compute'), which writes it

// The copy back starts before the copy out is over.
// RUN: sed '/ascend.step/,$s/ on @h2d after %%13/ on @h2d/' %t.mlir > %t.early.mlir
// RUN: not %roundtrip --ascend-verify-program %t.early.mlir 2>&1 | FileCheck %s --check-prefix=EARLY
// EARLY: error: copy (stream 'h2d') reads residual 'late' of micro-batch 0, but no event orders this after copy (task 'chunk0.forward' of micro-batch 0, stream 'd2h'), which writes it
