"""Between the memory's types and LlamaIndex's."""

from __future__ import annotations

from collections.abc import Mapping

from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode

from prism_core import Hit
from prism_llamaindex.nodes import Origin

VERBATIM_KEYS = frozenset(
    {"llamaindex_message", "llamaindex_reply", "llamaindex_part_of", "langchain_message", "langchain_reply"}
)
"""Where hosts keep their messages in the metadata of units; of no interest to who reads a memory."""


def to_node(hit: Hit) -> NodeWithScore:
    """A returned memory as a scored node.

    Args:
        hit: one hit of a search.

    Returns:
        A node whose id is the unit's id and whose text is the unit's text or, where a budget did not hold it whole,
        an excerpt. Its metadata is JSON: the unit's fields (`event_time` as ISO 8601 in UTC, the caller's own metadata
        under `metadata`), how it was ranked (`front`, 0-based or None; `confidence`; `reason`), and whether the text
        is an `excerpt`. None of it is rendered into prompts or embeddings. A unit that was a node of a document names
        the document as its source (`ref_doc_id`).
    """
    metadata = hit.metadata()
    own = metadata.get("metadata")
    if isinstance(own, Mapping):
        metadata["metadata"] = {key: value for key, value in own.items() if key not in VERBATIM_KEYS}
    origin = Origin.of_unit(hit.unit)
    # LlamaIndex renders every metadata key into the prompt unless it is excluded by name.
    node = TextNode(
        id_=hit.unit.id,
        text=hit.text,
        metadata=metadata,
        excluded_llm_metadata_keys=list(metadata),
        excluded_embed_metadata_keys=list(metadata),
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=origin.source_id)} if origin else {},
    )
    return NodeWithScore(node=node, score=hit.score)
