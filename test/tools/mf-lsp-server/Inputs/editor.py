# SPDX-License-Identifier: Apache-2.0
"""A small client of the language server protocol over stdio."""

import json
import queue
import subprocess
import threading


class Editor:
    """Starts a server, keeps one text open in it and gathers what it says."""

    def __init__(self, command, patience=60):
        self.patience = patience
        self.server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.messages = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()
        self.number, self.version = 0, 0
        self.uri = "file:///train.yaml"
        self.capabilities = self.request("initialize", {"processId": None, "rootUri": None, "capabilities": {}})["capabilities"]
        self.notify("initialized", {})

    def read(self):
        stream = self.server.stdout
        while line := stream.readline():
            length = int(line.split(b":")[1])
            while stream.readline().strip():
                pass
            self.messages.put(json.loads(stream.read(length)))
        self.messages.put(None)

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.server.stdin.flush()

    def receive(self):
        message = self.messages.get(timeout=self.patience)
        assert message is not None, f"the server ended with {self.server.wait()}"
        return message

    def request(self, method, params):
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        while (message := self.receive()).get("id") != self.number:
            pass
        assert "error" not in message, message
        return message["result"]

    def notify(self, method, params):
        self.send({"method": method, "params": params})

    def show(self, text, language="yaml"):
        """Opens the text, or changes the open one to it; returns its diagnostics."""
        self.version += 1
        document = {"uri": self.uri, "version": self.version}
        if self.version == 1:
            self.notify("textDocument/didOpen", {"textDocument": {**document, "languageId": language, "text": text}})
        else:
            self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})
        self.text = text
        while True:
            message = self.receive()
            if message.get("method") == "textDocument/publishDiagnostics" and message["params"]["version"] == self.version:
                return message["params"]["diagnostics"]

    def find(self, words, behind=False):
        """The position of words in the text, in UTF-16 units."""
        at = self.text.index(words) + (len(words) if behind else 0)
        before = self.text[:at].split("\n")
        return {"line": len(before) - 1, "character": len(before[-1].encode("utf-16-le")) // 2}

    def ask(self, what, position, **others):
        return self.request("textDocument/" + what, {"textDocument": {"uri": self.uri}, "position": position, **others})

    def hover(self, words):
        answer = self.ask("hover", self.find(words))
        return answer and answer["contents"]["value"]

    def complete(self, words):
        """What is offered behind the words, by label."""
        answer = self.ask("completion", self.find(words, behind=True), context={"triggerKind": 1})
        return {item["label"]: item for item in answer["items"]}

    def fixes(self, area):
        return self.request("textDocument/codeAction", {"textDocument": {"uri": self.uri}, "range": area, "context": {"diagnostics": []}})

    def fixed(self, fix):
        """The text after a fix of one line."""
        lines = self.text.split("\n")
        for edit in fix["edit"]["changes"][self.uri]:
            start, end = edit["range"]["start"], edit["range"]["end"]
            line = lines[start["line"]].encode("utf-16-le")
            line = line[: 2 * start["character"]] + edit["newText"].encode("utf-16-le") + line[2 * end["character"] :]
            lines[start["line"]] = line.decode("utf-16-le")
        return "\n".join(lines)

    def leave(self):
        """Ends the server; returns its exit code."""
        self.request("shutdown", None)
        self.notify("exit", None)
        return self.server.wait(timeout=self.patience)
