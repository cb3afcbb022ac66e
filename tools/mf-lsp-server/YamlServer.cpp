//===- YamlServer.cpp - Language server for training YAMLs ----------------===//
// SPDX-License-Identifier: Apache-2.0

#include "tools/mf-lsp-server/Servers.h"
#include "tools/mf-lsp-server/YamlDocument.h"
#include <map>

namespace protocol = llvm::lsp;

namespace mf::lsp {

namespace {

class YamlServer {
public:
  YamlServer(protocol::JSONTransport &transport, mlir::MLIRContext &context)
      : transport(transport), context(context), handler(transport),
        publish(
            handler.outgoingNotification<protocol::PublishDiagnosticsParams>(
                "textDocument/publishDiagnostics")) {}

  bool run() {
    handler.method("initialize", this, &YamlServer::initialize);
    handler.method("shutdown", this, &YamlServer::shutDown);
    handler.notification("textDocument/didOpen", this, &YamlServer::open);
    handler.notification("textDocument/didChange", this, &YamlServer::change);
    handler.notification("textDocument/didClose", this, &YamlServer::close);
    handler.method("textDocument/hover", this, &YamlServer::hover);
    handler.method("textDocument/completion", this, &YamlServer::complete);
    handler.method("textDocument/codeAction", this, &YamlServer::proposeFixes);
    if (llvm::Error error = transport.run(handler)) {
      protocol::Logger::error("{0}", llvm::toString(std::move(error)));
      return false;
    }
    return wasShutDown;
  }

private:
  template <typename Result> using Reply = protocol::Callback<Result>;

  void initialize(const protocol::InitializeParams &,
                  Reply<llvm::json::Value> reply) {
    const auto wholeTexts =
        static_cast<int>(protocol::TextDocumentSyncKind::Full);
    reply(llvm::json::Object{
        {"capabilities",
         llvm::json::Object{
             {"textDocumentSync",
              llvm::json::Object{{"openClose", true}, {"change", wholeTexts}}},
             {"hoverProvider", true},
             {"completionProvider",
              llvm::json::Object{{"triggerCharacters", {" ", "'", "\\", "."}}}},
             {"codeActionProvider",
              llvm::json::Object{
                  {"codeActionKinds",
                   llvm::json::Array{protocol::CodeAction::kQuickFix}}}},
         }},
        {"serverInfo", llvm::json::Object{{"name", "mf-lsp-server"}}}});
  }

  void shutDown(const protocol::NoParams &, Reply<std::nullptr_t> reply) {
    wasShutDown = true;
    reply(nullptr);
  }
  void open(const protocol::DidOpenTextDocumentParams &params) {
    update(params.textDocument.uri, params.textDocument.text,
           params.textDocument.version);
  }
  void change(const protocol::DidChangeTextDocumentParams &params) {
    // Each change contains the whole text, as the server requests.
    if (!params.contentChanges.empty() && !params.contentChanges.back().range)
      update(params.textDocument.uri, params.contentChanges.back().text,
             params.textDocument.version);
  }
  void close(const protocol::DidCloseTextDocumentParams &params) {
    documents.erase(params.textDocument.uri.uri().str());
    publish(protocol::PublishDiagnosticsParams(params.textDocument.uri, 0));
  }
  void hover(const protocol::TextDocumentPositionParams &params,
             Reply<std::optional<protocol::Hover>> reply) {
    const YamlDocument *document = find(params.textDocument);
    reply(document ? document->getHover(params.position) : std::nullopt);
  }
  void complete(const protocol::CompletionParams &params,
                Reply<protocol::CompletionList> reply) {
    const YamlDocument *document = find(params.textDocument);
    reply(document ? document->getCompletions(params.position)
                   : protocol::CompletionList());
  }

  void proposeFixes(const protocol::CodeActionParams &params,
                    Reply<llvm::json::Value> reply) {
    llvm::json::Array fixes;
    if (const YamlDocument *document = find(params.textDocument))
      for (const protocol::CodeAction &fix :
           document->getFixes(params.textDocument.uri, params.range))
        fixes.push_back(fix);
    reply(std::move(fixes));
  }

  void update(const protocol::URIForFile &uri, std::string text,
              int64_t version) {
    YamlDocument &document = documents[uri.uri().str()];
    document.setText(std::move(text), uri.file(), context);
    protocol::PublishDiagnosticsParams params(uri, version);
    params.diagnostics = document.getDiagnostics(uri);
    publish(params);
  }

  /// Returns null if the document is not open.
  const YamlDocument *find(const protocol::TextDocumentIdentifier &id) const {
    auto found = documents.find(id.uri.uri().str());
    return found == documents.end() ? nullptr : &found->second;
  }

  protocol::JSONTransport &transport;
  mlir::MLIRContext &context;
  protocol::MessageHandler handler;
  protocol::OutgoingNotification<protocol::PublishDiagnosticsParams> publish;
  std::map<std::string, YamlDocument> documents;
  bool wasShutDown = false;
};

} // namespace

bool runYamlServer(protocol::JSONTransport &transport,
                   mlir::MLIRContext &context) {
  return YamlServer(transport, context).run();
}

} // namespace mf::lsp
