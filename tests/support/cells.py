"""The table-operation matrix as tests expect it: written down again, apart from the code's own.

A cell is looked up by what the two jobs touched: ``same files``, ``other files`` of one partition
(or of a table without partitions), or ``other partition``. It is the same at both isolation levels,
as none of the jobs reads anything that its log entry does not name; the UPDATEs of the tests have a
condition that the statistics of what came in exclude.
"""

from __future__ import annotations

KINDS = ("OW", "IN", "UD", "MI", "MA")
CELLS = [(earlier, later) for earlier in KINDS for later in KINDS]
MODES = ("strict", "optimised")
LEVELS = ("snapshot", "serializable")
ALTER = "AL"
"""ALTER TABLE … SET TBLPROPERTIES, of a property that no writer has to obey."""
ALTERED = [*((kind, ALTER) for kind in KINDS), *((ALTER, kind) for kind in (*KINDS, ALTER))]
"""Pairs with an ALTER, earlier and later."""

# The seed's table, row by row: earlier job, then what each later job (OW IN UD MI MA) meets.
_STRICT = {"OW": "OEEEE", "IN": "OEECE", "UD": "OEECE", "MI": "ONNEC", "MA": "ONNEE"}
# What the optimised mode makes of it where both worked on the same files …
_SAME_FILES = {"OW": "OEEEE", "IN": "O++C+", "UD": "O+ECE", "MI": "ONNEC", "MA": "ONNEE"}
# … and where they worked on different files.
_OTHER_FILES = {"OW": "OEEEE", "IN": "O++C+", "UD": "O++C+", "MI": "ONN+C", "MA": "ONN++"}


def altered(earlier: str, later: str, level: str) -> str:
    """Return how a pair of ``ALTERED`` ends: E for a refusal of the later job, else +.

    Args:
        earlier: the kind of the job that commits first.
        later: the kind of the job that commits second.
        level: its isolation level.
    """
    # Statements on the table itself look at its definition first.
    looks = later in ("MI", "MA", ALTER)
    return "E" if earlier == ALTER and looks and level == "serializable" else "+"


def outcome(earlier: str, later: str, mode: str, files: str) -> str:
    """Return a cell's letter: E for a refusal of the later job, + for a success beyond the seed's.

    Args:
        earlier: the kind of the job that commits first.
        later: the kind of the job that commits second.
        mode: one of ``MODES``.
        files: what both touched.
    """
    if files == "other partition":
        return "+"
    table = _STRICT if mode == "strict" else _SAME_FILES if files == "same files" else _OTHER_FILES
    return table[earlier][KINDS.index(later)]
