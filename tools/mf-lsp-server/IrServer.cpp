//===- IrServer.cpp - Adds to the hovers of MLIR's server -----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "dialects/ascend/AscendDialect.h"
#include "dialects/mf/MfOps.h"
#include "mf/Frontend/Config/MemorySize.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "tools/mf-lsp-server/Servers.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/LSP/Protocol.h"
#include "llvm/Support/LSP/Transport.h"
#include "llvm/Support/SourceMgr.h"
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unistd.h>

using namespace llvm;
using namespace mlir;
// The alias distinguishes llvm::lsp from mf::lsp.
namespace protocol = llvm::lsp;

namespace mf::lsp {

//===----------------------------------------------------------------------===//
// Costs of operators in an editor
//===----------------------------------------------------------------------===//

namespace {

/// Finds operations in the text that an editor shows. Caches the parsed IR of
/// the last text, as parsing is slow.
class IrHover {
public:
  explicit IrHover(const mlir::DialectRegistry &registry);
  ~IrHover();

  /// Returns the cost of the operation whose name or result is at a position;
  /// empty if there is none or the text is not valid IR.
  std::string describe(const std::shared_ptr<const std::string> &text,
                       const llvm::lsp::Position &position);

private:
  struct ReadText;
  mlir::MLIRContext context;
  std::unique_ptr<ReadText> last;
};

} // namespace

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

/// Returns none for a type that uses no device memory.
static std::optional<int64_t> getBytes(mlir::Type type) {
  if (auto buffer = dyn_cast<ascend::BufferType>(type))
    return buffer.getBytes();
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (tensor && tensor.hasStaticShape())
    return ir::getTensorBytes(tensor);
  return std::nullopt;
}

static void addLine(std::string &words, StringRef what, const Twine &text) {
  words += ("- **" + what + "**: " + text + "\n").str();
}

static std::string describeResults(Operation *op) {
  std::string words;
  for (mlir::Type type : op->getResultTypes())
    if (std::optional<int64_t> bytes = getBytes(type))
      words += (words.empty() ? "" : ", ") + describeMemorySize(*bytes);
  return words;
}

static StringRef describeMark(ir::RecomputeKind kind) {
  switch (kind) {
  case ir::RecomputeKind::Full:
    return "full: backward computes the results again, with all of the layer "
           "or Cell";
  case ir::RecomputeKind::Select:
    return "select: a pattern of the YAML names the operator, and backward "
           "computes the results again";
  case ir::RecomputeKind::Preset:
    return "preset: the model itself asks for it, and backward computes the "
           "results again";
  case ir::RecomputeKind::Excluded:
    return "excluded: the results are kept for backward though a Cell above is "
           "recomputed";
  case ir::RecomputeKind::Output:
    return "output: the results leave a recomputed Cell and are kept";
  }
  return "";
}

static void describeCompute(ir::ComputeOpInterface op, std::string &words) {
  if (op.isView())
    addLine(words, "work", "none, the result is the operand's memory");
  else
    addLine(words, "work",
            Twine(op.getFlops()) + " FLOPs by `" + op.getKernelName() + "`");
  if (std::optional<ir::RecomputeKind> kind = op.getRecomputeMark())
    addLine(words, "recompute", describeMark(*kind));
  if (std::optional<int64_t> distance = op.getSwapMark())
    addLine(words, "swap",
            "the results are in host memory from forward to backward; the copy "
            "back begins " +
                Twine(*distance) + " kernels before the first reader");
}

/// Returns Markdown with the bytes of the results, the work of the kernel and
/// the marks of recompute and swap; empty for an operation without any of
/// these.
static std::string describeCost(Operation *op) {
  std::string words;
  if (const std::string results = describeResults(op); !results.empty())
    addLine(words, "results", results);
  if (auto compute = dyn_cast<ir::ComputeOpInterface>(op)) {
    describeCompute(compute, words);
  } else if (auto instruction = dyn_cast<ascend::InstructionOpInterface>(op)) {
    const ascend::Cost cost = instruction.getCost();
    if (cost.flops != 0)
      addLine(words, "work", Twine(cost.flops) + " FLOPs");
    if (cost.bytes != 0)
      addLine(words, "reads and writes", describeMemorySize(cost.bytes));
  }
  return words;
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

struct IrHover::ReadText {
  std::shared_ptr<const std::string> text;
  llvm::SourceMgr sources;
  Block block;
  AsmParserState places;
};

IrHover::IrHover(const DialectRegistry &registry)
    : context(registry, MLIRContext::Threading::DISABLED) {}

IrHover::~IrHover() = default;

static bool contains(SMRange range, SMLoc place) {
  return range.Start.getPointer() <= place.getPointer() &&
         place.getPointer() < range.End.getPointer();
}

static bool isAt(const AsmParserState::OperationDefinition &definition,
                 SMLoc place) {
  return contains(definition.loc, place) ||
         llvm::any_of(definition.resultGroups, [&](const auto &group) {
           return contains(group.definition.loc, place) ||
                  llvm::any_of(group.definition.uses, [&](SMRange use) {
                    return contains(use, place);
                  });
         });
}

std::string IrHover::describe(const std::shared_ptr<const std::string> &text,
                              const protocol::Position &position) {
  if (!last || last->text != text) {
    last = std::make_unique<ReadText>();
    last->text = text;
    last->sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(*text),
                                     SMLoc());
    // MLIR's server reports the errors of the text.
    ScopedDiagnosticHandler ignore(&context, [](Diagnostic &) {});
    if (failed(parseAsmSourceFile(last->sources, &last->block,
                                  ParserConfig(&context), &last->places)))
      return "";
  }
  const SMLoc place = position.getAsSMLoc(last->sources);
  if (!place.isValid())
    return "";
  for (const auto &definition : last->places.getOpDefs())
    if (isAt(definition, place))
      return describeCost(definition.op);
  return "";
}

//===----------------------------------------------------------------------===//
// Adds to the hovers of MLIR's server
//===----------------------------------------------------------------------===//

namespace {

using SharedText = std::shared_ptr<const std::string>;

} // namespace

static std::string getKey(const json::Value &id) {
  return formatv("{0}", id).str();
}

template <typename Params>
static std::optional<Params> read(const json::Value &value) {
  Params params;
  json::Path::Root root;
  if (!fromJSON(value, params, root))
    return std::nullopt;
  return params;
}

namespace {

/// The texts that the editor shows, according to its messages. The threads of
/// both directions use this object.
class OpenTexts {
public:
  /// Takes a message of the editor.
  void note(const json::Object &message) {
    const std::optional<StringRef> method = message.getString("method");
    const json::Value *params = message.get("params");
    if (!method || !params)
      return;
    const std::lock_guard lock(mutex);
    if (*method == "textDocument/hover") {
      if (const json::Value *id = message.get("id"))
        noteHover(*id, *params);
    } else if (*method == "textDocument/didOpen") {
      if (auto opened = read<protocol::DidOpenTextDocumentParams>(*params))
        texts[opened->textDocument.uri.uri().str()] =
            std::make_shared<const std::string>(
                std::move(opened->textDocument.text));
    } else if (*method == "textDocument/didChange") {
      // Each change contains the whole text, as MLIR's server requests.
      auto changed = read<protocol::DidChangeTextDocumentParams>(*params);
      if (changed && changed->contentChanges.size() == 1)
        texts[changed->textDocument.uri.uri().str()] =
            std::make_shared<const std::string>(
                std::move(changed->contentChanges.front().text));
    } else if (*method == "textDocument/didClose") {
      if (auto closed = read<protocol::DidCloseTextDocumentParams>(*params))
        texts.erase(closed->textDocument.uri.uri().str());
    }
  }

