//===- ForkServer.cpp - Many runs of a tool in copies of one process ------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A library to preload. A program that starts with it does not run: it loads
// what it links and then reads requests from standard input, each a run of the
// program, which happens in a copy of the process. A damaged input may crash a
// copy, but starting the program is paid for once; it takes longer than reading
// a small file.
//
// A request is its length in 4 bytes, and strings that each end with a zero:
// the bytes of address space and the seconds that the run may take, the file
// for its standard error, and the arguments, the program first. The answer is
// the status of wait(2) in 4 bytes.
//
//===----------------------------------------------------------------------===//

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

using Main = int (*)(int, char **, char **);
using StartMain = int (*)(Main, int, char **, void (*)(), void (*)(),
                          void (*)(), void *);

Main programMain;

/// Reads all of it; false at the end of the requests.
bool readAll(int file, void *bytes, size_t size) {
  auto *place = static_cast<char *>(bytes);
  while (size > 0) {
    const ssize_t got = read(file, place, size);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return false;
    place += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

void redirect(int to, const char *path, int flags) {
  const int file = open(path, flags, 0600);
  if (file < 0 || dup2(file, to) < 0)
    _exit(125);
  close(file);
}

/// Runs the program in a copy, and ends this.
[[noreturn]] void runProgram(std::vector<char *> words, char **environment) {
  const rlim_t bytes = strtoull(words[0], nullptr, 10);
  const rlimit memory = {bytes, bytes};
  setrlimit(RLIMIT_AS, &memory);
  redirect(STDIN_FILENO, "/dev/null", O_RDONLY);
  redirect(STDOUT_FILENO, "/dev/null", O_WRONLY);
  redirect(STDERR_FILENO, words[2], O_WRONLY | O_CREAT | O_TRUNC);
  // A run that takes longer ends by a signal.
  alarm(static_cast<unsigned>(strtoul(words[1], nullptr, 10)));
  words.push_back(nullptr);
  exit(programMain(static_cast<int>(words.size()) - 4, words.data() + 3,
                   environment));
}

int serve(int, char **, char **environment) {
  const int requests = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
  const int answers = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  uint32_t length = 0;
  while (readAll(requests, &length, sizeof length)) {
    std::string request(length, '\0');
    if (!readAll(requests, request.data(), length))
      return 1;
    std::vector<char *> words;
    for (size_t place = 0; place < length;
         place += strlen(request.data() + place) + 1)
      words.push_back(request.data() + place);
    if (words.size() < 4)
      return 1;
    const pid_t child = fork();
    if (child == 0) {
      close(requests);
      close(answers);
      runProgram(std::move(words), environment);
    }
    int32_t status = -1;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
      ;
    if (write(answers, &status, sizeof status) != sizeof status)
      return 1;
  }
  return 0;
}

} // namespace

// The function that the C library's start-up code calls with the program's
// main.
extern "C" int startMain(Main, int, char **, void (*)(), void (*)(), void (*)(),
                         void *) __asm__("__libc_start_main");

extern "C" int startMain(Main programsMain, int argc, char **argv,
                         void (*init)(), void (*fini)(), void (*rtldFini)(),
                         void *stackEnd) {
  programMain = programsMain;
  // Its children are what they are without this.
  unsetenv("LD_PRELOAD");
  const auto next =
      reinterpret_cast<StartMain>(dlsym(RTLD_NEXT, "__libc_start_main"));
  return next(serve, argc, argv, init, fini, rtldFini, stackEnd);
}
