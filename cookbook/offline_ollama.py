"""A stand-in for Ollama on loopback, so that the recipe runs without a model, a network or a download."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Script = Callable[[str, list[str]], "str | list[tuple[str, dict[str, Any]]]"]
"""Told the user's last words (with the memories in them) and the results of tools since: a reply, or calls of tools."""
DIMENSION = 256


def serve(script: Script) -> str:
    """Answer `/api/chat` by a script and `/api/embed` by pieces of words until the process ends; returns the URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path == "/api/embed":
                given = body["input"]
                texts = [given] if isinstance(given, str) else given
                self._answer({"model": body["model"], "embeddings": [_vector(text) for text in texts]})
            else:
                message = _message(script, body["messages"])
                head = {"model": body["model"], "created_at": "2026-05-20T09:00:00Z"}
                self._answer({**head, "message": message, "done": True, "done_reason": "stop"})

        def log_message(self, format: str, *args: Any) -> None:
            """Keep quiet."""

        def _answer(self, value: dict[str, Any]) -> None:
            line = json.dumps(value).encode() + b"\n"
            self.send_response(200)
            self.send_header("Content-Type", "application/x-ndjson")
            self.send_header("Content-Length", str(len(line)))
            self.end_headers()
            self.wfile.write(line)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}"


def _message(script: Script, messages: list[dict[str, Any]]) -> dict[str, Any]:
    asked = max(place for place, each in enumerate(messages) if each["role"] == "user")
    results = [each["content"] for each in messages[asked + 1 :] if each["role"] == "tool"]
    answer = script(messages[asked]["content"], results)
    if isinstance(answer, str):
        return {"role": "assistant", "content": answer}
    calls = [{"function": {"name": name, "arguments": arguments}} for name, arguments in answer]
    return {"role": "assistant", "content": "", "tool_calls": calls}


def _vector(text: str) -> list[float]:
    counts = [0.0] * DIMENSION
    for place in range(max(len(text) - 3, 0)):
        piece = text[place : place + 4].lower()
        counts[hashlib.sha256(piece.encode()).digest()[0]] += 1.0
    return counts