  struct Place {
    SharedText text;
    protocol::Position position;
  };
  /// Returns the place of the hover request that this message of the server
  /// answers.
  std::optional<Place> takeQuestion(const json::Object &message) {
    const json::Value *id = message.get("id");
    if (!id || message.get("method"))
      return std::nullopt;
    const std::lock_guard lock(mutex);
    auto question = questions.find(getKey(*id));
    if (question == questions.end())
      return std::nullopt;
    Place place = std::move(question->second);
    questions.erase(question);
    return place;
  }

private:
  void noteHover(const json::Value &id, const json::Value &params) {
    auto asked = read<protocol::TextDocumentPositionParams>(params);
    if (!asked)
      return;
    auto text = texts.find(asked->textDocument.uri.uri().str());
    if (text != texts.end())
      questions[getKey(id)] = {text->second, asked->position};
  }

  std::mutex mutex;
  std::map<std::string, SharedText> texts;
  /// The key is the text of the request's id.
  std::map<std::string, Place> questions;
};

} // namespace

/// Adds the cost of the operation to an answer to hover.
static void addCost(json::Object &answer, const OpenTexts::Place &place,
                    IrHover &hover) {
  json::Object *result = answer.getObject("result");
  json::Object *contents = result ? result->getObject("contents") : nullptr;
  if (!contents)
    return;
  const std::string cost = hover.describe(place.text, place.position);
  const std::optional<StringRef> value = contents->getString("value");
  if (!cost.empty() && value)
    (*contents)["value"] = (*value + "\n***\n" + cost).str();
}

/// Forwards all messages of a stream until it ends. `take` may change them.
static void relay(std::FILE *from, int to,
                  llvm::function_ref<void(std::string &message)> take) {
  protocol::JSONTransportInputOverFile input(from);
  raw_fd_ostream output(to, /*shouldClose=*/true);
  std::string message;
  while (!input.isEndOfInput() && !input.hasError()) {
    if (failed(input.readMessage(message)))
      continue;
    take(message);
    output << "Content-Length: " << message.size() << "\r\n\r\n" << message;
    output.flush();
  }
}

static void relayFromEditor(std::FILE *editor, int server, OpenTexts &texts) {
  relay(editor, server, [&](std::string &message) {
    Expected<json::Value> value = json::parse(message);
    if (!value)
      consumeError(value.takeError());
    else if (const json::Object *object = value->getAsObject())
      texts.note(*object);
  });
}

static void relayToEditor(std::FILE *server, int editor, OpenTexts &texts,
                          IrHover &hover) {
  relay(server, editor, [&](std::string &message) {
    Expected<json::Value> value = json::parse(message);
    if (!value) {
      consumeError(value.takeError());
      return;
    }
    json::Object *object = value->getAsObject();
    if (!object)
      return;
    if (std::optional<OpenTexts::Place> place = texts.takeQuestion(*object)) {
      addCost(*object, *place, hover);
      message = formatv("{0}", *value).str();
    }
  });
}

/// An editor starts the server without options or with --log. Other options
/// print help or select the format of MLIR's own tests.
static bool isStartedByEditor(ArrayRef<char *> options) {
  return all_of(options, [](StringRef option) {
    return option.ltrim('-').starts_with("log");
  });
}

int runIrServer(int argc, char **argv, mlir::DialectRegistry &registry) {
  auto serve = [&] {
    return failed(mlir::MlirLspServerMain(argc, argv, registry)) ? 1 : 0;
  };
  int toServer[2], fromServer[2];
  if (!isStartedByEditor(ArrayRef(argv, argc).drop_front()) ||
      pipe(toServer) != 0 || pipe(fromServer) != 0)
    return serve();
  std::FILE *fromEditor = fdopen(dup(STDIN_FILENO), "rb");
  const int toEditor = dup(STDOUT_FILENO);
  dup2(toServer[0], STDIN_FILENO);
  dup2(fromServer[1], STDOUT_FILENO);
  close(toServer[0]);
  close(fromServer[1]);

  // The thread may still wait for the editor when the server has ended. It
  // shares ownership of what it uses, and the process exits without joining it.
  auto texts = std::make_shared<OpenTexts>();
  std::thread([fromEditor, to = toServer[1], texts] {
    relayFromEditor(fromEditor, to, *texts);
  }).detach();
  IrHover hover(registry);
  std::thread answers([&, from = fdopen(fromServer[0], "rb")] {
    relayToEditor(from, toEditor, *texts, hover);
  });
  const int code = serve();
  outs().flush();
  // Ends the stream that the other thread reads.
  dup2(STDERR_FILENO, STDOUT_FILENO);
  answers.join();
  return code;
}

} // namespace mf::lsp
