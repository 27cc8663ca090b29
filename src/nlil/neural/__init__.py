"""Neural Logic Inductive Learning: attentions, their soft evaluation, training, and extraction of rules."""
