//===- RoutineSwap.cpp - Copies of swapped values in a routine ------------===//
// SPDX-License-Identifier: Apache-2.0

#include "passes/lower/RoutineSwap.h"
#include "passes/lower/CopyPlacement.h"

using namespace mlir;
using namespace mf;
using namespace mf::passes;
using ascend::StreamKind;

void RoutineSwap::wait(Location loc, Value event) {
  ascend::WaitOp::create(builder, loc, names::compute, event);
}

void RoutineSwap::beforeLaunch() {
  auto next = static_cast<int64_t>(launches.size());
  llvm::erase_if(releases, [&](const Release &release) {
    if (release.kernel > next)
      return false;
    wait(release.loc, release.event);
    return true;
  });
}

/// Starts a copy after all launches so far. Returns the event of its end.
Value RoutineSwap::startCopy(Location loc, StringRef name, StreamKind kind,
                             Value source, Value target) {
  StringRef stream = program.getStream(name, kind);
  Value ready = ascend::RecordOp::create(builder, loc, names::compute);
  return ascend::CopyOp::create(builder, loc, ready.getType(), source, target,
                                stream, ready)
      .getDone();
}

void RoutineSwap::copyOut(Location loc, Value buffer, Value host,
                          int64_t distance) {
  Value done = startCopy(loc, names::deviceToHost, StreamKind::DeviceToHost,
                         buffer, host);
  releases.push_back(
      {placeRelease(static_cast<int64_t>(launches.size()), distance), loc,
       done});
}

Value RoutineSwap::copyBack(Location loc, int64_t slot, Type tensor,
                            int64_t distance) {
  ascend::BufferType type = program.getBufferType(tensor);
  PrefetchPlace place =
      placePrefetch(static_cast<int64_t>(launches.size()), distance);
  if (place.ahead > 0) {
    Block &body = routine.getBody().front();
    Value buffer = body.insertArgument(numBufferArguments++, type, loc);
    Value done =
        body.addArgument(ascend::EventType::get(program.getContext()), loc);
    program.addEarlyPrefetch(routine.getSymName(), {slot, place.ahead, type});
    wait(loc, done);
    return buffer;
  }
  Value done, buffer;
  {
    OpBuilder::InsertionGuard guard(builder);
    if (place.kernel < static_cast<int64_t>(launches.size()))
      builder.setInsertionPoint(launches[place.kernel]);
    Value host = ascend::SlotOp::create(
        builder, loc, program.getBufferType(tensor, ascend::Space::Host), slot);
    buffer = ascend::AllocOp::create(builder, loc, type, ascend::RegionAttr(),
                                     IntegerAttr());
    done = startCopy(loc, names::hostToDevice, StreamKind::HostToDevice, host,
                     buffer);
  }
  wait(loc, done);
  return buffer;
}

void RoutineSwap::finish() {
  for (const Release &release : releases)
    wait(release.loc, release.event);
  releases.clear();
  routine.setFunctionType(FunctionType::get(
      program.getContext(), routine.getBody().front().getArgumentTypes(), {}));
}
