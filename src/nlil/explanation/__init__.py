"""Why a fact scores what it scores, what it lacks, what a rule rests on, and which facts the rules dispute.

May import: evaluation and the rooms before.
"""
