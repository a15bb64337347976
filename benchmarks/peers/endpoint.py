"""The shared embedder as an embeddings endpoint on this machine, for tools that take no other."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from prism_core.protocols import Embedder


class EmbeddingEndpoint:
    """Answers `POST /v1/embeddings` on a free port of the loopback interface until it is closed.

    Attributes:
        url: where it listens.
    """

    def __init__(self, embedder: Embedder) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                vectors = embedder.embed_documents(asked["input"]).tolist()
                rows = [{"index": index, "embedding": vector} for index, vector in enumerate(vectors)]
                body = json.dumps({"object": "list", "data": rows, "model": embedder.id}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
