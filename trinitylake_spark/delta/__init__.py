"""Delta tables whose log is pinned by their definition instead of found by listing a folder."""
