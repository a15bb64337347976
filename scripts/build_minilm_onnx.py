"""Build the embedder's model file from the published weights of all-MiniLM-L6-v2.

    python scripts/build_minilm_onnx.py model.safetensors minilm-l6-v2-int8.onnx

Reads the weights, writes them into an ONNX graph whose one output, `sentence_embedding`, is already mean-pooled and
L2-normalised, and quantises the matrices to int8 per channel. Neither torch nor transformers is involved.

Needs the packages `onnx` and `safetensors` besides onnxruntime. prism-memory itself depends on neither: the built file
is shipped. onnx 1.23.2, onnxruntime 1.32.0 and safetensors 0.8.0 reproduce it byte for byte.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from safetensors.numpy import load_file

SOURCE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
LAYERS = 6
HIDDEN = 384
HEADS = 12
EPSILON = 1e-12
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
OUTPUT = "sentence_embedding"


class Graph:
    """An ONNX graph under construction; methods add nodes and answer the name of what they compute."""

    def __init__(self, weights: dict[str, NDArray[np.float32]]) -> None:
        self.weights = weights
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: dict[str, onnx.TensorProto] = {}

    def node(self, operator: str, *inputs: str, **attributes: object) -> str:
        """Add a node with one output."""
        name = f"{operator}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], name=name, **attributes))
        return name

    def constant(self, name: str, value: object, dtype: type[np.generic] = np.int64) -> str:
        """A named constant."""
        self.initializers[name] = numpy_helper.from_array(np.array(value, dtype), name)
        return name

    def weight(self, name: str, *, transposed: bool = False) -> str:
        """A weight of the model; PyTorch stores a linear layer's matrix transposed."""
        value = self.weights[name]
        self.initializers[name] = numpy_helper.from_array(np.ascontiguousarray(value.T if transposed else value), name)
        return name

    def linear(self, x: str, layer: str) -> str:
        """A dense layer."""
        product = self.node("MatMul", x, self.weight(f"{layer}.weight", transposed=True))
        return self.node("Add", product, self.weight(f"{layer}.bias"))

    def layer_norm(self, x: str, layer: str) -> str:
        """Layer normalisation over the hidden dimension."""
        gain, bias = self.weight(f"{layer}.weight"), self.weight(f"{layer}.bias")
        return self.node("LayerNormalization", x, gain, bias, axis=-1, epsilon=EPSILON)


def embeddings(graph: Graph) -> str:
    """Sum of word, segment and position embeddings, normalised; (batch, tokens, hidden)."""
    words = graph.node("Gather", graph.weight("embeddings.word_embeddings.weight"), "input_ids")
    segments = graph.node("Gather", graph.weight("embeddings.token_type_embeddings.weight"), "token_type_ids")
    one = numpy_helper.from_array(np.array([1], np.int64))
    ones = graph.node("ConstantOfShape", graph.node("Shape", "input_ids"), value=one)
    numbers = graph.node("CumSum", ones, graph.constant("token_axis", 1), exclusive=1)
    positions = graph.node("Gather", graph.weight("embeddings.position_embeddings.weight"), numbers)
    total = graph.node("Add", graph.node("Add", words, segments), positions)
    return graph.layer_norm(total, "embeddings.LayerNorm")


def attention(graph: Graph, x: str, layer: str, padding: str) -> str:
    """Multi-head self-attention with its output layer, before the residual is added."""
    size = HIDDEN // HEADS
    split = graph.constant("split_heads", [0, 0, HEADS, size])

    def heads(part: str, order: list[int]) -> str:
        projected = graph.linear(x, f"{layer}.attention.self.{part}")
        return graph.node("Transpose", graph.node("Reshape", projected, split), perm=order)

    query, value = heads("query", [0, 2, 1, 3]), heads("value", [0, 2, 1, 3])
    key = heads("key", [0, 2, 3, 1])
    scale = graph.constant("attention_scale", 1 / math.sqrt(size), np.float32)
    logits = graph.node("Mul", graph.node("MatMul", query, key), scale)
    shares = graph.node("Softmax", graph.node("Add", logits, padding), axis=-1)
    mixed = graph.node("Transpose", graph.node("MatMul", shares, value), perm=[0, 2, 1, 3])
    joined = graph.node("Reshape", mixed, graph.constant("join_heads", [0, 0, HIDDEN]))
    return graph.linear(joined, f"{layer}.attention.output.dense")


def transformer(graph: Graph, mask: str) -> str:
    """Hidden states of the last layer."""
    absent = graph.node("Sub", graph.constant("one", 1, np.float32), mask)
    broadcast = graph.node("Unsqueeze", absent, graph.constant("head_axes", [1, 2]))
    padding = graph.node("Mul", broadcast, graph.constant("minus_infinity", -1e9, np.float32))
    x = embeddings(graph)
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}"
        attended = graph.node("Add", x, attention(graph, x, layer, padding))
        x = graph.layer_norm(attended, f"{layer}.attention.output.LayerNorm")
        inner = graph.node("Gelu", graph.linear(x, f"{layer}.intermediate.dense"))
        x = graph.layer_norm(
            graph.node("Add", x, graph.linear(inner, f"{layer}.output.dense")), f"{layer}.output.LayerNorm"
        )
    return x


def pooled(graph: Graph, states: str, mask: str) -> None:
    """Mean over the tokens that are not padding, L2-normalised, as the graph's output."""
    weights = graph.node("Unsqueeze", mask, graph.constant("hidden_axis", [2]))
    tokens, hidden = graph.constant("sum_axis", [1]), graph.constant("norm_axis", [1])
    total = graph.node("ReduceSum", graph.node("Mul", states, weights), tokens, keepdims=0)
    mean = graph.node("Div", total, graph.node("ReduceSum", mask, tokens, keepdims=1))
    length = graph.node("ReduceL2", mean, hidden, keepdims=1)
    graph.nodes.append(helper.make_node("Div", [mean, length], [OUTPUT], name=OUTPUT))


def model(weights: dict[str, NDArray[np.float32]]) -> onnx.ModelProto:
    """The whole model in float32."""
    graph = Graph(weights)
    mask = graph.node("Cast", "attention_mask", to=TensorProto.FLOAT)
    pooled(graph, transformer(graph, mask), mask)
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"]) for name in INPUTS]
    outputs = [helper.make_tensor_value_info(OUTPUT, TensorProto.FLOAT, ["batch", HIDDEN])]
    body = helper.make_graph(graph.nodes, "all-MiniLM-L6-v2", inputs, outputs, list(graph.initializers.values()))
    built = helper.make_model(body, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    onnx.checker.check_model(built)
    return built


def sha256(path: Path) -> str:
    """Hex digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main() -> int:
    """Build, quantise, print the digest."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", type=Path, help="model.safetensors of sentence-transformers/all-MiniLM-L6-v2")
    parser.add_argument("output", type=Path, help="the ONNX file to write")
    arguments = parser.parse_args()
    if sha256(arguments.weights) != SOURCE_SHA256:
        print(f"{arguments.weights} is not the published file (sha256 {SOURCE_SHA256})", file=sys.stderr)
        return 1
    weights = {name.removeprefix("bert."): value for name, value in load_file(arguments.weights).items()}
    with tempfile.TemporaryDirectory() as directory:
        full = Path(directory) / "float32.onnx"
        onnx.save(model(weights), full)
        quantize_dynamic(full, arguments.output, weight_type=QuantType.QInt8, per_channel=True)
    print(f"{sha256(arguments.output)}  {arguments.output}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
