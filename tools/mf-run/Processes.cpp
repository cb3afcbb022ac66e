//===- Processes.cpp - mf-run as one of several processes -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "Processes.h"
#include "mf/Support/Diagnostic.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/WithColor.h"

using namespace llvm;

namespace mf::tools {

Expected<std::unique_ptr<runner::ProcessGroup>>
joinProcesses(const char *program) {
  if (countStartedProcesses() == 1)
    return nullptr;
  // The library is next to the folder of tools, in the build and when
  // installed.
  SmallString<128> path(sys::fs::getMainExecutable(
      program, reinterpret_cast<void *>(&joinProcesses)));
  sys::path::remove_filename(path);
  sys::path::append(path, "..", "lib", "mf-mpi.so");
  auto transport = loadTransport(path);
  if (!transport)
    return transport.takeError();
  return std::make_unique<runner::ProcessGroup>(std::move(*transport));
}

Messages::Messages(runner::ProcessGroup *processes, std::string tool)
    : processes(processes), tool(std::move(tool)) {
  if (processes)
    stream.emplace(text);
}

int Messages::fail(const Twine &message) {
  WithColor::error(getErrors(), tool) << message << '\n';
  return 1;
}

int Messages::fail(Error error) {
  if (error.isA<DiagnosticError>())
    printError(std::move(error), getErrors());
  else
    fail(toString(std::move(error)));
  return 1;
}

void Messages::note(StringRef remark) {
  if (!processes || processes->isFirst())
    WithColor::note(errs(), tool) << remark << '\n';
}

int Messages::finish(int code) {
  if (processes && code != 0) {
    outs().flush();
    processes->fail(text);
  }
  // The text has only warnings.
  if (processes && processes->isFirst())
    errs() << text;
  return code;
}

} // namespace mf::tools
