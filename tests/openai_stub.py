"""A model server on loopback, so that real clients are tested on the wire.

It speaks the OpenAI API (`/v1/chat/completions` with tool calls and SSE streams, `/v1/embeddings`) and Ollama's
(`/api/chat`, `/api/embed`). What it says is scripted, and what it was asked is recorded byte for byte:

    with OpenAIStub(lambda body: "blue") as stub:
        ChatOpenAI(model="stub", base_url=stub.base_url, api_key="unused").invoke("Which colour?")
    stub.requests[0].body["messages"]
"""

from __future__ import annotations

import base64
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

import numpy as np

from prism_core.testing import HashedEmbedder

Body = dict[str, Any]

DIMENSION = 64
USAGE = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
OLLAMA_TIMES = {
    "total_duration": 3,
    "load_duration": 1,
    "prompt_eval_count": 7,
    "prompt_eval_duration": 1,
    "eval_count": 3,
    "eval_duration": 1,
}


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call the model makes."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model says: text, tool calls, or both."""

    content: str = ""
    calls: Sequence[Call] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """An answer that is none; clients try 429 and 5xx again unless told otherwise."""

    status: int = 500
    message: str = "the stub was told to fail"


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came over the wire."""

    path: str
    headers: Mapping[str, str]
    raw: bytes

    @property
    def body(self) -> Body:
        """The JSON that was sent."""
        body: Body = json.loads(self.raw or b"{}")
        return body


Responder = Callable[[Body], str | Reply | Failure]


def echo(body: Body) -> str:
    """Says the last message again."""
    return f"echo: {text_of(body['messages'][-1])}"


def text_of(message: Mapping[str, Any]) -> str:
    """The text of a message whose content is text or a list of parts."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if "text" in part)


class OpenAIStub:
    """The server; use it as a context manager.

    Attributes:
        responder: makes the reply from a request's body; may be replaced between requests.
        requests: what came in, oldest first.
        url: where it listens, what Ollama clients take as `base_url`.
        base_url: what OpenAI clients take as `base_url` or `api_base`.
    """

    def __init__(self, responder: Responder = echo) -> None:
        self.responder = responder
        self.requests: list[Request] = []
        self._embedder = HashedEmbedder(dimension=DIMENSION)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.base_url = f"{self.url}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def chats(self) -> list[Body]:
        """Bodies of the chat requests, oldest first."""
        return [request.body for request in self.requests if "chat" in request.path]

    def reply(self, body: Body) -> Reply | Failure:
        """What the script says to a chat request; calls without an id get one."""
        said = self.responder(body)
        if isinstance(said, Failure):
            return said
        reply = Reply(said) if isinstance(said, str) else said
        turn = len(self.requests)
        calls = [
            Call(call.name, call.arguments, call.id or f"call_{turn}_{place}") for place, call in enumerate(reply.calls)
        ]
        return Reply(reply.content, calls)

    def vectors(self, inputs: Any, dimension: int) -> list[list[float]]:
        """One vector of unit length per input; an input is text or a list of token ids."""
        single = isinstance(inputs, str) or (bool(inputs) and isinstance(inputs[0], int))
        texts = [
            item if isinstance(item, str) else " ".join(map(str, item)) for item in ([inputs] if single else inputs)
        ]
        embedder = self._embedder if dimension == DIMENSION else HashedEmbedder(dimension=dimension)
        return [[float(value) for value in row] for row in embedder.embed_documents(texts)]


