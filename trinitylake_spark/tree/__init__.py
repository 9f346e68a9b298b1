"""The search tree over node files: B-tree with write buffers, copy-on-write (format.md §3)."""
