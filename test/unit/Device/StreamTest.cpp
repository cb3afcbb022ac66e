//===- StreamTest.cpp - Streams, events, copies and failures --------------===//
// SPDX-License-Identifier: Apache-2.0

#include "lib/Exec/Device/StreamState.h"
#include "mf/Exec/Device/Device.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <chrono>
#include <future>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace mf;
using ::testing::HasSubstr;

namespace {

std::unique_ptr<Device> make(const Device::Options &options = {}) {
  llvm::Expected<std::unique_ptr<Device>> device = Device::create(options);
  EXPECT_TRUE(static_cast<bool>(device));
  return std::move(*device);
}

std::string textOf(llvm::Error error) {
  return llvm::toString(std::move(error));
}

/// Work that runs until `open` is called.
class Gate {
public:
  auto wait() {
    return [future = opened.get_future().share()] { future.wait(); };
  }
  void open() { opened.set_value(); }

private:
  std::promise<void> opened;
};

TEST(StreamTest, WaitsForWhatTheEventCapturedWhenTheWaitWasIssued) {
  std::unique_ptr<Device> device = make();
  Stream &producer = device->createStream("producer");
  Stream &consumer = device->createStream("consumer");
  Event event;
  Gate first, second;
  std::atomic<int> produced{0};
  int seen = -1;
  producer.launch(first.wait());
  producer.launch([&] { produced = 1; });
  producer.record(event);
  producer.launch(second.wait());
  producer.launch([&] { produced = 2; });

  consumer.wait(event);
  producer.record(event);
  consumer.launch([&] { seen = produced; });
  EXPECT_FALSE(event.isComplete());
  first.open();
  // The second gate is still closed: the wait is for the first capture.
  EXPECT_EQ(textOf(consumer.synchronize()), "");
  EXPECT_EQ(seen, 1);
  EXPECT_FALSE(event.isComplete());
  second.open();
  EXPECT_EQ(textOf(event.synchronize()), "");
  EXPECT_TRUE(event.isComplete());
  EXPECT_EQ(produced, 2);
}

TEST(StreamTest, MeasuresStallsInTotalAndPerWait) {
  std::unique_ptr<Device> device = make();
  Stream &producer = device->createStream("producer");
  Stream &consumer = device->createStream("consumer");
  Event end;
  double stall = 0, noStall = 0;
  producer.launch(
      [] { std::this_thread::sleep_for(std::chrono::milliseconds(30)); });
  producer.record(end);
  consumer.wait(end, &stall);
  consumer.wait(end, &noStall);
  EXPECT_EQ(textOf(device->synchronize()), "");
  EXPECT_GE(stall, 0.02);
  EXPECT_EQ(noStall, 0);
  EXPECT_DOUBLE_EQ(consumer.getStatistics().stallSeconds, stall);
  EXPECT_GE(producer.getStatistics().busySeconds, 0.03);
}

TEST(StreamTest, AnEventThatWasNeverRecordedIsAnError) {
  std::unique_ptr<Device> device = make();
  Stream &stream = device->createStream("compute");
  Event event;
  EXPECT_FALSE(event.isComplete());
  EXPECT_THAT(textOf(event.synchronize()), HasSubstr("never recorded"));
  stream.wait(event);
  EXPECT_THAT(textOf(stream.synchronize()),
              HasSubstr("stream 'compute': waits for an event that was never "
                        "recorded"));
}

TEST(StreamTest, ErrorsAndExceptionsFailTheDeviceAndDropTheRest) {
  for (bool throws : {false, true}) {
    std::unique_ptr<Device> device = make();
    Stream &stream = device->createStream("compute");
    Stream &other = device->createStream("copy");
    bool ran = false;
    Event event;
    if (throws)
      stream.launch([] { throw std::runtime_error("broken"); });
    else
      stream.launch(
          []() -> llvm::Error { return llvm::createStringError("broken"); });
    stream.launch([&] { ran = true; });
    stream.record(event);
    other.wait(event);
    other.launch([&] { ran = true; });
    EXPECT_THAT(textOf(other.synchronize()),
                HasSubstr("stream 'compute': broken"));
    EXPECT_THAT(textOf(event.synchronize()), HasSubstr("broken"));
    EXPECT_THAT(textOf(stream.synchronize()), HasSubstr("broken"));
    EXPECT_FALSE(ran);
    EXPECT_TRUE(device->hasFailed());
  }
}

TEST(StreamTest, AbortReleasesStreamsThatWaitForEvents) {
  std::unique_ptr<Device> device = make();
  Stream &stuck = device->createStream("stuck");
  Stream &waiting = device->createStream("waiting");
  Gate gate;
  Event event;
  stuck.launch(gate.wait());
  stuck.record(event);
  waiting.wait(event);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  device->abort("stop");
  device->abort("later reasons are not kept");
  // The other stream's work is still running: only the wait is given up.
  EXPECT_EQ(textOf(waiting.synchronize()), "stop");
  gate.open();
  EXPECT_EQ(textOf(device->synchronize()), "stop");
}

TEST(StreamTest, FailureReachesTheDevicesThatWaitForIt) {
  std::unique_ptr<Device> first = make(), second = make();
  std::string told;
  second->setFailureHandler([&](const std::string &reason) { told = reason; });
  Stream &producer = first->createStream("send");
  Stream &consumer = second->createStream("receive");
  Event event;
  Gate gate;
  producer.launch(gate.wait());
  producer.record(event);
  consumer.wait(event);
  first->abort("cable pulled");
  gate.open();
  EXPECT_THAT(textOf(second->synchronize()),
              HasSubstr("stream 'receive': waited for an event whose stream "
                        "failed: cable pulled"));
  EXPECT_THAT(told, HasSubstr("cable pulled"));
}

TEST(StreamTest, CannotWaitForItself) {
  std::unique_ptr<Device> device = make();
  Stream &stream = device->createStream("compute");
  std::string text;
  stream.launch([&] { text = textOf(stream.synchronize()); });
  EXPECT_EQ(textOf(stream.synchronize()), "");
  EXPECT_THAT(text, HasSubstr("cannot wait for itself"));
}

TEST(DeviceTest, IsDestroyedWithWorkQueued) {
  bool ran = false;
  Gate gate;
  std::thread opener;
  {
    std::unique_ptr<Device> device = make();
    Stream &stream = device->createStream("compute");
    Stream &other = device->createStream("other");
    Event event;
    stream.launch(gate.wait());
    stream.record(event);
    other.wait(event);
    other.launch([&] { ran = true; });
    opener = std::thread([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      gate.open();
    });
  }
  opener.join();
  EXPECT_FALSE(ran);
}

TEST(CopyTest, MovesBytesBothWaysAndCounts) {
  Device::Options options;
  options.hbmBytes = options.hostBytes = 4096;
  std::unique_ptr<Device> device = make(options);
  Stream &stream = device->createStream("copy");
  std::byte *hbm = device->getHbm().getBase();
  std::byte *host = device->getHost().getBase();
  host[5] = std::byte{42};
  stream.memcpyAsync(hbm, host, 4096, CopyKind::HostToDevice);
  stream.memcpyAsync(hbm + 2048, hbm, 2048, CopyKind::DeviceToDevice);
  stream.memcpyAsync(host, hbm + 2048, 2048, CopyKind::DeviceToHost);
  EXPECT_EQ(textOf(stream.synchronize()), "");
  EXPECT_EQ(hbm[2053], std::byte{42});
  EXPECT_EQ(host[5], std::byte{42});
  EXPECT_EQ(stream.getStatistics().copies, 3);
  EXPECT_EQ(stream.getStatistics().copiedBytes, 8192);
}

TEST(CopyTest, RefusesMemoryOutsideOfTheArenas) {
  Device::Options options;
  options.hbmBytes = options.hostBytes = 100;
  {
    std::unique_ptr<Device> device = make(options);
    Stream &stream = device->createStream("copy");
    stream.memcpyAsync(device->getHbm().getBase() + 1,
                       device->getHost().getBase(), 100,
                       CopyKind::HostToDevice);
    EXPECT_THAT(textOf(stream.synchronize()),
                HasSubstr("copy of 100 bytes has its target outside of HBM"));
  }
  std::unique_ptr<Device> device = make(options);
  Stream &stream = device->createStream("copy");
  std::byte pageable[100];
  stream.memcpyAsync(device->getHbm().getBase(), pageable, 100,
                     CopyKind::HostToDevice);
  EXPECT_THAT(textOf(stream.synchronize()),
              HasSubstr("source outside of pinned host memory"));
}

/// Also for two streams, which share the link of a direction.
TEST(CopyTest, TellsWhenALinkCarriedACopy) {
  Device::Options options;
  options.hbmBytes = options.hostBytes = 1 << 20;
  options.hostToDeviceRate = options.deviceToHostRate = 1e9;
  for (CopyKind kind : {CopyKind::HostToDevice, CopyKind::DeviceToHost}) {
    std::unique_ptr<Device> device = make(options);
    std::byte *to = device->getHbm().getBase(),
              *from = device->getHost().getBase();
    if (kind == CopyKind::DeviceToHost)
      std::swap(to, from);
    WorkTimes times[4];
    for (int i = 0; i < 2; ++i) {
      Stream &stream = device->createStream("copy");
      for (WorkTimes *own : {&times[2 * i], &times[2 * i + 1]})
        stream.memcpyAsync(to + (i << 19), from + (i << 19), 1 << 19, kind,
                           own);
    }
    EXPECT_EQ(textOf(device->synchronize()), "");
    EXPECT_GE(times[1].start, times[0].end);
    EXPECT_GE(times[3].start, times[2].end);
    std::sort(std::begin(times), std::end(times),
              [](const WorkTimes &one, const WorkTimes &two) {
                return one.start < two.start;
              });
    const std::chrono::duration<double> slot((1 << 19) / 1e9 - 1e-8);
    for (const WorkTimes &copy : times)
      EXPECT_GE(copy.end - copy.start, slot);
    // A copy of the other stream may end late on a busy machine, but the link
    // is free after its slot.
    for (int i = 1; i < 4; ++i)
      EXPECT_GE(times[i].start - times[i - 1].start, slot);
  }
}

TEST(CopyLinkTest, CarriesOneCopyAfterTheOtherWithoutLosingTime) {
  using std::chrono::microseconds;
  CopyLink link(1e9);
  CopyLink::Clock::time_point start = CopyLink::Clock::now();
  EXPECT_EQ(link.reserve(start, 1000).end, start + microseconds(1));
  // Ready while the link is busy: begins when it is free.
  const WorkTimes second = link.reserve(start, 2000);
  EXPECT_EQ(second.start, start + microseconds(1));
  EXPECT_EQ(second.end, start + microseconds(3));
  // Ready later than that: the link has been idle.
  EXPECT_EQ(link.reserve(start + microseconds(10), 1000).end,
            start + microseconds(11));
  EXPECT_FALSE(CopyLink(0).isPaced());
}

TEST(DeviceTest, RefusesRatesThatAreNone) {
  Device::Options options;
  options.hostToDeviceRate = -1;
  EXPECT_THAT(textOf(Device::create(options).takeError()),
              HasSubstr("rate of a link"));
}

} // namespace
