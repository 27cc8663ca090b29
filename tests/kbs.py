"""Three tiny knowledge bases of our own, written as text: one fact a line, `entity predicate` or
`subject predicate object`. A family, the even numbers, and a street of two scene graphs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nlil.data.kb import KnowledgeBase

FAMILY = """
ann female
bea female
cleo female
dora female
tom male
sam male
max male
ann mother bea
ann mother tom
sam father bea
sam father tom
bea mother cleo
bea mother max
tom father dora
ann married sam
sam married ann
tom uncle cleo
tom uncle max
bea aunt dora
"""

EVEN = """
n0 zero
n0 succ n1
n1 succ n2
n2 succ n3
n3 succ n4
n4 succ n5
n5 succ n6
n0 even
n2 even
n4 even
n6 even
"""

STREET = """
a1 person
a2 shirt
a3 car
a4 wheel
a1 wearing a2
a1 inside a3
a4 part_of a3
b1 person
b2 tree
b3 surfboard
b1 under b2
b1 holding b3
"""

CLASSES = ("person", "shirt", "car", "wheel", "tree", "surfboard")


def knowledge_base(text: str) -> KnowledgeBase:
    return KnowledgeBase.from_facts([tuple(line.split()) for line in text.split("\n") if line])


def family() -> KnowledgeBase:
    return knowledge_base(FAMILY)


def even() -> KnowledgeBase:
    return knowledge_base(EVEN)


def street() -> KnowledgeBase:
    """Entities a* are one scene, b* the other; their names are classes."""
    kb = knowledge_base(STREET)
    graph_of = np.asarray([0 if name.startswith("a") else 1 for name in kb.entities], np.int32)
    classes = frozenset(i for i, p in enumerate(kb.predicates) if p.name in CLASSES)
    return replace(kb, graph_of=graph_of, classes=classes)
