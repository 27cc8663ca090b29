"""Neural Logic Inductive Learning: attentions, their soft evaluation, training, and extraction of rules.

Parameters that mean the same everywhere here: `kb` is the base of training facts, and ids are its ids; `target` is a
predicate id; `config` has every setting; `space` is the vocabulary of one target and `spaces` those of several; `shape`
has the sizes of the attentions, `attentions` are those of a stack of members, `paths` are those of a block of
queries; `masks` say which choices exist; `seeds` has one seed per member; `squash` maps a count to [0, 1]; `hints` come
from counted rules, by target; `device` is cpu or cuda; `progress` receives reports of progress, and `stop` ends the
work early.
"""
