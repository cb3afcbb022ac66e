//===- Interrupt.cpp - Users end searches, not the program ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/terminal/Interrupt.h"
#include "mf/Support/NumberText.h"
#include "llvm/Support/Signals.h"
#include <chrono>

namespace mf::tools {

static std::atomic<bool> isStopped = false;
static_assert(std::atomic<bool>::is_always_lock_free,
              "a signal handler may not wait");

Interrupt::Interrupt(std::optional<double> seconds, std::string option)
    : seconds(seconds), option(std::move(option)) {
  // LLVM calls the function only once, and removes its signal handlers before.
  llvm::sys::SetInterruptFunction([] { isStopped = true; });
  if (!seconds)
    return;
  timer = std::thread([this] {
    std::unique_lock<std::mutex> lock(mutex);
    if (ended.wait_for(lock, std::chrono::duration<double>(*this->seconds),
                       [this] { return isEnded; }) ||
        isStopped)
      return;
    isLate = true;
    isStopped = true;
  });
}

Interrupt::~Interrupt() {
  if (!timer.joinable())
    return;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    isEnded = true;
  }
  ended.notify_one();
  timer.join();
}

const std::atomic<bool> &Interrupt::getFlag() const { return isStopped; }

std::string Interrupt::describe() const {
  return isLate ? option + "=" + formatRounded(*seconds) + " ended the search"
                : "the search was interrupted";
}

} // namespace mf::tools
