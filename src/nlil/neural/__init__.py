"""Neural Logic Inductive Learning: attentions, their soft evaluation, training, and extraction of rules.

Parameters that mean the same everywhere here: `kb` is the base of training facts, and ids are its ids; `target` is a
predicate id; `config` has every setting; `space` is the vocabulary of one target and `spaces` those of several; `shape`
has the sizes of the attentions, `attentions` are those of a stack of members, `plan` has the paths of a block of
queries; `masks` say which choices exist; `seeds` has one for each member; `squash` turns a count into a value of 0 to
1; `hints` are rules that counting has found, by target; `device` is cpu or cuda; `progress` is told how far the work is
and `stop` ends it early.
"""
