//===- ProcessGroup.cpp - Processes that run one program ------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "mf/Exec/Runner/ProcessGroup.h"
#include "ProcessCommunicator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <thread>
#include <unistd.h>

using namespace mf::program;

namespace mf::runner {

/// The tag of messages that belong to no channel of the program.
static constexpr int64_t controlTag = 0;
static constexpr int64_t firstChannelTag = 1;

/// Writes to standard error at once, so that text of other processes is not
/// interleaved.
static void writeError(llvm::StringRef text) {
  while (!text.empty()) {
    const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
    if (written <= 0)
      return;
    text = text.drop_front(written);
  }
}

ProcessGroup::ProcessGroup(std::unique_ptr<Transport> given)
    : transport(std::move(given)) {
  transport->watch([this](int64_t process, Loss loss) {
    if (!transport->claimReport())
      return;
    writeError("mf-run: error: " + describe(process) +
               (loss == Loss::Ended
                    ? ": the process ended before the run did\n"
                    : ": the process does not run any more, it was stopped\n"));
    transport->finishReport();
  });
}

ProcessGroup::~ProcessGroup() = default;

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

llvm::Error ProcessGroup::placeRanks(int64_t numRanks) {
  const int64_t processes = getNumProcesses();
  if (numRanks % processes == 0) {
    ranksPerProcess = numRanks / processes;
    return llvm::Error::success();
  }
  std::vector<std::string> fitting;
  for (int64_t count = 1; count <= numRanks; ++count)
    if (numRanks % count == 0)
      fitting.push_back(std::to_string(count));
  return llvm::createStringError(
      "mpirun started " + std::to_string(processes) +
      " processes, over which the program's " + std::to_string(numRanks) +
      " ranks cannot be divided: expected mpirun -n " +
      llvm::join(llvm::ArrayRef(fitting).drop_back(), ", ") +
      (fitting.size() > 1 ? " or " : "") + fitting.back());
}

std::vector<int64_t> ProcessGroup::getLocalRanks() const {
  const int64_t first = transport->getProcess() * ranksPerProcess;
  const auto ranks = llvm::seq(first, first + ranksPerProcess);
  return {ranks.begin(), ranks.end()};
}

std::string ProcessGroup::describe(int64_t process, int64_t ranksPerProcess) {
  const int64_t first = process * ranksPerProcess;
  if (ranksPerProcess == 0)
    return "process " + std::to_string(process);
  if (ranksPerProcess == 1)
    return "rank " + std::to_string(first);
  return "ranks " + std::to_string(first) + " to " +
         std::to_string(first + ranksPerProcess - 1);
}

int ProcessGroup::getThreads(int threads) const {
  int64_t processes = getNumProcesses(), number = transport->getProcess();
  if (threads <= 0) {
    // If mpirun binds processes to cores, each one counts its own.
    threads = static_cast<int>(std::thread::hardware_concurrency());
    if (threads < sysconf(_SC_NPROCESSORS_ONLN))
      return std::max(1, threads);
    processes = transport->getNumProcessesHere();
    number %= processes;
  }
  return static_cast<int>(std::max<int64_t>(
      1, threads / processes + (number < threads % processes ? 1 : 0)));
}

llvm::Expected<std::shared_ptr<Communicator>>
ProcessGroup::makeCommunicator(const Program &program) {
  auto made =
      makeProcessCommunicator(program.mesh, program.channels, *transport,
                              ranksPerProcess, firstChannelTag);
  if (!made)
    return made.takeError();
  return std::shared_ptr<Communicator>(std::move(*made));
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

static const std::byte *toBytes(const void *data) {
  return static_cast<const std::byte *>(data);
}
static std::byte *toBytes(void *data) { return static_cast<std::byte *>(data); }

llvm::Error ProcessGroup::exchange(llvm::MutableArrayRef<Message> messages) {
  if (!transport->exchange(messages))
    return llvm::createStringError("the run is about to end");
  for (const Message &message : messages)
    if (message.arrivedBytes != message.bytes)
      return llvm::createStringError(describe(message.process) + ": expected " +
                                     std::to_string(message.bytes) +
                                     " bytes, but got " +
                                     std::to_string(message.arrivedBytes));
  return llvm::Error::success();
}

llvm::Expected<std::vector<std::string>>
ProcessGroup::gatherAll(llvm::StringRef own) {
  const int64_t self = transport->getProcess();
  const auto ownSize = static_cast<int64_t>(own.size());
  std::vector<int64_t> sizes(getNumProcesses(), ownSize);
  std::vector<Message> messages;
  for (int64_t process = 0; process < getNumProcesses(); ++process)
    if (process != self) {
      messages.push_back(Message::makeSend(process, controlTag,
                                           toBytes(&ownSize), sizeof(int64_t)));
      messages.push_back(Message::makeReceive(
          process, controlTag, toBytes(&sizes[process]), sizeof(int64_t)));
    }
  if (llvm::Error error = exchange(messages))
    return error;
  std::vector<std::string> texts(getNumProcesses(), own.str());
  messages.clear();
  for (int64_t process = 0; process < getNumProcesses(); ++process)
    if (process != self) {
      texts[process].assign(sizes[process], '\0');
      messages.push_back(
          Message::makeSend(process, controlTag, toBytes(own.data()), ownSize));
      messages.push_back(Message::makeReceive(
          process, controlTag, toBytes(texts[process].data()), sizes[process]));
    }
  if (llvm::Error error = exchange(messages))
    return error;
  return texts;
}

llvm::Error ProcessGroup::sendToFirst(llvm::ArrayRef<uint8_t> bytes) {
  Message message = Message::makeSend(0, controlTag, toBytes(bytes.data()),
                                      static_cast<int64_t>(bytes.size()));
  return exchange(message);
}

llvm::Error ProcessGroup::receive(int64_t process,
                                  llvm::MutableArrayRef<uint8_t> bytes) {
  Message message =
      Message::makeReceive(process, controlTag, toBytes(bytes.data()),
                           static_cast<int64_t>(bytes.size()));
  return exchange(message);
}

//===----------------------------------------------------------------------===//
// Agreement
//===----------------------------------------------------------------------===//

llvm::Error ProcessGroup::agree(llvm::Error own) {
  std::string text;
  const bool hasFailed = static_cast<bool>(own);
  if (hasFailed)
    own = llvm::handleErrors(
        std::move(own),
        [&](std::unique_ptr<llvm::ErrorInfoBase> error) -> llvm::Error {
          text = error->message();
          return llvm::Error(std::move(error));
        });
  // Ranks may be placed in some processes only, if their programs differ.
  const std::string placed = std::to_string(ranksPerProcess);
  auto gathered =
      gatherAll((hasFailed ? "failed" : "fine") + std::string(1, '\0') +
                placed + std::string(1, '\0') + text);
  if (!gathered)
    return llvm::joinErrors(std::move(own), gathered.takeError());
  std::string first;
  bool haveAllFailed = true;
  for (auto [process, entry] : llvm::enumerate(*gathered)) {
    auto [state, rest] = llvm::StringRef(entry).split('\0');
    auto [ranks, what] = rest.split('\0');
    haveAllFailed &= state == "failed";
    if (state != "failed" || !first.empty())
      continue;
    int64_t count = 0;
    (void)ranks.getAsInteger(10, count);
    first = what.starts_with("rank ")
                ? what.str()
                : describe(static_cast<int64_t>(process), count) + ": " +
                      what.str();
  }
  if (haveAllFailed || first.empty())
    return own;
  llvm::consumeError(std::move(own));
  return llvm::createStringError(first);
}

llvm::Error
ProcessGroup::expectSame(llvm::ArrayRef<ranks::SharedValue> values) {
  std::vector<std::string> words = {std::to_string(ranksPerProcess)};
  for (const ranks::SharedValue &value : values)
    words.push_back(value.second);
  auto gathered = gatherAll(llvm::join(words, llvm::StringRef("\0", 1)));
  if (!gathered)
    return gathered.takeError();
  std::vector<llvm::SmallVector<llvm::StringRef>> texts(gathered->size());
  for (auto [text, own] : llvm::zip(*gathered, texts))
    llvm::StringRef(text).split(own, '\0');
  int64_t count = 0;
  (void)texts.front().front().getAsInteger(10, count);
  for (auto [number, value] : llvm::enumerate(values)) {
    auto get = [&, at = number + 1](int64_t process) {
      return at < texts[process].size() ? texts[process][at] : "";
    };
    std::vector<std::string> others;
    for (int64_t process = 1; process < getNumProcesses(); ++process)
      if (get(process) != get(0))
        others.push_back(describe(process, count) + " (" + get(process).str() +
                         ")");
    if (!others.empty())
      return llvm::createStringError(
          value.first + " of " + llvm::join(others, ", ") + " is not that of " +
          describe(0, count) + " (" + get(0).str() +
          "): start all processes alike");
  }
  return llvm::Error::success();
}

void ProcessGroup::fail(llvm::StringRef text) {
  if (transport->claimReport()) {
    writeError(text);
    transport->finishReport();
  }
  transport->abort();
}

} // namespace mf::runner
