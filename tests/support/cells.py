"""The table-operation matrix as tests expect it: written down again, apart from the code's own.

A cell is looked up by what the two jobs touched: ``same files``, ``other files`` of one partition
(or of a table without partitions), or ``other partition``.
"""

from __future__ import annotations

KINDS = ("OW", "IN", "UD", "MI", "MA")
CELLS = [(earlier, later) for earlier in KINDS for later in KINDS]
MODES = ("strict", "optimised")

# The seed's table, row by row: earlier job, then what each later job (OW IN UD MI MA) meets.
_STRICT = {"OW": "OEEEE", "IN": "OEECE", "UD": "OEECE", "MI": "ONNEC", "MA": "ONNEE"}
# What the optimised mode makes of it where both worked on the same files …
_SAME_FILES = {"OW": "OEEEE", "IN": "O++C+", "UD": "O+ECE", "MI": "ONNEC", "MA": "ONNEE"}
# … and where they worked on different files.
_OTHER_FILES = {"OW": "OEEEE", "IN": "O++C+", "UD": "O++C+", "MI": "ONN+C", "MA": "ONN++"}


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
