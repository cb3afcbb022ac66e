//===- Interrupt.h - ^C ends a search, not the program ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0

#ifndef MF_TOOLS_TERMINAL_INTERRUPT_H
#define MF_TOOLS_TERMINAL_INTERRUPT_H

#include <atomic>

namespace mf::tools {

/// After the call, the first ^C (or SIGTERM) sets a flag, which searches check.
/// The second one ends the program.
const std::atomic<bool> &catchInterrupt();

} // namespace mf::tools

#endif // MF_TOOLS_TERMINAL_INTERRUPT_H
