//===- Transport.cpp - Messages between processes -------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Transport/Transport.h"
#include "llvm/Support/FileSystem.h"
#include <cstdlib>
#include <dlfcn.h>
#include <string>

namespace mf {

Transport::~Transport() = default;

/// The variable in which mpirun stores the number of processes.
static constexpr char sizeVariable[] = "OMPI_COMM_WORLD_SIZE";

bool isStartedByMpirun() { return std::getenv(sizeVariable) != nullptr; }

int64_t countStartedProcesses() {
  int64_t count = 1;
  const char *text = std::getenv(sizeVariable);
  if (!text || llvm::StringRef(text).getAsInteger(10, count) || count < 1)
    return 1;
  return count;
}

llvm::Expected<std::unique_ptr<Transport>> loadTransport(llvm::StringRef path) {
  if (!llvm::sys::fs::exists(path))
    return llvm::createStringError(
        "mpirun started several processes, but there is no " + path +
        ", which release archives and wheels do not have; install the Debian "
        "package mf-mpi, build with Open MPI (libopenmpi-dev), or run without "
        "mpirun");
  // The components that MPI loads search its symbols globally. The library
  // stays loaded until the process ends, as MPI requires.
  void *library = dlopen(path.str().c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!library)
    return llvm::createStringError(
        "mpirun started several processes, but MPI cannot be used: " +
        std::string(dlerror()) +
        "; build with Open MPI (libopenmpi-dev) or run without mpirun");
  using Maker = Transport *(*)();
  auto *make = reinterpret_cast<Maker>(dlsym(library, "mfMakeTransport"));
  if (!make)
    return llvm::createStringError(path + ": is not a transport of this build");
  std::unique_ptr<Transport> transport(make());
  if (!transport)
    return llvm::createStringError("MPI cannot be initialized");
  return transport;
}

} // namespace mf
