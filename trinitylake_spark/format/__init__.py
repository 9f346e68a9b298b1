"""The bytes on disk: names, keys, paths, node files and definitions (format.md §2 to §5)."""
