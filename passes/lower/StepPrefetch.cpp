//===- StepPrefetch.cpp - Swapped values that are copied back early -------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/lower/StepPrefetch.h"
#include "passes/lower/CopyPlacement.h"

using namespace mlir;
using namespace mf;
using namespace mf::passes;

void EarlyCopies::place(StepBlock &step, MutableArrayRef<StepCall> calls) {
  ProgramBuilder &program = step.getProgram();
  copies.resize(calls.size());
  std::vector<int64_t> lengths;
  // The first call with a frame computes the values that the others read.
  DenseMap<Value, int64_t> makers;
  for (auto [index, call] : llvm::enumerate(calls)) {
    lengths.push_back(program.countLaunches(call.routine));
    if (call.frame)
      makers.try_emplace(call.frame, index);
  }
  for (size_t reader = 0; reader < calls.size(); ++reader) {
    StepCall &call = calls[reader];
    step.setLoc(call.loc);
    for (const EarlyPrefetch &prefetch :
         program.getEarlyPrefetches(call.routine)) {
      SchedulePlace place = walkBack(lengths, static_cast<int64_t>(reader),
                                     prefetch.ahead, makers.lookup(call.frame));
      Value buffer = step.createMessage(prefetch.type);
      copies[place.task].push_back(
          {place.kernel, reader, call.events.size(), buffer, prefetch.slot});
      call.buffers.push_back(buffer);
      call.events.emplace_back();
    }
  }
  for (std::vector<EarlyCopy> &list : copies)
    llvm::sort(list, [](const EarlyCopy &a, const EarlyCopy &b) {
      return std::tuple(a.kernel, a.reader, a.event) <
             std::tuple(b.kernel, b.reader, b.event);
    });
}

SmallVector<int64_t> EarlyCopies::getKernels(size_t call) const {
  SmallVector<int64_t> kernels;
  for (const EarlyCopy &copy : copies[call])
    if (copy.kernel > 0 && (kernels.empty() || kernels.back() != copy.kernel))
      kernels.push_back(copy.kernel);
  return kernels;
}

/// Emits a copy that starts after event `started`.
static void emitCopy(StepBlock &step, MutableArrayRef<StepCall> calls,
                     const EarlyCopy &copy, Value started) {
  ProgramBuilder &program = step.getProgram();
  StepCall &reader = calls[copy.reader];
  step.setLoc(reader.loc);
  StringRef stream =
      program.getStream(names::hostToDevice, ascend::StreamKind::HostToDevice);
  auto type = cast<ascend::BufferType>(copy.buffer.getType());
  Value host = ascend::SlotOp::create(
      step, program.getBufferType(type.getTensor(), ascend::Space::Host),
      copy.slot, reader.frame);
  reader.events[copy.event] =
      ascend::CopyOp::create(step, started.getType(), host, copy.buffer, stream,
                             started)
          .getDone();
}

void EarlyCopies::emitBefore(StepBlock &step, MutableArrayRef<StepCall> calls,
                             size_t call) const {
  Value started;
  for (const EarlyCopy &copy : copies[call]) {
    if (copy.kernel > 0)
      break;
    if (!started)
      started = step.record(names::compute);
    emitCopy(step, calls, copy, started);
  }
}

void EarlyCopies::emitBeside(StepBlock &step, MutableArrayRef<StepCall> calls,
                             size_t call, const LaunchEvents &events) const {
  for (const EarlyCopy &copy : copies[call])
    if (copy.kernel > 0)
      emitCopy(step, calls, copy, events.getAfter(copy.kernel));
}
