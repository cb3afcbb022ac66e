//===- Interrupt.cpp - ^C ends a search, not the program ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/terminal/Interrupt.h"
#include "llvm/Support/Signals.h"

namespace mf::tools {

static std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free,
              "a signal handler may not wait");

const std::atomic<bool> &catchInterrupt() {
  // LLVM calls the function only once, and removes its signal handlers before.
  llvm::sys::SetInterruptFunction([] { interrupted = true; });
  return interrupted;
}

} // namespace mf::tools
