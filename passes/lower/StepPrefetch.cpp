//===- StepPrefetch.cpp - Swapped values that are copied back early -------===//
//
// A copy that starts before the run that reads it belongs to the step. It waits
// for an event that an earlier run records, or that is recorded right before
// one.
//
//===----------------------------------------------------------------------===//

#include "passes/lower/CopyPlacement.h"
#include "passes/lower/StepBuilder.h"

using namespace mlir;
using namespace mf;
using namespace mf::passes;

void StepBuilder::placeEarlyCopies() {
  earlyCopies.resize(calls.size());
  std::vector<int64_t> lengths;
  // The first call with a frame computes the values that the others read.
  DenseMap<Value, int64_t> makers;
  for (auto [index, call] : llvm::enumerate(calls)) {
    lengths.push_back(program.countLaunches(call.routine));
    if (call.frame)
      makers.try_emplace(call.frame, index);
  }
  for (size_t reader = 0; reader < calls.size(); ++reader) {
    Call &call = calls[reader];
    loc = call.loc;
    for (const EarlyPrefetch &prefetch :
         program.getEarlyPrefetches(call.routine)) {
      SchedulePlace place = walkBack(lengths, static_cast<int64_t>(reader),
                                     prefetch.ahead, makers.lookup(call.frame));
      Value buffer =
          ascend::MessageOp::create(builder, loc, prefetch.type, IntegerAttr());
      earlyCopies[place.task].push_back(
          {place.kernel, reader, call.events.size(), buffer, prefetch.slot});
      call.buffers.push_back(buffer);
      call.events.emplace_back();
    }
  }
  for (std::vector<EarlyCopy> &copies : earlyCopies)
    llvm::sort(copies, [](const EarlyCopy &a, const EarlyCopy &b) {
      return std::tuple(a.kernel, a.reader, a.event) <
             std::tuple(b.kernel, b.reader, b.event);
    });
}

SmallVector<int64_t> StepBuilder::getEarlyKernels(size_t index) const {
  SmallVector<int64_t> kernels;
  for (const EarlyCopy &copy : earlyCopies[index])
    if (copy.kernel > 0 && (kernels.empty() || kernels.back() != copy.kernel))
      kernels.push_back(copy.kernel);
  return kernels;
}

void StepBuilder::emitEarlyCopy(const EarlyCopy &copy, Value started) {
  Call &reader = calls[copy.reader];
  loc = reader.loc;
  StringRef stream =
      program.getStream(names::hostToDevice, ascend::StreamKind::HostToDevice);
  auto type = cast<ascend::BufferType>(copy.buffer.getType());
  Value host = ascend::SlotOp::create(
      builder, loc,
      program.getBufferType(type.getTensor(), ascend::Space::Host), copy.slot,
      reader.frame);
  reader.events[copy.event] =
      ascend::CopyOp::create(builder, loc, started.getType(), host, copy.buffer,
                             stream, started)
          .getDone();
}

void StepBuilder::emitEarlyCopiesBefore(size_t index) {
  Value started;
  for (const EarlyCopy &copy : earlyCopies[index]) {
    if (copy.kernel > 0)
      break;
    if (!started)
      started = record(names::compute);
    emitEarlyCopy(copy, started);
  }
}

void StepBuilder::emitEarlyCopiesIn(size_t index, ValueRange started) {
  SmallVector<int64_t> kernels = getRecords(index);
  for (const EarlyCopy &copy : earlyCopies[index])
    if (copy.kernel > 0)
      emitEarlyCopy(
          copy,
          started[llvm::lower_bound(kernels, copy.kernel) - kernels.begin()]);
}