def _handler(stub: OpenAIStub) -> type[BaseHTTPRequestHandler]:
    class Handler(_Handler):
        server_stub = stub

    return Handler


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # otherwise every answer waits 40 ms for an acknowledgement
    server_stub: OpenAIStub

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        if self.path == "/v1/models":
            model = {"id": "stub", "object": "model", "created": 0, "owned_by": "stub"}
            self._answer({"object": "list", "data": [model]})
        elif self.path == "/api/tags":
            self._answer({"models": [{"model": "stub", "name": "stub"}]})
        else:
            self._refuse(Failure(404, f"no such path: {self.path}"))

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        request = Request(self.path, dict(self.headers), raw)
        self.server_stub.requests.append(request)
        routes: dict[str, Callable[[Body], None]] = {
            "/v1/chat/completions": self._openai_chat,
            "/v1/embeddings": self._openai_embeddings,
            "/api/chat": self._ollama_chat,
            "/api/embed": self._ollama_embed,
            "/api/show": self._ollama_show,
        }
        route = routes.get(self.path)
        if route is None:
            self._refuse(Failure(404, f"no such path: {self.path}"))
        else:
            route(request.body)

    # -- OpenAI ------------------------------------------------------------------------------------------------------

    def _openai_chat(self, body: Body) -> None:
        reply = self.server_stub.reply(body)
        if isinstance(reply, Failure):
            self._refuse(reply)
        elif body.get("stream"):
            lines = (f"data: {json.dumps(chunk)}\n\n" for chunk in _openai_chunks(body, reply))
            self._stream("text/event-stream", lines, end="data: [DONE]\n\n")
        else:
            choice = {"index": 0, "message": _openai_message(reply), "finish_reason": _finish(reply), "logprobs": None}
            self._answer({**_openai_head(body, "chat.completion"), "choices": [choice], "usage": USAGE})

    def _openai_embeddings(self, body: Body) -> None:
        vectors = self.server_stub.vectors(body["input"], body.get("dimensions") or DIMENSION)
        packed = body.get("encoding_format") == "base64"
        data = [
            {"object": "embedding", "index": index, "embedding": _float32(vector) if packed else vector}
            for index, vector in enumerate(vectors)
        ]
        usage = {"prompt_tokens": len(data), "total_tokens": len(data)}
        self._answer({"object": "list", "model": body["model"], "data": data, "usage": usage})

    # -- Ollama ------------------------------------------------------------------------------------------------------

    def _ollama_chat(self, body: Body) -> None:
        reply = self.server_stub.reply(body)
        if isinstance(reply, Failure):
            self._refuse(reply)
        elif body.get("stream", True):
            lines = (json.dumps(chunk) + "\n" for chunk in _ollama_chunks(body, reply))
            self._stream("application/x-ndjson", lines)
        else:
            message = {"role": "assistant", "content": reply.content, "tool_calls": _ollama_calls(reply)}
            self._answer({**_ollama_head(body), "message": message, **_OLLAMA_END})

    def _ollama_embed(self, body: Body) -> None:
        vectors = self.server_stub.vectors(body["input"], body.get("dimensions") or DIMENSION)
        self._answer({"model": body["model"], "embeddings": vectors, "prompt_eval_count": len(vectors)})

    def _ollama_show(self, body: Body) -> None:
        info = {"general.architecture": "stub", "stub.context_length": 32_768}
        details = {"format": "gguf", "family": "stub", "parameter_size": "0B", "quantization_level": "none"}
        capabilities = ["completion", "tools"]
        self._answer({"details": details, "model_info": info, "capabilities": capabilities, "template": ""})

    # -- wire --------------------------------------------------------------------------------------------------------

    def _answer(self, body: Body, status: int = 200) -> None:
        raw = json.dumps(body).encode()
        self._head(status, "application/json", len(raw))
        self.wfile.write(raw)

    def _refuse(self, failure: Failure) -> None:
        error = {"message": failure.message, "type": "stub_error", "code": str(failure.status)}
        self._answer({"error": error if self.path.startswith("/v1") else failure.message}, failure.status)

    def _stream(self, media_type: str, lines: Iterator[str], end: str = "") -> None:
        self._head(200, media_type, None)
        for line in lines:
            self.wfile.write(line.encode())
            self.wfile.flush()
        self.wfile.write(end.encode())

    def _head(self, status: int, media_type: str, length: int | None) -> None:
        self.send_response(status)
        self.send_header("content-type", media_type)
        if length is not None:
            self.send_header("content-length", str(length))
        # No connection outlives its answer, so no test leaves a socket behind.
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True


def _finish(reply: Reply) -> str:
    return "tool_calls" if reply.calls else "stop"


def _openai_head(body: Body, kind: str) -> Body:
    return {"id": "chatcmpl-stub", "object": kind, "created": 0, "model": body["model"]}


def _openai_message(reply: Reply) -> Body:
    message: Body = {"role": "assistant", "content": reply.content or None, "refusal": None}
    if reply.calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _arguments(call)}}
            for call in reply.calls
        ]
    return message


def _openai_chunks(body: Body, reply: Reply) -> Iterator[Body]:
    """The reply in pieces: words, then every call's name, then its arguments a few characters at a time."""
    head = _openai_head(body, "chat.completion.chunk")

    def chunk(delta: Body, finish: str | None = None) -> Body:
        return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}]}

    yield chunk({"role": "assistant", "content": ""})
    for word in _words(reply.content):
        yield chunk({"content": word})
    for index, call in enumerate(reply.calls):
        named = {"index": index, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}
        yield chunk({"tool_calls": [named]})
        for piece in re.findall(r".{1,7}", _arguments(call), re.DOTALL):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, _finish(reply))
    if (body.get("stream_options") or {}).get("include_usage"):
        yield {**head, "choices": [], "usage": USAGE}


_OLLAMA_END: Body = {"done": True, "done_reason": "stop", **OLLAMA_TIMES}


def _ollama_head(body: Body) -> Body:
    return {"model": body["model"], "created_at": "2026-05-20T09:00:00.000000Z"}


def _ollama_calls(reply: Reply) -> list[Body]:
    return [{"function": {"name": call.name, "arguments": dict(call.arguments)}} for call in reply.calls]


def _ollama_chunks(body: Body, reply: Reply) -> Iterator[Body]:
    head = _ollama_head(body)
    for word in _words(reply.content):
        yield {**head, "message": {"role": "assistant", "content": word}, "done": False}
    if reply.calls:
        message = {"role": "assistant", "content": "", "tool_calls": _ollama_calls(reply)}
        yield {**head, "message": message, "done": False}
    yield {**head, "message": {"role": "assistant", "content": ""}, **_OLLAMA_END}


def _words(text: str) -> list[str]:
    return re.findall(r"\S*\s*", text)[:-1]


def _arguments(call: Call) -> str:
    return json.dumps(call.arguments, ensure_ascii=False)


def _float32(vector: Sequence[float]) -> str:
    return base64.b64encode(np.asarray(vector, dtype="<f4").tobytes()).decode()
