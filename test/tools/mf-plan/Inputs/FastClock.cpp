//===- FastClock.cpp - A clock that makes the machine look slow -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Preloaded into a program: each second takes an hour by its clocks.
//
//===----------------------------------------------------------------------===//

#include <ctime>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" int clock_gettime(clockid_t clock, timespec *time) {
  constexpr long speed = 3600, nano = 1000 * 1000 * 1000;
  // By the boot's clock, time is fast from the start.
  timespec now;
  if (syscall(SYS_clock_gettime, CLOCK_BOOTTIME, &now) != 0)
    return static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  const long parts = now.tv_nsec * speed;
  time->tv_sec = now.tv_sec * speed + parts / nano;
  time->tv_nsec = parts % nano;
  return 0;
}
